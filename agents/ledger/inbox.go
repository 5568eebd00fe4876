package ledger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/agents/ledger/jsontext"
	"aisync.dev/aisync/agents/ledger/trail"
)

// Reading selects messages of an inbox and what happens to them.
type Reading struct {
	Agent string
	Clear bool // move the messages to inbox.read.md
	Since bool // only messages newer than the last reading
	Peek  bool // leave no trace: no read mark, no audit record; excludes Clear
}

// Inbox returns the messages of an agent as they stand in its inbox and, unless
// it peeks, marks them as read up to the newest. An unknown agent has none, and
// is not created. Messages that others append meanwhile are neither lost nor
// marked. If a step after moving messages fails, Inbox returns them together
// with the error.
func (l *Ledger) Inbox(r Reading) (content string, err error) {
	if err := checkAgent(r.Agent); err != nil {
		return "", err
	}
	if !l.Known(r.Agent) {
		if !r.Peek && l.Trace {
			err = l.traceInbox(r)
		}
		return "", err
	}
	if r.Peek {
		text, err := l.inboxText(r.Agent)
		if err != nil {
			return "", err
		}
		last := ""
		if r.Since {
			if last, err = l.lastRead(r.Agent); err != nil {
				return "", err
			}
		}
		content, _ = l.wanted(r, text, last)
		return content, nil
	}
	err = l.changeLocked(func() error {
		last, err := l.lastRead(r.Agent) // before moving: what cannot be marked is not moved
		if err != nil {
			return err
		}
		text, err := l.takeInbox(r)
		if err != nil {
			return err
		}
		var newest string
		content, newest = l.wanted(r, text, last)
		if err := l.markRead(r.Agent, newest, last); err != nil {
			return err
		}
		return l.traceInbox(r)
	})
	return content, err
}

// Deliver passes what Inbox returns to show, and marks it as read only if show
// succeeds: messages that were not shown stay unread. A crash between both shows
// them again. It holds no lock while it shows. Messages that it moved and that
// were not shown return to the inbox.
func (l *Ledger) Deliver(r Reading, show func(content string) error) error {
	if r.Clear || r.Peek || !l.Known(r.Agent) {
		last := ""
		if r.Clear && l.Known(r.Agent) {
			var err error
			if last, err = l.lastRead(r.Agent); err != nil {
				return err
			}
		}
		content, err := l.Inbox(r)
		if err != nil && content == "" {
			return err
		}
		unshown := show(content)
		if unshown != nil && r.Clear && strings.TrimSpace(content) != "" {
			err = errors.Join(err, l.changeLocked(func() error { return l.giveBack(r.Agent, content, last) }))
		}
		return errors.Join(unshown, err)
	}
	var content, newest string
	read := func() error {
		last, err := l.lastRead(r.Agent)
		if err != nil {
			return err
		}
		text, err := l.inboxText(r.Agent)
		content, newest = l.wanted(r, text, last)
		return err
	}
	if err := checkAgent(r.Agent); err != nil {
		return err
	}
	if err := l.changeLocked(read); err != nil {
		return err
	}
	if err := show(content); err != nil {
		return err
	}
	return l.changeLocked(func() error {
		last, err := l.lastRead(r.Agent)
		if err == nil {
			err = l.markRead(r.Agent, newest, last)
		}
		if err != nil {
			return err
		}
		return l.traceInbox(r)
	})
}

// giveBack returns messages to an inbox, unread. last is the agent's read mark
// before they were taken.
func (l *Ledger) giveBack(agent, content, last string) error {
	if err := l.add(l.agentPath(agent, inboxFile), []byte("\n"+strings.TrimPrefix(content, inboxHeader(agent)))); err != nil {
		return err
	}
	state, err := l.State(agent)
	if err != nil {
		return err
	}
	object, err := jsontext.Parse(state)
	if err != nil {
		object = nil // the file did not exist
	}
	object = object.With("lastReadAt", json.RawMessage(jsontext.Quote(cmp.Or(last, stampOf(time.Unix(0, 0))))))
	return l.replace(l.agentPath(agent, stateFile), object.Text())
}

func (l *Ledger) traceInbox(r Reading) error {
	action := "inbox_read"
	if r.Clear {
		action = "inbox_clear"
	}
	_, err := l.record(action, pair{"agent", r.Agent}, pair{"sinceLastRead", r.Since})
	return err
}

// takeInbox returns the inbox and, to clear it, moves it into the archive. It renames
// the inbox first, so that a writer without a lock appends either to what is
// archived or to the new inbox. A crash leaves the renamed inbox, which every
// reader sees and the next clear archives.
func (l *Ledger) takeInbox(r Reading) (string, error) {
	text, err := l.inboxText(r.Agent)
	if err != nil || !r.Clear {
		return text, err
	}
	inbox, aside := l.agentPath(r.Agent, inboxFile), l.agentPath(r.Agent, clearing)
	left, err := l.archiveAside(r.Agent)
	if err != nil {
		return "", err
	}
	if err := l.about("rename", inbox); err != nil {
		return "", err
	}
	if err := os.Rename(l.path(inbox), l.path(aside)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("clear %s: %w", inbox, err)
	}
	if err := l.create(inbox, inboxHeader(r.Agent)); err != nil {
		return "", err
	}
	text, err = l.archiveAside(r.Agent)
	return left + text, err
}

// archiveAside appends the renamed inbox to the archive and returns it. A crash
// before the last step leaves it in both; the next clear detects that the
// archive ends with it.
func (l *Ledger) archiveAside(agent string) (string, error) {
	aside := l.agentPath(agent, clearing)
	f, err := l.open(aside)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("clear %s: %w", aside, err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return "", fmt.Errorf("clear %s: %w", aside, err)
	}
	archived := l.agentPath(agent, archive)
	done, err := l.fileEndsWith(archived, fmt.Appendf(nil, "%s\n", text))
	if err != nil {
		return "", err
	}
	if !done {
		if err := l.add(archived, fmt.Appendf(nil, "\n<!-- cleared %s -->\n%s\n", l.stamp(), text)); err != nil {
			return "", err
		}
	}
	if err := l.about("remove", aside); err != nil {
		return "", err
	}
	if err := os.Remove(l.path(aside)); err != nil {
		return "", fmt.Errorf("clear %s: %w", aside, err)
	}
	// A writer without a lock that had opened the inbox before the rename may
	// have appended after it was read: deliver that again.
	late, err := io.ReadAll(f)
	if err == nil && len(late) > 0 {
		err = l.add(l.agentPath(agent, inboxFile), late)
	}
	return string(text), err
}

// fileEndsWith reports whether a file ends with text, unless text is only white
// space.
func (l *Ledger) fileEndsWith(file string, text []byte) (bool, error) {
	f, err := l.open(file)
	if errors.Is(err, os.ErrNotExist) || len(bytes.TrimSpace(text)) == 0 {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", file, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() < int64(len(text)) {
		return false, err
	}
	end := make([]byte, len(text))
	_, err = f.ReadAt(end, info.Size()-int64(len(end)))
	return bytes.Equal(end, text), err
}

// inboxText returns what an agent has not cleared.
func (l *Ledger) inboxText(agent string) (string, error) {
	left, err := l.read(l.agentPath(agent, clearing))
	if err != nil {
		return "", err
	}
	text, err := l.read(l.agentPath(agent, inboxFile))
	return string(left) + string(text), err
}

// clearing is the inbox while it moves into the archive.
const clearing = "inbox.clearing.md"

// wanted returns the part of the inbox that r selects, and the time of its
// newest message with a plausible time. last is the agent's previous read mark.
func (l *Ledger) wanted(r Reading, text, last string) (content, newest string) {
	all := entries(text)
	if r.Since {
		all = slices.DeleteFunc(all, func(e Entry) bool { return !later(e.TS, last) })
		var texts []string
		for _, e := range all {
			texts = append(texts, e.Text)
		}
		if content = strings.Join(texts, "\n\n"); content != "" {
			content += "\n"
		}
	} else {
		content = text
	}
	horizon := stampOf(l.now().Add(skew))
	for _, e := range all {
		if later(e.TS, newest) && !later(e.TS, horizon) {
			newest = e.TS
		}
	}
	return content, newest
}

// later compares two times in text form; an invalid time is earlier than any.
func later(a, b string) bool {
	t, known := timeOf(b)
	return isLater(a, t, known)
}

// isLater is later where the second time is parsed already; known is false where
// it is invalid.
func isLater(a string, b time.Time, known bool) bool {
	t, ok := timeOf(a)
	return ok && (!known || t.After(b))
}

func timeOf(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	return t, err == nil
}

// lastRead returns agent's read mark: from its state, else from the last reading
// in the audit trail.
func (l *Ledger) lastRead(agent string) (string, error) {
	state, err := l.State(agent)
	if err != nil {
		return "", err
	}
	var s struct{ LastReadAt string }
	if json.Unmarshal(state, &s) == nil && s.LastReadAt != "" {
		return s.LastReadAt, nil
	}
	all, err := l.readings()
	return all[agent], err
}

// readings are the agents' last readings in the audit trail.
type readings map[string]string

func (r readings) add(f *trail.Fields) {
	if f.Action.Is("inbox_read") || f.Action.Is("inbox_clear") {
		r[f.Agent.String()] = f.TS.String()
	}
}

// known returns r where a function for readings is required.
func (r readings) known() (readings, error) { return r, nil }

// readings reads the whole trail once. It parses only lines that may tell of a
// reading: those with the word, or with a letter in another form.
func (l *Ledger) readings() (readings, error) {
	t, err := l.openTrail()
	if err != nil {
		return nil, err
	}
	defer t.Close()
	last := readings{}
	var f trail.Fields
	for line, err := range t.Lines() {
		if err != nil {
			return nil, err
		}
		if (bytes.Contains(line.Text, []byte("inbox_")) || bytes.Contains(line.Text, []byte(`\u`))) && f.Read(line.Text) == nil {
			last.add(&f)
		}
	}
	return last, nil
}

// State returns the content of an agent's state.json; nil where it has none. A
// file that is not an object is an error and stays.
func (l *Ledger) State(agent string) (json.RawMessage, error) {
	file := l.agentPath(agent, stateFile)
	text, err := l.read(file)
	if err != nil || text == nil {
		return nil, err
	}
	if _, err := jsontext.Parse(text); err != nil {
		return nil, fmt.Errorf("%s: %w; mend it by hand or run: ensemble repair", l.path(file), err)
	}
	return text, nil
}

// markRead sets lastReadAt if that moves it forward, and keeps the other keys.
func (l *Ledger) markRead(agent, at, last string) error {
	if at == "" || !later(at, last) {
		return nil
	}
	state, err := l.State(agent)
	if err != nil {
		return err
	}
	object, err := jsontext.Parse(state)
	if err != nil {
		object = nil // the file did not exist
	}
	object = object.With("lastReadAt", json.RawMessage(jsontext.Quote(at)))
	return l.replace(l.agentPath(agent, stateFile), object.Text())
}

// audit writes the audit line of a read, if Trace is set.
func (l *Ledger) audit(action string, members ...pair) error {
	if !l.Trace {
		return nil
	}
	return l.changeLocked(func() error { _, err := l.record(action, members...); return err })
}
