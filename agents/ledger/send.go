package ledger

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Message is the input of Send.
type Message struct{ From, To, Type, Body, ReplyTo string }

// Send appends a message to the inbox of its receiver, which it creates if
// needed, and returns the audit record. A reply that ends a thread closes the
// message it replies to. A crash may leave the message delivered but not
// audited.
func (l *Ledger) Send(m Message) (json.RawMessage, error) {
	if err := errors.Join(checkAgent(m.To), checkAgent(m.From)); err != nil {
		return nil, first(err)
	}
	if !slices.Contains(Types, m.Type) {
		return nil, said("Invalid type: %s", m.Type)
	}
	if trimmed(m.Body) == "" {
		return nil, errors.New("message body is required")
	}
	if m.ReplyTo != "" {
		if err := checkID(m.ReplyTo); err != nil {
			return nil, err
		}
	}
	var rec json.RawMessage
	err := l.changeLocked(func() (err error) {
		if err = l.ensureAgent(m.To); err != nil {
			return err
		}
		inbox := l.agentPath(m.To, inboxFile)
		ts, err := l.after(inbox)
		if err != nil {
			return err
		}
		id := newID()
		if err = l.add(inbox, []byte(block(ts, m.From, m.To, m.Type, id, m.ReplyTo, m.Body))); err != nil {
			return err
		}
		rec, err = l.record("send", pair{"from", m.From}, pair{"to", m.To}, pair{"type", m.Type}, pair{"body", m.Body},
			pair{"messageId", id}, pair{"replyTo", m.ReplyTo})
		if err == nil && m.ReplyTo != "" && !actionable(m.Type) {
			_, err = l.record("done", pair{"from", m.From}, pair{"messageId", m.ReplyTo}, pair{"body", "auto-closed by " + id})
		}
		return err
	})
	return rec, err
}

// first returns the first of joined errors.
func first(err error) error {
	if j, ok := err.(interface{ Unwrap() []error }); ok && len(j.Unwrap()) > 0 {
		return j.Unwrap()[0]
	}
	return err
}

func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return "msg_" + hex.EncodeToString(b[:])
}

// skew is how far ahead of our clock another writer's times may be; later ones
// are ignored.
const skew = time.Minute

// tail is how much of an inbox is read to find its last heading.
const tail = 64 << 10

// after returns a time for a new entry of file: now, or just after the last
// entry, so that the times in an inbox are distinct and a reader's mark is
// before or after each message.
func (l *Ledger) after(file string) (string, error) {
	now := l.now()
	f, err := l.open(file)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	from := max(0, info.Size()-tail)
	text := make([]byte, info.Size()-from)
	if n, err := f.ReadAt(text, from); err != nil && n < len(text) {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	if all := entries(string(text)); len(all) > 0 {
		if t, err := time.Parse(time.RFC3339Nano, all[len(all)-1].TS); err == nil && !t.Before(now.Truncate(time.Millisecond)) && t.Before(now.Add(skew)) {
			return stampOf(t.Add(time.Millisecond)), nil
		}
	}
	return stampOf(now), nil
}
