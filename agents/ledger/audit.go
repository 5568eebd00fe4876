package ledger

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
)

// Event is one line of the audit trail. docs/ledger.md lists the fields of each
// action and their order.
type Event struct {
	TS, Action         string
	Agent, From, To    string
	Type, Body         string
	MessageID, ReplyTo string
	Path, By, Reason   string
	ArchivedTo         string
	SinceLastRead      bool
	Force              bool

	Raw  json.RawMessage // the line; valid until the next read, unless cloned
	Line int             // from 1, in File
	File string          // relative to the ledger's folder

	Malformed error // not nil: only Raw, Line and File are set
}

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
	fmt.Fprintf(&b, `{"ts":%s,"action":%s`, quote(ts), quote(action))
	for _, m := range members {
		var text string
		switch v := m.value.(type) {
		case nil:
			continue
		case string:
			if v == "" {
				continue
			}
			text = quote(v)
		case verbatim:
			text = quote(string(v))
		case []string:
			var parts []string
			for _, s := range v {
				parts = append(parts, quote(s))
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
		fmt.Fprintf(&b, ",%s:%s", quote(m.key), text)
	}
	b.WriteByte('}')
	return slices.Clip(b.Bytes())
}

// verbatim is a string that is written even if it is empty.
type verbatim string

// maxLine bounds a line of the audit trail, and so the memory of a reader: a
// longer one counts as malformed.
const maxLine = 16 << 20

// Events yields every line of the audit trail in order, archives first. A line
// that is not a record is yielded with Malformed set. A read error ends the
// sequence.
func (l *Ledger) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		files, err := l.auditFiles()
		if err != nil {
			yield(Event{}, err)
			return
		}
		for _, f := range files {
			if !l.eventsOf(f, yield) {
				return
			}
		}
	}
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

func (l *Ledger) eventsOf(file string, yield func(Event, error) bool) bool {
	f, err := os.Open(l.path(file))
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	if err != nil {
		yield(Event{}, fmt.Errorf("read %s: %w", file, err))
		return false
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 256<<10)
	for n := 1; ; n++ {
		text, err := readLine(r)
		if len(bytes.TrimSpace(text)) > 0 {
			e := parseEvent(text)
			e.File, e.Line = file, n
			if !yield(e, nil) {
				return false
			}
		}
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			yield(Event{}, fmt.Errorf("read %s: %w", file, err))
			return false
		}
	}
}

// readLine returns the next line without its end. It is valid until the next
// call. Of a line over maxLine it returns only the beginning.
func readLine(r *bufio.Reader) ([]byte, error) {
	text, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return bytes.TrimRight(text, "\r\n"), err
	}
	long := slices.Clone(text)
	for errors.Is(err, bufio.ErrBufferFull) {
		text, err = r.ReadSlice('\n')
		if len(long) < maxLine {
			long = append(long, text...)
		}
	}
	return bytes.TrimRight(long, "\r\n"), err
}

func parseEvent(text []byte) Event {
	e := Event{Raw: text}
	err := fields(text, func(key, value []byte) error {
		var to *string
		switch string(key) {
		case "ts":
			to = &e.TS
		case "action":
			to = &e.Action
		case "agent":
			to = &e.Agent
		case "from":
			to = &e.From
		case "to":
			to = &e.To
		case "type":
			to = &e.Type
		case "body":
			to = &e.Body
		case "messageId":
			to = &e.MessageID
		case "replyTo":
			to = &e.ReplyTo
		case "path":
			to = &e.Path
		case "by":
			to = &e.By
		case "reason":
			to = &e.Reason
		case "archivedTo":
			to = &e.ArchivedTo
		case "sinceLastRead":
			e.SinceLastRead = string(value) == "true"
		case "force":
			e.Force = string(value) == "true"
		}
		if to == nil {
			return nil
		}
		s, ok := unquote(value)
		if !ok && string(value) != "null" {
			return fmt.Errorf("%s is no string", key)
		}
		*to = s
		return nil
	})
	if err == nil && e.Action == "" {
		err = errors.New("no action")
	}
	if err != nil {
		return Event{Raw: text, Malformed: err}
	}
	return e
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

// Trail returns the JSON form of an event: the record, or
// {"malformed":true,"line":"…"} for a line that is not one.
func (e Event) Trail() json.RawMessage {
	if e.Malformed != nil {
		return json.RawMessage(`{"malformed":true,"line":` + quote(string(e.Raw)) + `}`)
	}
	return e.Raw
}
