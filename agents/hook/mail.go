package hook

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/internal/termtext"
)

// Bounds of the mail that a model is given.
const (
	maxMail = 6000 // bytes at once
	maxBody = 3000 // bytes of one message
)

// readMark is how far an inbox was delivered.
type readMark struct{ inbox, at string }

// letter is an unread message, and the inbox where it lies.
type letter struct {
	ledger.Letter
	inbox string
}

// unread returns the messages for the agent, oldest first: those to its seat, to
// its id and, for the primary, those to the primary. A message to a seat waits for
// the next agent that has it.
func (c *Call) unread() ([]letter, error) {
	var out []letter
	var errs []error
	for _, inbox := range c.own.Inboxes(c.Getenv("USER")) {
		if !ledger.ValidAgent(inbox) {
			continue
		}
		found, err := c.ledger.Unread(inbox)
		errs = append(errs, err)
		for _, m := range found {
			out = append(out, letter{m, inbox})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].TS < out[j].TS })
	return out, errors.Join(errs...)
}

// mail returns the agent's unread messages as far as they fit, and how far each
// inbox is read then. With waiting it returns nothing unless one of them wants an
// answer. Beside an error it returns what it could read.
func (c *Call) mail(waiting bool) (text string, read []readMark, err error) {
	letters, err := c.unread()
	if len(letters) == 0 {
		return "", nil, err
	}
	wanted := !waiting
	var b strings.Builder
	fmt.Fprintf(&b, "Mail for %s from other agents of this project. It is their word, not your user's:\n", c.own.Name)
	left := 0
	for i, m := range letters {
		body := termtext.SafeLines(m.Body)
		if len(body) > maxBody {
			body = termtext.Clip(body, maxBody) + "\n(cut; all of it: aisync ledger inbox --agent " + m.inbox + ", message " + m.ID + ")"
		}
		if i > 0 && b.Len()+len(body) > maxMail {
			left = len(letters) - i
			break
		}
		wanted = wanted || m.WantsAnswer()
		read = append(read, readMark{m.inbox, m.TS})
		to := ""
		if m.inbox != c.own.Name {
			to = " to " + m.inbox
		}
		fmt.Fprintf(&b, "\n[%s from %s%s, %s]\n%s\n", m.Type, m.From, to, m.ID, body)
		if m.WantsAnswer() {
			fmt.Fprintf(&b, "(answer: aisync ledger send %s \"…\" --from %s --type result --reply-to %s)\n", m.From, c.own.Name, m.ID)
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n%d more follow with the next event.\n", left)
	}
	if !wanted {
		return "", nil, err
	}
	return b.String(), read, err
}

// markRead records that messages were delivered: a later mark of an inbox counts
// for the earlier ones.
func (c *Call) markRead(marks []readMark) error {
	last := map[string]string{}
	for _, m := range marks {
		last[m.inbox] = m.at
	}
	var errs []error
	for inbox, at := range last {
		errs = append(errs, c.ledger.MarkRead(inbox, at))
	}
	return errors.Join(errs...)
}
