package ledger

import (
	"slices"

	"aisync.dev/aisync/agents/overlap"
)

// Letter is one message of an inbox.
type Letter struct {
	Entry
	Message
}

// WantsAnswer reports whether the message is a handoff or a question.
func (m Letter) WantsAnswer() bool { return actionable(m.Type) }

// Unread returns the messages of agent that are newer than its read mark, in
// the order of its inbox. It writes nothing: call MarkRead once they were
// delivered. A message from the future is left out until its time comes.
func (l *Ledger) Unread(agent string) ([]Letter, error) {
	if err := checkAgent(agent); err != nil {
		return nil, err
	}
	text, err := l.inboxText(agent)
	if err != nil {
		return nil, err
	}
	all := entries(text)
	if len(all) == 0 {
		return nil, nil
	}
	last, err := l.lastRead(agent)
	if err != nil {
		return nil, err
	}
	horizon := stampOf(l.now().Add(skew))
	all = slices.DeleteFunc(all, func(e Entry) bool { return !later(e.TS, last) || later(e.TS, horizon) })
	var out []Letter
	for _, e := range all {
		if m, ok := e.message(); ok {
			out = append(out, Letter{e, m})
		}
	}
	return out, nil
}

// HasMail reports whether agent has a message: one that is newer than its read
// mark, or with since false any that it has not cleared. It writes nothing.
func (l *Ledger) HasMail(agent string, since bool) (bool, error) {
	if since {
		letters, err := l.Unread(agent)
		return len(letters) > 0, err
	}
	if err := checkAgent(agent); err != nil {
		return false, err
	}
	s := AgentStatus{Agent: agent}
	err := l.countInbox(&s, "")
	return s.Pending > 0, err
}

// MarkRead moves the read mark of agent to at, the time of a message, unless it
// is there or later already, and writes the audit record of a reading. A crash
// leaves the old mark, and so the messages unread, or the new one without its
// record.
func (l *Ledger) MarkRead(agent, at string) error {
	if err := checkAgent(agent); err != nil {
		return err
	}
	return l.changeLocked(func() error {
		last, err := l.lastRead(agent)
		if err != nil || !later(at, last) {
			return err
		}
		if err := l.ensureAgent(agent); err != nil {
			return err
		}
		if err := l.markRead(agent, at, last); err != nil {
			return err
		}
		return l.traceInbox(Reading{Agent: agent, Since: true})
	})
}

// Overlapping returns the claims of other agents on path, on a folder or a
// pattern around it, or on something below it.
func (l *Ledger) Overlapping(claims []Claim, agent, path string) ([]Claim, error) {
	key, err := l.Resolve(path)
	if err != nil {
		return nil, err
	}
	at := pathCache{}
	mine := at.physical(key)
	var out []Claim
	for _, c := range claims {
		if c.Agent != agent && overlap.Paths(mine, at.physical(c.Path)) {
			out = append(out, c)
		}
	}
	return out, nil
}
