package trail

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"aisync.dev/aisync/agents/ledger/jsontext"
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

// Record returns the JSON form of an event: its line, or
// {"malformed":true,"line":"…"} for a line that is no record.
func (e Event) Record() json.RawMessage {
	if e.Malformed != nil {
		return json.RawMessage(`{"malformed":true,"line":` + jsontext.Quote(string(e.Raw)) + `}`)
	}
	return e.Raw
}

// Text is a string as it stands in a line, with its quotation marks; nil is none.
// It is valid as long as the line.
type Text []byte

// String returns the text.
func (t Text) String() string {
	s, _ := jsontext.Unquote(t)
	return s
}

// Is reports whether t is the text s, and makes no copy for that.
func (t Text) Is(s string) bool { return string(t.Bytes()) == s }

// AppendTo appends the text to b.
func (t Text) AppendTo(b *strings.Builder) { b.Write(t.Bytes()) }

// Bytes returns the text, without a copy where it stands in the line as it is.
func (t Text) Bytes() []byte {
	if len(t) < 2 {
		return nil
	}
	in := t[1 : len(t)-1]
	for _, c := range in {
		if c == '\\' || c >= utf8.RuneSelf {
			return []byte(t.String())
		}
	}
	return in
}

// Of returns the value of m for the key t, and makes no copy for that.
func Of[V any](m map[string]V, t Text) (V, bool) {
	v, ok := m[string(t.Bytes())]
	return v, ok
}

// Fields are the values of a line where they stand: a pass over a long trail needs
// few of them.
type Fields struct {
	TS, Action         Text
	Agent, From, To    Text
	Type, Body         Text
	MessageID, ReplyTo Text
	Path, By, Reason   Text
	ArchivedTo         Text
	SinceLastRead      bool
	Force              bool
}

// Read reads a line. An error says why it is no record; f then has no meaning.
func (f *Fields) Read(line []byte) error {
	*f = Fields{}
	err := jsontext.Fields(line, func(key, value []byte) error {
		var to *Text
		switch string(key) {
		case "ts":
			to = &f.TS
		case "action":
			to = &f.Action
		case "agent":
			to = &f.Agent
		case "from":
			to = &f.From
		case "to":
			to = &f.To
		case "type":
			to = &f.Type
		case "body":
			to = &f.Body
		case "messageId":
			to = &f.MessageID
		case "replyTo":
			to = &f.ReplyTo
		case "path":
			to = &f.Path
		case "by":
			to = &f.By
		case "reason":
			to = &f.Reason
		case "archivedTo":
			to = &f.ArchivedTo
		case "sinceLastRead":
			f.SinceLastRead = string(value) == "true"
			return nil
		case "force":
			f.Force = string(value) == "true"
			return nil
		default:
			return nil
		}
		switch {
		case len(value) >= 2 && value[0] == '"':
			*to = value
		case string(value) == "null":
			*to = nil
		default:
			return fmt.Errorf("%s is no string", key)
		}
		return nil
	})
	if err == nil && len(f.Action) <= 2 {
		err = errors.New("no action")
	}
	return err
}

// Parser makes events of lines. It keeps one copy of the texts that most lines
// share.
type Parser struct {
	// ID and TS are the message and the time that the caller expects, and has: they
	// are not copied once more.
	ID, TS string

	fields Fields
	names  [64]string // the last of each form
}

// Event parses a line. The event has the texts of the line, not its file and number.
func (p *Parser) Event(line []byte) Event {
	f := &p.fields
	if err := f.Read(line); err != nil {
		return Event{Raw: line, Malformed: err}
	}
	return Event{
		TS: known(f.TS, p.TS), Action: p.name(f.Action), Agent: p.name(f.Agent), From: p.name(f.From), To: p.name(f.To),
		Type: p.name(f.Type), Body: f.Body.String(), MessageID: known(f.MessageID, p.ID), ReplyTo: f.ReplyTo.String(),
		Path: f.Path.String(), By: p.name(f.By), Reason: f.Reason.String(), ArchivedTo: f.ArchivedTo.String(),
		SinceLastRead: f.SinceLastRead, Force: f.Force, Raw: line,
	}
}

// Parse is Event for a single line.
func Parse(line []byte) Event { return new(Parser).Event(line) }

func known(t Text, expected string) string {
	if t.Is(expected) {
		return expected
	}
	return t.String()
}

// name is String for the few values that most lines have.
func (p *Parser) name(t Text) string {
	if len(t) < 3 {
		return ""
	}
	slot := &p.names[(len(t)+int(t[1])+int(t[len(t)-2])*5)%len(p.names)]
	if !t.Is(*slot) {
		*slot = t.String()
	}
	return *slot
}
