package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// Reading says which messages of an inbox are wanted, and what becomes of them.
type Reading struct {
	Agent string
	Clear bool // move what is there to inbox.read.md
	Since bool // only what is newer than the last reading
	Peek  bool // leave no trace: nothing is marked as read, nothing is audited; excludes Clear
}

// Inbox returns the messages of an agent as they stand in its inbox, and unless
// it only peeks marks them as read up to the newest of them. An agent that is
// not there has none, and none is made. What others append meanwhile is neither
// lost nor marked. Where messages were moved and what follows failed, they are
// returned together with the error.
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
	err = l.locked(func() error {
		last, err := l.lastRead(r.Agent) // what cannot be marked is not moved either
		if err != nil {
			return err
		}
		text, err := l.take(r)
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

func (l *Ledger) traceInbox(r Reading) error {
	action := "inbox_read"
	if r.Clear {
		action = "inbox_clear"
	}
	_, err := l.record(action, pair{"agent", r.Agent}, pair{"sinceLastRead", r.Since})
	return err
}

// take returns the inbox, and moves it into the archive where it is to be
// cleared: it is renamed first, so that a writer without a lock appends either
// to what is archived or to the new inbox. A kill leaves the renamed inbox,
// which every reader sees and the next clear archives.
func (l *Ledger) take(r Reading) (string, error) {
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

// archiveAside moves what was renamed aside to the end of the archive and
// returns it. A kill before the last step leaves it in both: the next clear sees
// that the archive ends with it.
func (l *Ledger) archiveAside(agent string) (string, error) {
	aside := l.agentPath(agent, clearing)
	f, err := os.Open(l.path(aside))
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
	done, err := l.endsWith(archived, fmt.Appendf(nil, "%s\n", text))
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
	// A writer without a lock that had opened the inbox before it was renamed may
	// have appended after it was read: that is delivered again.
	late, err := io.ReadAll(f)
	if err == nil && len(late) > 0 {
		err = l.add(l.agentPath(agent, inboxFile), late)
	}
	return string(text), err
}

// endsWith reports whether a file ends with text, which is not only white space.
func (l *Ledger) endsWith(file string, text []byte) (bool, error) {
	f, err := os.Open(l.path(file))
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

// inboxText is what an agent has not cleared.
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

// wanted returns what of the inbox r asks for, and the time of its newest
// message that can be believed. last is until when the agent had read.
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

// later compares two times as they are written; what is no time is earlier
// than any.
func later(a, b string) bool {
	ta, erra := time.Parse(time.RFC3339Nano, a)
	tb, errb := time.Parse(time.RFC3339Nano, b)
	switch {
	case erra != nil:
		return false
	case errb != nil:
		return true
	}
	return ta.After(tb)
}

// lastRead returns until when agent has read: what its state says, or else the
// last reading in the audit trail.
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

// readings is when agents last read their inboxes, by the audit trail.
type readings map[string]string

func (r readings) add(e Event) {
	if e.Action == "inbox_read" || e.Action == "inbox_clear" {
		r[e.Agent] = e.TS
	}
}

// known is r for those who ask for readings.
func (r readings) known() (readings, error) { return r, nil }

// readings looks once through the whole trail.
func (l *Ledger) readings() (readings, error) {
	last := readings{}
	for e, err := range l.Events() {
		if err != nil {
			return nil, err
		}
		last.add(e)
	}
	return last, nil
}

// State returns what state.json of an agent holds; nil where it has none. What
// is no object is an error, and left as it is.
func (l *Ledger) State(agent string) (json.RawMessage, error) {
	file := l.agentPath(agent, stateFile)
	text, err := l.read(file)
	if err != nil || text == nil {
		return nil, err
	}
	if _, err := members(text); err != nil {
		return nil, fmt.Errorf("%s: %w; mend it by hand or run: ensemble repair", l.path(file), err)
	}
	return text, nil
}

// markRead sets lastReadAt, if that is a step forward, and keeps all else.
func (l *Ledger) markRead(agent, at, last string) error {
	if at == "" || !later(at, last) {
		return nil
	}
	state, err := l.State(agent)
	if err != nil {
		return err
	}
	object, err := members(state)
	if err != nil {
		object = nil // there was none
	}
	object = object.with("lastReadAt", json.RawMessage(quote(at)))
	return l.replace(l.agentPath(agent, stateFile), object.text())
}

// traced leaves the audit line of a read, where that is wanted.
func (l *Ledger) traced(action string, members ...pair) error {
	if !l.Trace {
		return nil
	}
	return l.locked(func() error { _, err := l.record(action, members...); return err })
}
