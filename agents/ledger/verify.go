package ledger

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/agents/ledger/jsontext"
	"aisync.dev/aisync/internal/unixpath"
)

// Difference is one place where the files and the audit trail disagree.
type Difference struct {
	Kind    string `json:"kind"`    // claim, message, note, state, agent, audit
	Subject string `json:"subject"` // a path, a message id, an agent, a line
	Problem string `json:"problem"`
	Repair  string `json:"repair"` // what Repair would do; "" where only a person can decide

	mend func() error
}

// Verify replays the audit trail and compares the result with the files. It
// changes nothing and leaves no trace. It waits for a change by another process
// of ours; it may meet a writer without a lock halfway.
func (l *Ledger) Verify() (found []Difference, err error) {
	err = l.readLocked(func() error { found, err = l.verify(); return err })
	return found, err
}

// verify is Verify for the holder of the lock.
func (l *Ledger) verify() ([]Difference, error) {
	v := verifier{l: l, owner: map[string]Event{}, sent: map[string]Event{}, cleared: map[string]string{}, settled: map[string]bool{}, retired: map[string]bool{}}
	for e, err := range l.Events() {
		if err != nil {
			return nil, err
		}
		v.replay(e)
	}
	v.claims()
	if err := errors.Join(v.messages(), v.notes()); err != nil {
		return nil, err
	}
	return v.found, nil
}

// verifier is the state that results from the audit trail.
type verifier struct {
	l       *Ledger
	owner   map[string]Event // the current claim of each path
	order   []string         // messages in the order they were sent
	sent    map[string]Event
	noted   []Event
	settled map[string]bool   // messages that were acked or done
	retired map[string]bool   // folders of retired agents
	cleared map[string]string // when an agent last cleared its inbox
	found   []Difference
}

func (v *verifier) differ(kind, subject, repair string, mend func() error, format string, args ...any) {
	v.found = append(v.found, Difference{kind, subject, fmt.Sprintf(format, args...), repair, mend})
}

func (v *verifier) replay(e Event) {
	if e.Malformed != nil {
		v.differ("audit", fmt.Sprintf("%s:%d", e.File, e.Line), "", nil, "not a record: %v", e.Malformed)
		return
	}
	e.Raw = nil // the line is invalid after the next read
	switch e.Action {
	case "claim", "claim_update":
		v.owner[e.Path] = e
	case "release":
		delete(v.owner, e.Path)
	case "note":
		v.noted = append(v.noted, e)
	case "send":
		if e.MessageID == "" {
			return // written before messages had ids
		}
		if _, twice := v.sent[e.MessageID]; !twice {
			v.order = append(v.order, e.MessageID)
		}
		v.sent[e.MessageID] = e
	case "ack", "done":
		v.settled[e.MessageID] = v.settled[e.MessageID] || e.Action == "done"
	case "retire":
		v.retired[unixpath.Base(e.ArchivedTo)] = true
	case "inbox_clear":
		v.cleared[e.Agent] = e.TS
	}
}

func (v *verifier) claims() {
	object, err := v.l.claimed()
	if err != nil {
		v.differ("claim", claimsFile, "rebuild it from the audit trail", v.rebuildClaims, "%v", err)
		return
	}
	for _, m := range object {
		c := parseClaim(m)
		switch owner := v.owner[c.Path].Agent; owner {
		case c.Agent:
		case "":
			v.differ("claim", c.Path, "record the claim of "+c.Agent, func() error {
				_, err := v.l.record("claim", pair{"agent", c.Agent}, pair{"path", c.Path}, pair{"force", false}, pair{"via", "repair"})
				return err
			}, "%s claims it, but the audit trail does not", c.Agent)
		default:
			v.differ("claim", c.Path, "give it back to "+owner, v.setOwner(c.Path), "%s claims it; the audit trail gives it to %s", c.Agent, owner)
		}
	}
	for _, path := range sortedKeys(v.owner) {
		if owner := v.owner[path].Agent; object.Index(path) < 0 {
			v.differ("claim", path, "claim it again for "+owner, v.setOwner(path), "the audit trail gives it to %s, but %s does not", owner, claimsFile)
		}
	}
}

func (v *verifier) setOwner(path string) func() error {
	return func() error {
		return v.l.change(func(o jsontext.Object) (jsontext.Object, error) {
			return o.With(path, claimEntry(v.owner[path].Agent, v.owner[path].TS, nil)), nil
		})
	}
}

func (v *verifier) rebuildClaims() error {
	var o jsontext.Object
	for _, path := range sortedKeys(v.owner) {
		o = o.With(path, claimEntry(v.owner[path].Agent, v.owner[path].TS, nil))
	}
	return v.l.replace(claimsFile, o.Text())
}

func sortedKeys(m map[string]Event) []string { return slices.Sorted(maps.Keys(m)) }

// messages compares the blocks of all inboxes with the messages sent.
func (v *verifier) messages() error {
	delivered := map[string]bool{}
	unread := map[string]bool{} // agents with a file that is unreadable
	folders, err := v.agentFolders()
	if err != nil {
		return err
	}
	for _, folder := range folders {
		agent := unixpath.Base(folder)
		for _, name := range []string{archive, clearing, inboxFile} {
			text, err := v.l.read(unixpath.Join(folder, name))
			if err != nil {
				v.differ("agent", agent, "", nil, "%v", err)
				unread[agent] = true
			}
			for _, e := range entries(string(text)) {
				if e.ID == "" || delivered[e.ID] {
					continue
				}
				delivered[e.ID] = true
				if _, known := v.sent[e.ID]; known {
					continue
				}
				if m, ok := e.message(); !ok {
					v.differ("message", e.ID, "", nil, "it is in %s of %s, but neither its heading nor the audit trail names a sender", name, agent)
				} else {
					v.differ("message", e.ID, "record it", v.recordSend(e, m), "it is in %s of %s, but the audit trail has no record of it", name, agent)
				}
			}
		}
		if unixpath.Dir(folder) != agentsDir {
			if !v.retired[agent] {
				v.differ("agent", agent, "record it", v.recordRetire(folder), "its folder was archived, but the audit trail has no retirement")
			}
		} else if _, err := v.l.State(agent); err != nil {
			v.differ("state", agent, "begin a new "+stateFile, v.newState(agent), "%v", err)
		}
	}
	for _, id := range v.order {
		e := v.sent[id]
		switch {
		case delivered[id], unread[e.To]:
		case checkAgent(e.To) != nil || checkID(id) != nil:
			v.differ("message", id, "", nil, "%s sent it to %q, which is not a valid agent, and no inbox holds it", e.From, e.To)
		default:
			v.differ("message", id, "deliver it to "+e.To, v.deliver(e), "%s sent it to %s, and no inbox holds it", e.From, e.To)
		}
		if e.ReplyTo != "" && !actionable(e.Type) && !v.settled[e.ReplyTo] {
			v.settled[e.ReplyTo] = true
			v.differ("message", e.ReplyTo, "record that it is done", func() error {
				_, err := v.l.record("done", pair{"from", e.From}, pair{"messageId", e.ReplyTo}, pair{"body", "auto-closed by " + id})
				return err
			}, "%s answers it, but the audit trail does not have it as done", id)
		}
	}
	return nil
}

// agentFolders lists the folders of agents and of retired ones, relative to the
// ledger.
func (v *verifier) agentFolders() ([]string, error) {
	agents, _, err := v.l.Agents()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, a := range agents {
		out = append(out, unixpath.Join(agentsDir, a))
	}
	retired, err := os.ReadDir(v.l.path(agentsDir, retiredDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", retiredDir, err)
	}
	for _, r := range retired {
		out = append(out, unixpath.Join(agentsDir, retiredDir, r.Name()))
	}
	return out, nil
}

// recordSend writes the audit line that a killed Send did not write, from its
// message.
func (v *verifier) recordSend(e Entry, m Message) func() error {
	return func() error {
		_, err := v.l.recordAt(e.TS, "send", pair{"from", m.From}, pair{"to", m.To}, pair{"type", m.Type}, pair{"body", m.Body}, pair{"messageId", e.ID}, pair{"replyTo", m.ReplyTo}, pair{"via", "repair"})
		if err == nil && m.ReplyTo != "" && !actionable(m.Type) && !v.settled[m.ReplyTo] {
			_, err = v.l.record("done", pair{"from", m.From}, pair{"messageId", m.ReplyTo}, pair{"body", "auto-closed by " + e.ID})
		}
		return err
	}
}

// recordRetire writes the audit line that a killed Retire did not write.
func (v *verifier) recordRetire(folder string) func() error {
	return func() error {
		name := unixpath.Base(folder)
		agent := strings.TrimSuffix(name, unixpath.Ext(name)) // the time after it has no dot
		text, err := v.l.read(unixpath.Join(folder, inboxFile))
		if err != nil {
			return err
		}
		_, err = v.l.record("retire", pair{"agent", agent}, pair{"by", agent}, pair{"reason", "repair"},
			pair{"pendingMessages", len(entries(string(text)))}, pair{"releasedClaims", []string{}}, pair{"archivedTo", v.l.path(folder)})
		return err
	}
}

// deliver puts a message where its receiver will look: into the inbox as a new
// one, because a clear may have lost it; or into the archive if it was received
// or done, or the inbox was cleared well after it was sent.
func (v *verifier) deliver(e Event) func() error {
	return func() error {
		if err := v.l.ensureAgent(e.To); err != nil {
			return err
		}
		file, ts := v.l.agentPath(e.To, inboxFile), e.TS
		_, seen := v.settled[e.MessageID]
		sent, err := time.Parse(time.RFC3339Nano, e.TS)
		if seen || err == nil && later(v.cleared[e.To], stampOf(sent.Add(skew))) {
			file = v.l.agentPath(e.To, archive)
		} else if ts, err = v.l.after(file); err != nil {
			return err
		}
		return v.l.add(file, []byte(block(ts, e.From, e.To, e.Type, e.MessageID, e.ReplyTo, e.Body)))
	}
}

func (v *verifier) newState(agent string) func() error {
	return func() error {
		file := v.l.agentPath(agent, stateFile)
		if err := v.l.about("remove", file); err != nil {
			return err
		}
		if err := os.Remove(v.l.path(file)); err != nil {
			return fmt.Errorf("remove %s: %w", file, err)
		}
		return v.l.ensureAgent(agent)
	}
}

// notes compares the blackboard with the notes in the audit trail. A note that
// only the audit trail has was removed by a person, or the board was replaced:
// it is reported and left.
func (v *verifier) notes() error {
	text, err := v.l.read(boardFile)
	if err != nil {
		return err
	}
	onBoard := map[string][]Entry{} // by author and text
	for _, e := range entries(string(text)) {
		if from, body, ok := e.note(); ok {
			onBoard[from+"\n"+body] = append(onBoard[from+"\n"+body], e)
		}
	}
	for _, e := range v.noted {
		key := e.From + "\n" + settledText(e.Body)
		if same := onBoard[key]; len(same) > 0 {
			onBoard[key] = same[1:]
			continue
		}
		v.differ("note", e.TS, "", nil, "%s noted it, but %s lacks it or has another text: %s", e.From, boardFile, brief(e.Body))
	}
	for _, key := range slices.Sorted(maps.Keys(onBoard)) {
		from, body, _ := strings.Cut(key, "\n")
		for _, e := range onBoard[key] {
			v.differ("note", e.TS, "record it", func() error {
				_, err := v.l.recordAt(e.TS, "note", pair{"from", from}, pair{"type", "note"}, pair{"body", body}, pair{"via", "repair"})
				return err
			}, "it is on the blackboard, but the audit trail has no such note of %s", from)
		}
	}
	return nil
}

// settledText returns a body as it is read back from its file.
func settledText(body string) string {
	return unescaped(strings.TrimRight(escaped(trimmed(body)), "\r\n\t "))
}
