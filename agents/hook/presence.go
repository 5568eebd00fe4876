package hook

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/seat"
)

// Presence is an agent whose program calls no hooks, for as long as a server of
// that program runs: it has what SessionStart gives others, a seat, a record and a
// keeper, and at its end what SessionEnd does. An agent whose program calls hooks
// besides keeps the seat that they gave it, and they end it.
type Presence struct{ call Call }

// unknownProgram is the runtime of a program that is not among the known ones, and
// with it the seat. A person without a name is "agent".
const unknownProgram = "mcp"

// Join gives the agent whose program started this process a seat. Of c it takes
// what is no part of one event. Where c names no runtime, the program above tells.
func Join(c Call) (*Presence, error) {
	c.label = "mcp"
	p := &Presence{c}
	return p, p.join()
}

func (p *Presence) join() error {
	c := &p.call
	c.Event, c.in, c.room = "SessionStart", input{cwd: c.Dir}, nil
	if err := c.find(); err != nil {
		return err
	}
	above := c.process()
	if c.Runtime.ID == "" {
		c.Runtime.ID = cmp.Or(roster.Match(above, c.Runtimes), unknownProgram)
	}
	c.program = c.Runtime.ID
	all, err := c.readRecords()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(r record) bool {
		return !r.Ended && above.PID != 0 && r.PID == above.PID && r.Start == above.Start && c.seats().Here().Shows(r.Place)
	})
	if i < 0 {
		if err := c.takeSeat(above); err != nil {
			return err
		}
		return c.write()
	}
	c.own = all[i]
	c.others = slices.Delete(all, i, i+1)
	return nil
}

// process returns that of the agent: the program above this one that is
// known, and of the runtime that is named. Else it is the one that started this
// process: another agent may have started that.
func (c *Call) process() process.Process {
	if p, ok := roster.Own(c.Table, c.root, c.Runtimes); ok && (c.Runtime.ID == "" || c.Runtime.ID == roster.Match(p, c.Runtimes)) {
		return p
	}
	own, err := c.Table.Read(c.Table.Self())
	if err != nil {
		return process.Process{}
	}
	above, err := c.Table.Read(own.Parent)
	if err != nil {
		return process.Process{}
	}
	return above
}

// Renew dates the agent's records. It joins again where the ledger is another one,
// or the seat has another agent.
func (p *Presence) Renew(now time.Time) error {
	c := &p.call
	c.Now, c.room = now, nil
	root := c.root
	if err := c.find(); err != nil {
		return err
	}
	r, err := c.readRecord(c.own.Name)
	if err != nil || c.root != root || !p.isOwn(r) {
		return p.join()
	}
	c.own = r
	return c.renew()
}

// isOwn reports whether the record of the seat is still that of this agent.
func (p *Presence) isOwn(r record) bool {
	own := p.call.own
	return !r.Ended && r.PID == own.PID && r.Start == own.Start && r.Place == own.Place
}

// Leave ends the presence as SessionEnd does: it releases what the agent claims.
func (p *Presence) Leave(now time.Time) error {
	c := &p.call
	c.Now, c.room, c.Event = now, nil, "SessionEnd"
	r, err := c.readRecord(c.own.Name)
	if err != nil || !p.isOwn(r) || r.Session != "" {
		return err // hooks run, or the seat has another agent
	}
	c.own = r
	return c.sessionEnd()
}

// Name returns the agent's seat.
func (p *Presence) Name() string { return p.call.own.Name }

// Leases returns those of the agent's claims.
func (p *Presence) Leases() ledger.Leases { return p.call.ledger.Leases }

// Unread returns how many messages the agent has not read.
func (p *Presence) Unread() (int, error) {
	letters, err := p.call.unread()
	return len(letters), err
}

// Text returns what the model should know first: who it is, who is here, what is
// claimed, which tasks wait, and how to take part by the tools of the server.
func (p *Presence) Text() (string, error) {
	text, err := p.call.situation()
	return text + fmt.Sprintf("No hook guards your files. Claim what you will edit before you edit it (claim), leave what another agent claims, and give it back after (release).\n"+
		"Read your mail first and between steps (inbox). Ask and hand over by name (send): an agent, %s, or %s for every agent at work; answer with type result and reply_to.", seat.Primary, seat.All), err
}
