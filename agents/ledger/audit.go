package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/ledger/jsontext"
	"aisync.dev/aisync/agents/ledger/trail"
)

// Event is one line of the audit trail. docs/ledger.md lists the fields of each
// action and their order.
type Event = trail.Event

// pair is one member of a record.
type pair struct {
	key   string
	value any // string, bool, int, []string or json.RawMessage; nil omits it
}

// record appends one line to the audit trail and returns it. It omits members
// that are nil or an empty string, as JSON.stringify omits undefined.
func (l *Ledger) record(action string, members ...pair) (json.RawMessage, error) {
	return l.recordAt(l.stamp(), action, members...)
}

// recordAt is record with the time of the event.
func (l *Ledger) recordAt(ts, action string, members ...pair) (json.RawMessage, error) {
	line := line(ts, action, members)
	return line, l.add(auditFile, append(line, '\n'))
}

func line(ts, action string, members []pair) json.RawMessage {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"ts":%s,"action":%s`, jsontext.Quote(ts), jsontext.Quote(action))
	for _, m := range members {
		var text string
		switch v := m.value.(type) {
		case nil:
			continue
		case string:
			if v == "" {
				continue
			}
			text = jsontext.Quote(v)
		case verbatim:
			text = jsontext.Quote(string(v))
		case []string:
			var parts []string
			for _, s := range v {
				parts = append(parts, jsontext.Quote(s))
			}
			text = "[" + strings.Join(parts, ",") + "]"
		case json.RawMessage:
			if len(v) == 0 {
				continue
			}
			text = string(v)
		default:
			text = fmt.Sprint(v) // bool, int
		}
		fmt.Fprintf(&b, ",%s:%s", jsontext.Quote(m.key), text)
	}
	b.WriteByte('}')
	return slices.Clip(b.Bytes())
}

// verbatim is a string that is written even if it is empty.
type verbatim string

// Events yields every line of the audit trail in order, archives first. A line
// that is not a record is yielded with Malformed set. A read error ends the
// sequence.
func (l *Ledger) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		t, err := l.openTrail()
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer t.Close()
		var p trail.Parser
		for line, err := range t.Lines() {
			if err != nil {
				yield(Event{}, err)
				return
			}
			e := p.Event(line.Text)
			e.File, e.Line = t.Name(line.Place), line.Number
			if !yield(e, nil) {
				return
			}
		}
	}
}

// openTrail opens the archives and the audit trail. The caller must close it.
func (l *Ledger) openTrail() (*trail.Trail, error) {
	names, err := l.auditFiles()
	if err != nil {
		return nil, err
	}
	return trail.Open(names, l.open)
}

// auditFiles lists the archives of Compact, oldest first, then the audit trail.
func (l *Ledger) auditFiles() ([]string, error) {
	files, err := l.archives()
	if n := len(files); n > 0 && l.isDuplicated(files[n-1]) {
		files = files[:n-1]
	}
	return append(files, auditFile), err
}

func (l *Ledger) archives() ([]string, error) {
	entries, err := os.ReadDir(l.path())
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", Dir, err)
	}
	var files []string // sorted by ReadDir
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "audit.") && strings.HasSuffix(e.Name(), ".jsonl") && e.Name() != auditFile {
			files = append(files, e.Name())
		}
	}
	return files, nil
}

// Audit returns the last limit lines of the audit trail (0: all), malformed ones
// included.
func (l *Ledger) Audit(limit int) ([]Event, error) {
	var out []Event
	for e, err := range l.Events() {
		if err != nil {
			return nil, err
		}
		e.Raw = slices.Clone(e.Raw)
		if out = append(out, e); limit > 0 && len(out) > 2*limit {
			out = append(out[:0], out[len(out)-limit:]...)
		}
	}
	if limit > 0 && len(out) > limit {
		out = out[len(out)-limit:]
	}
	return out, nil
}
