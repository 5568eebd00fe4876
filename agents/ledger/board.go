package ledger

import (
	"encoding/json"
	"errors"
)

// Note appends a note to the blackboard and returns its audit record.
func (l *Ledger) Note(from, body string) (json.RawMessage, error) {
	if trimmed(body) == "" {
		return nil, errors.New("note body is required")
	}
	if err := checkAgent(from); err != nil {
		return nil, err
	}
	var rec json.RawMessage
	err := l.changeLocked(func() (err error) {
		if err = l.create(boardFile, boardHeader); err != nil {
			return err
		}
		if err = l.add(boardFile, []byte(block(l.stamp(), from, "", "note", "", "", body))); err != nil {
			return err
		}
		rec, err = l.record("note", pair{"from", from}, pair{"type", "note"}, pair{"body", body})
		return err
	})
	return rec, err
}

// Board returns the blackboard; a missing one reads as it is begun.
func (l *Ledger) Board() (string, error) {
	text, err := l.read(boardFile)
	if err != nil {
		return "", err
	}
	if text == nil {
		text = []byte(boardHeader)
	}
	return string(text), l.audit("board_read")
}
