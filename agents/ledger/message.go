package ledger

import (
	"encoding/json"
	"errors"
	"sort"

	"aisync.dev/aisync/agents/ledger/jsontext"
)

// Ack records that a message was received. It accepts an unknown id: the message
// may be in another ledger.
func (l *Ledger) Ack(from, id, body string) (json.RawMessage, error) {
	return l.lifecycle("ack", from, id, body)
}

// Done records that a message's request is done.
func (l *Ledger) Done(from, id, body string) (json.RawMessage, error) {
	return l.lifecycle("done", from, id, body)
}

func (l *Ledger) lifecycle(action, from, id, body string) (json.RawMessage, error) {
	if err := errors.Join(checkID(id), checkAgent(from)); err != nil {
		return nil, first(err)
	}
	var rec json.RawMessage
	err := l.changeLocked(func() (err error) {
		rec, err = l.record(action, pair{"from", from}, pair{"messageId", id}, pair{"body", trimmed(body)})
		return err
	})
	return rec, err
}

// Thread is one message and its history, from the audit trail. As JSON, a message
// of which no send is recorded has null for From, To, Type and Body.
type Thread struct {
	MessageID string          `json:"messageId"`
	TS        string          `json:"ts"`
	From      string          `json:"from"`
	To        string          `json:"to"`
	Type      string          `json:"type"`
	Body      string          `json:"body"`
	ReplyTo   json.RawMessage `json:"replyTo,omitempty"` // null: it answers none; missing where the message is unknown
	Status    string          `json:"status"`            // open, acked, done; unknown: no send is recorded
	AckedBy   []Acked         `json:"ackedBy"`
	DoneBy    *string         `json:"doneBy"`
	DoneAt    *string         `json:"doneAt"`
	DoneBody  string          `json:"doneBody,omitempty"`
	Events    []ThreadEvent   `json:"events"`

	first int // its place among all messages of the audit trail
}

// Acked is one receipt.
type Acked struct {
	From string `json:"from"`
	TS   string `json:"ts"`
	Body string `json:"body,omitempty"`
}

// ThreadEvent is an event that concerns a message.
type ThreadEvent struct {
	Action    string `json:"action"` // send, reply (another message answers this one), ack, done
	TS        string `json:"ts"`
	From      string `json:"from"`
	MessageID string `json:"messageId,omitempty"` // of the answer
	Type      string `json:"type,omitempty"`      // of the answer
	ReplyTo   string `json:"replyTo,omitempty"`
	Body      string `json:"body,omitempty"` // of ack and done
}

// MarshalJSON implements json.Marshaler.
func (t Thread) MarshalJSON() ([]byte, error) {
	var w jsontext.Writer
	t.WriteTo(&w)
	return w.Text, nil
}

// WriteTo writes the message as encoding/json would, for which a ledger with many
// messages would wait three times as long.
func (t *Thread) WriteTo(w *jsontext.Writer) {
	w.Begin('{')
	w.Member("messageId", t.MessageID)
	w.Member("ts", t.TS)
	for _, m := range [...]struct{ key, value string }{{"from", t.From}, {"to", t.To}, {"type", t.Type}, {"body", t.Body}} {
		if t.From == "" && t.To == "" {
			w.Raw(m.key, null)
		} else {
			w.Member(m.key, m.value)
		}
	}
	if len(t.ReplyTo) > 0 {
		w.Raw("replyTo", t.ReplyTo)
	}
	w.Member("status", t.Status)
	w.Key("ackedBy")
	w.Begin('[')
	for _, a := range t.AckedBy {
		w.Next()
		w.Begin('{')
		w.Member("from", a.From)
		w.Member("ts", a.TS)
		w.MemberUnlessEmpty("body", a.Body)
		w.End('}')
	}
	w.End(']')
	for _, m := range [...]struct {
		key   string
		value *string
	}{{"doneBy", t.DoneBy}, {"doneAt", t.DoneAt}} {
		if m.value == nil {
			w.Raw(m.key, null)
		} else {
			w.Member(m.key, *m.value)
		}
	}
	w.MemberUnlessEmpty("doneBody", t.DoneBody)
	w.Key("events")
	w.Begin('[')
	for _, e := range t.Events {
		w.Next()
		w.Begin('{')
		w.Member("action", e.Action)
		w.Member("ts", e.TS)
		w.Member("from", e.From)
		w.MemberUnlessEmpty("messageId", e.MessageID)
		w.MemberUnlessEmpty("type", e.Type)
		w.MemberUnlessEmpty("replyTo", e.ReplyTo)
		w.MemberUnlessEmpty("body", e.Body)
		w.End('}')
	}
	w.End(']')
	w.End('}')
}

var null = json.RawMessage("null")

// Open reports whether work remains.
func (t Thread) Open() bool { return t.Status == "open" || t.Status == "acked" }

// threads collects messages from events.
type threads map[string]*Thread

func (t threads) add(e Event) {
	if e.MessageID == "" || e.Malformed != nil || (e.Action != "send" && e.Action != "ack" && e.Action != "done") {
		return
	}
	t.of(e.MessageID, e.TS).add(e)
	if e.Action == "send" && e.ReplyTo != "" && e.ReplyTo != e.MessageID {
		t.of(e.ReplyTo, e.TS).answer(e)
	}
}

// of returns the message of that id; one that is new is first named at a time.
func (t threads) of(id, ts string) *Thread {
	m := t[id]
	if m == nil {
		m = &Thread{}
		begin(m, id, ts)
		m.first = len(t)
		t[id] = m
	}
	return m
}

// begin makes m a message of which nothing but its first event's time is known. It
// uses the room of its lists again.
func begin(m *Thread, id, ts string) {
	acked, events := m.AckedBy, m.Events
	if acked == nil {
		acked, events = []Acked{}, []ThreadEvent{}
	}
	*m = Thread{MessageID: id, TS: ts, Status: "unknown", AckedBy: acked[:0], Events: events[:0]}
}

// answer adds the event of another message that answers m.
func (m *Thread) answer(e Event) {
	m.Events = append(m.Events, ThreadEvent{Action: "reply", TS: e.TS, From: e.From, MessageID: e.MessageID, Type: e.Type})
}

// add adds an event of m.
func (m *Thread) add(e Event) {
	switch e.Action {
	case "send":
		m.Events = append(m.Events, ThreadEvent{Action: e.Action, TS: e.TS, From: e.From, ReplyTo: e.ReplyTo})
	default:
		m.Events = append(m.Events, ThreadEvent{Action: e.Action, TS: e.TS, From: e.From, Body: e.Body})
	}
	switch e.Action {
	case "send":
		m.TS, m.From, m.To, m.Type, m.Body = e.TS, e.From, e.To, e.Type, e.Body
		m.ReplyTo = null
		if e.ReplyTo != "" {
			m.ReplyTo = json.RawMessage(jsontext.Quote(e.ReplyTo))
		}
		if m.Status == "unknown" {
			m.Status = "open"
			switch {
			case !actionable(e.Type):
				from, at := e.From, e.TS
				m.Status, m.DoneBy, m.DoneAt, m.DoneBody = "done", &from, &at, "terminal message type"
			case len(m.AckedBy) > 0:
				m.Status = "acked"
			}
		}
	case "ack":
		m.AckedBy = append(m.AckedBy, Acked{e.From, e.TS, e.Body})
		if m.Status == "open" {
			m.Status = "acked"
		}
	case "done":
		from, at := e.From, e.TS
		m.Status, m.DoneBy, m.DoneAt, m.DoneBody = "done", &from, &at, e.Body
	}
}

// list returns the messages by time, those of one moment as they were recorded.
func (t threads) list() []Thread {
	out := []Thread{}
	for _, m := range t {
		out = append(out, *m)
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].TS < out[j].TS || out[i].TS == out[j].TS && out[i].first < out[j].first
	})
	return out
}

// Messages returns the last limit messages (0: all), or only the open ones.
func (l *Ledger) Messages(limit int, open bool) ([]Thread, error) {
	if open {
		return l.lastOpen(limit)
	}
	t := threads{}
	for e, err := range l.Events() {
		if err != nil {
			return nil, err
		}
		t.add(e)
	}
	return lastOf(t.list(), limit), nil
}

func lastOf[T any](all []T, limit int) []T {
	if limit > 0 && len(all) > limit {
		return all[len(all)-limit:]
	}
	return all
}
