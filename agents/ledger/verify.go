package ledger

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Difference is one place where the files and the audit trail disagree.
type Difference struct {
	Kind    string `json:"kind"`    // claim, message, state, audit, archive
	Subject string `json:"subject"` // a path, a message id, an agent, a line
	Problem string `json:"problem"`
	Repair  string `json:"repair"` // what Repair would do; "" where only a person can tell

	mend func() error
}

// Verify replays the audit trail and compares what it comes to with what the
// files say. It changes nothing and leaves no trace.
func (l *Ledger) Verify() ([]Difference, error) {
	v := verifier{l: l, owner: map[string]string{}, sent: map[string]Event{}, cleared: map[string]string{}}
	for e, err := range l.Events() {
		if err != nil {
			return nil, err
		}
		v.replay(e)
	}
	v.claims()
	if err := v.messages(); err != nil {
		return nil, err
	}
	return v.found, nil
}

// verifier is the state that the audit trail comes to.
type verifier struct {
	l       *Ledger
	owner   map[string]string // of a path
	order   []string          // messages in the order they were sent
	sent    map[string]Event
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
	switch e.Action {
	case "claim", "claim_update":
		v.owner[e.Path] = e.Agent
	case "release":
		delete(v.owner, e.Path)
	case "send":
		if _, twice := v.sent[e.MessageID]; !twice {
			v.order = append(v.order, e.MessageID)
		}
		e.Raw = nil
		v.sent[e.MessageID] = e
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
		switch owner := v.owner[c.Path]; owner {
		case c.Agent:
		case "":
			v.differ("claim", c.Path, "record the claim of "+c.Agent, func() error {
				_, err := v.l.record("claim", pair{"agent", c.Agent}, pair{"path", c.Path}, pair{"force", false}, pair{"via", "repair"})
				return err
			}, "%s claims it, and the audit trail does not say so", c.Agent)
		default:
			v.differ("claim", c.Path, "give it back to "+owner, v.setOwner(c.Path, owner), "%s claims it; by the audit trail it is %s's", c.Agent, owner)
		}
	}
	for _, path := range sortedKeys(v.owner) {
		if owner := v.owner[path]; object.index(path) < 0 {
			v.differ("claim", path, "claim it again for "+owner, v.setOwner(path, owner), "by the audit trail %s claims it, and %s does not say so", owner, claimsFile)
		}
	}
}

func (v *verifier) setOwner(path, owner string) func() error {
	return func() error {
		return v.l.change(func(o object) (object, error) { return o.with(path, claimEntry(owner, v.l.stamp())), nil })
	}
}

func (v *verifier) rebuildClaims() error {
	var o object
	for _, path := range sortedKeys(v.owner) {
		o = o.with(path, claimEntry(v.owner[path], v.l.stamp()))
	}
	return v.l.replace(claimsFile, o.text())
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// messages compares the blocks of all inboxes with what was sent.
func (v *verifier) messages() error {
	delivered := map[string]bool{}
	folders, err := v.agentFolders()
	if err != nil {
		return err
	}
	for _, folder := range folders {
		agent := filepath.Base(folder)
		for _, name := range []string{archive, clearing, inboxFile} {
			text, err := v.l.read(filepath.Join(folder, name))
			if err != nil {
				return err
			}
			for _, e := range entries(string(text)) {
				if e.ID == "" || delivered[e.ID] {
					continue
				}
				delivered[e.ID] = true
				if _, known := v.sent[e.ID]; !known {
					v.differ("message", e.ID, "record it", v.recordSend(e), "it lies in %s of %s, and the audit trail does not say who sent it", name, agent)
				}
			}
		}
		if filepath.Dir(folder) == agentsDir {
			if _, err := v.l.State(agent); err != nil {
				v.differ("state", agent, "begin a new "+stateFile, v.newState(agent), "%v", err)
			}
		}
	}
	for _, id := range v.order {
		if e := v.sent[id]; !delivered[id] {
			v.differ("message", id, "deliver it to "+e.To, v.deliver(e), "%s sent it to %s, and no inbox holds it", e.From, e.To)
		}
	}
	return nil
}

// agentFolders lists those of the agents and of the retired, relative to the
// ledger.
func (v *verifier) agentFolders() ([]string, error) {
	agents, _, err := v.l.Agents()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, a := range agents {
		out = append(out, filepath.Join(agentsDir, a))
	}
	retired, err := os.ReadDir(v.l.path(agentsDir, retiredDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", retiredDir, err)
	}
	for _, r := range retired {
		out = append(out, filepath.Join(agentsDir, retiredDir, r.Name()))
	}
	return out, nil
}

// recordSend makes the audit line that a killed Send did not write, out of the
// heading of its message.
func (v *verifier) recordSend(e Entry) func() error {
	heading, body, _ := strings.Cut(e.Text, "\n")
	m := sentHead.FindStringSubmatch(heading)
	return func() error {
		if m == nil {
			return fmt.Errorf("the heading of %s does not say who sent it: %s", e.ID, heading)
		}
		body, _, _ = strings.Cut(body, "\n\n<!-- reply")
		_, err := v.l.record("send", pair{"from", m[1]}, pair{"to", m[2]}, pair{"type", m[3]}, pair{"body", trimmed(body)}, pair{"messageId", e.ID}, pair{"via", "repair"})
		return err
	}
}

// deliver puts a message where its receiver will look, or has looked.
func (v *verifier) deliver(e Event) func() error {
	return func() error {
		if err := errors.Join(checkAgent(e.To), checkID(e.MessageID)); err != nil {
			return err
		}
		if err := v.l.ensureAgent(e.To); err != nil {
			return err
		}
		file := inboxFile
		if at := v.cleared[e.To]; at != "" && !later(e.TS, at) {
			file = archive
		}
		return v.l.add(v.l.agentPath(e.To, file), []byte(block(e.TS, e.From, e.To, e.Type, e.MessageID, e.ReplyTo, e.Body)))
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

// Repair mends what Verify finds, by what the audit trail says, and returns it
// together with the folder that holds every file as it was before. Nothing is
// mended that Verify has no answer for. Where nothing can be mended it does
// nothing and returns no folder. It may be killed and run again.
func (l *Ledger) Repair(by string) (found []Difference, backup string, err error) {
	if err := checkAgent(by); err != nil {
		return nil, "", err
	}
	return found, backup, l.locked(func() error {
		if found, err = l.Verify(); err != nil {
			return err
		}
		var mended []string
		for _, d := range found {
			if d.mend == nil {
				continue
			}
			if backup == "" {
				if backup, err = l.backup(); err != nil {
					return err
				}
			}
			if err := d.mend(); err != nil {
				return fmt.Errorf("%s %s: %w; the files as they were are in %s", d.Kind, d.Subject, err, backup)
			}
			mended = append(mended, d.Kind+" "+d.Subject+": "+d.Repair)
		}
		if mended == nil {
			return nil
		}
		_, err := l.record("repair", pair{"by", by}, pair{"backup", backup}, pair{"mended", mended})
		return err
	})
}

// backup copies the files of the ledger, without older backups, into a folder
// of it, and returns the folder.
func (l *Ledger) backup() (string, error) {
	to := l.path(".backup", strings.NewReplacer(":", "-", ".", "-").Replace(l.stamp()))
	if err := l.about("backup", to); err != nil {
		return "", err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return "", fmt.Errorf("back up: %w", err)
	}
	return to, filepath.WalkDir(l.path(), func(path string, d os.DirEntry, err error) error {
		rel := strings.TrimPrefix(strings.TrimPrefix(path, l.path()), "/")
		switch {
		case err != nil:
			return err
		case rel == ".backup":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case !d.Type().IsRegular() || rel == lockFile:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), text, 0o600)
	})
}
