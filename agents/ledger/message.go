package ledger

import (
	"encoding/json"
	"errors"
	"sort"
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

// Thread is one message and its history, from the audit trail.
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
}

// Acked is one receipt.
type Acked struct {
	From string `json:"from"`
	TS   string `json:"ts"`
	Body string `json:"body,omitempty"`
}

// ThreadEvent is an event that concerns a message.
type ThreadEvent struct {
	Action string `json:"action"`
	TS     string `json:"ts"`
	From   string `json:"from"`
}

// Open reports whether work remains.
func (t Thread) Open() bool { return t.Status == "open" || t.Status == "acked" }

// threads collects messages from events. With keepDone false it forgets finished
// ones at once, so that memory grows with the open messages, not with the
// history.
type threads struct {
	keepDone bool
	by       map[string]*Thread
	closed   map[string]bool
}

func newThreads(keepDone bool) *threads {
	return &threads{keepDone: keepDone, by: map[string]*Thread{}, closed: map[string]bool{}}
}

func (t *threads) add(e Event) {
	if e.MessageID == "" || e.Malformed != nil || (e.Action != "send" && e.Action != "ack" && e.Action != "done") {
		return
	}
	if !t.keepDone && (t.closed[e.MessageID] || e.Action == "send" && !actionable(e.Type)) {
		return
	}
	m := t.by[e.MessageID]
	if m == nil {
		m = &Thread{MessageID: e.MessageID, TS: e.TS, Status: "unknown", AckedBy: []Acked{}}
		t.by[e.MessageID] = m
	}
	m.Events = append(m.Events, ThreadEvent{e.Action, e.TS, e.From})
	switch e.Action {
	case "send":
		m.TS, m.From, m.To, m.Type, m.Body = e.TS, e.From, e.To, e.Type, e.Body
		m.ReplyTo = json.RawMessage("null")
		if e.ReplyTo != "" {
			m.ReplyTo = json.RawMessage(quote(e.ReplyTo))
		}
		if m.Status == "unknown" {
			m.Status = "open"
			switch {
			case !actionable(e.Type):
				m.Status = "done"
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
		if !t.keepDone {
			delete(t.by, e.MessageID)
			t.closed[e.MessageID] = true
		}
	}
}

// list returns the messages by time.
func (t *threads) list(open bool) []Thread {
	out := []Thread{}
	for _, m := range t.by {
		if !open || m.Open() {
			out = append(out, *m)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].TS != out[j].TS {
			return out[i].TS < out[j].TS
		}
		return out[i].MessageID < out[j].MessageID
	})
	return out
}

// Messages returns the last limit messages (0: all), or only the open ones.
func (l *Ledger) Messages(limit int, open bool) ([]Thread, error) {
	t := newThreads(!open)
	for e, err := range l.Events() {
		if err != nil {
			return nil, err
		}
		t.add(e)
	}
	return lastOf(t.list(open), limit), nil
}

func lastOf[T any](all []T, limit int) []T {
	if limit > 0 && len(all) > limit {
		return all[len(all)-limit:]
	}
	return all
}
