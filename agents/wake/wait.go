package wake

import (
	"errors"
	"fmt"
	"time"

	"aisync.dev/aisync/agents/ledger"
)

// wait polls the audit trail until the message is answered, or was already.
func (p Program) wait(l *ledger.Ledger, id string, timeout, every time.Duration) error {
	if idForm().FindString(id) != id || id == "" {
		return fmt.Errorf("Invalid message id: %s", id) //lint:ignore ST1005 the original's text
	}
	deadline := time.Now().Add(timeout)
	var f ledger.Follow
	if _, err := l.Since(&f); err != nil { // start following before reading what exists
		return err
	}
	for e, err := range l.Events() {
		if err != nil {
			return err
		}
		if answers(e, id) {
			return p.tell(e)
		}
	}
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return fmt.Errorf("%w: no answer to %s", errTimeout, id)
		}
		select {
		case <-p.Done:
			return errors.New("interrupted")
		case <-time.After(min(left, every)):
		}
		events, err := l.Since(&f)
		if err != nil {
			return err
		}
		for _, e := range events {
			if answers(e, id) {
				return p.tell(e)
			}
		}
	}
}

func answers(e ledger.Event, id string) bool {
	switch e.Action {
	case "send":
		return e.ReplyTo == id && (e.Type == "result" || e.Type == "ack" || e.Type == "note")
	case "ack", "done":
		return e.MessageID == id
	}
	return false
}

func (p Program) tell(e ledger.Event) error {
	_, err := fmt.Fprintf(p.Out, "%s\n", e.Raw)
	return err
}
