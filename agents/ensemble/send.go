package ensemble

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/seat"
)

func (c *call) send() (int, error) {
	m := ledger.Message{From: c.caller("from"), To: c.word(0), Type: c.valueOr("type", "handoff"), ReplyTo: c.value["reply-to"]}
	at := 1 // word of the text
	if _, byRuntime := c.value["to-runtime"]; byRuntime {
		at = 0
	}
	var err error
	if m.Body, err = c.body(at); err != nil {
		return exitError, err
	}
	to := []string{m.To}
	if c.Plain && c.Table != nil {
		if to, err = c.receivers(m.To); err != nil {
			return exitError, err
		}
	} else if known := c.ledger.Known(m.To); !known && ledger.ValidAgent(m.To) {
		if agents, _, err := c.ledger.Agents(); err == nil && len(agents) > 0 {
			defer c.warn("%s is a new agent; the others are %s", m.To, strings.Join(agents, ", "))
		}
	}
	if err := c.checkSecrets(m.Body); err != nil {
		return exitError, err
	}
	return c.sendTo(m, to)
}

// sendTo sends a message to each of several agents and prints its records.
func (c *call) sendTo(m ledger.Message, to []string) (int, error) {
	var recs []json.RawMessage
	var errs []error
	for _, m.To = range to {
		rec, err := c.ledger.Send(m)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		recs = append(recs, rec)
		var sent struct{ MessageID string }
		if err := json.Unmarshal(rec, &sent); err != nil {
			return exitError, err
		}
		if c.Plain && c.Table != nil {
			defer c.later(m.To)
		}
		if c.on["json"] {
			continue
		}
		text := fmt.Sprintf("sent to %s: %s", m.To, sent.MessageID)
		if m.ReplyTo != "" {
			text += " (reply to " + m.ReplyTo + ")"
		}
		if _, err := c.say(rec, "%s", text); err != nil {
			errs = append(errs, err)
		}
	}
	if c.on["json"] && len(recs) > 0 {
		if c.word(0) == seat.All && c.Plain || c.value["to-runtime"] != "" {
			errs = append(errs, c.json(recs))
		} else {
			errs = append(errs, c.json(recs[0]))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return exitError, err
	}
	return exitDone, nil
}
