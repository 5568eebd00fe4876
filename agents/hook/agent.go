package hook

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/seat"
)

// record is the record of a seat, with what the hooks must remember of its agent.
type record struct {
	seat.Seat
	Primed bool `json:"primed,omitempty"` // the model knows who it is
	Leads  bool `json:"leads,omitempty"`  // the model knows that it is the primary
	// How far the transcript was searched for compactions, and the last one's digest.
	Looked    int64    `json:"looked,omitempty"`
	Compacted string   `json:"compacted,omitempty"`
	Idle      []string `json:"idle,omitempty"` // teammates of which the blackboard says so

	// The last call of a tool that writes: a file that changed within it may have
	// been changed by this agent.
	Began  time.Time         `json:"began,omitzero"`
	Done   time.Time         `json:"done,omitzero"`
	Before map[string]string `json:"before,omitempty"` // state of others' claimed files when it began
}

// life decides whether the agent of r is alive.
func (c *Call) life(r record) keeper.Life { return c.seats().Life(&r.Seat) }

// seats returns the seats of the project.
func (c *Call) seats() *seat.Room {
	if c.room == nil {
		c.room = &seat.Room{Table: c.Table, Root: c.root, Project: c.project, Now: c.Now}
	}
	return c.room
}

// agent is the calling agent for its keeper.
func (c *Call) agent() keeper.Agent {
	return keeper.Agent{
		Seat: c.own.Name, ID: strings.TrimSpace(c.Getenv(identity.VarID)), Runtime: c.program, Helper: c.isHelper(), Session: c.in.session, Launch: c.Getenv(identity.VarLaunch),
		PID: c.own.PID, Start: c.own.Start, UID: os.Getuid(), Cwd: c.in.cwd,
	}
}

// readRecords returns all records, by name. Unreadable ones are left out.
func (c *Call) readRecords() ([]record, error) {
	names, err := c.seats().Files()
	var out []record
	for _, name := range names {
		if r, err := c.readRecord(name); err == nil {
			out = append(out, r)
		}
	}
	return out, err
}

func (c *Call) readRecord(name string) (record, error) {
	var r record
	err := c.seats().Read(name, &r)
	r.Name = name
	return r, err
}

// write stores the record of the agent.
func (c *Call) write() error {
	c.taken = false
	return c.seats().Write(c.own.Name, c.own)
}

// identify sets c.own and c.others: the record of the calling agent, made if it
// has none, and those of all others.
func (c *Call) identify() error {
	all, err := c.readRecords()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(r record) bool { // whatever its environment names: it may have inherited that
		return r.Session == c.in.session && r.Session != "" && r.Runtime == c.program && !r.Ended
	})
	if i >= 0 && c.Event != "SessionStart" {
		c.own = all[i]
		c.others = slices.Delete(all, i, i+1)
		return nil
	}
	p, _ := roster.Own(c.Table, c.root, c.Runtimes)
	return c.takeSeat(p)
}

// takeSeat gives the agent whose program is p a seat, and tells the others of it. The
// caller stores the record.
func (c *Call) takeSeat(p process.Process) error {
	a := c.agent()
	own, err := c.seats().Take(seat.Ask{
		Runtime: a.Runtime, Given: seat.Given(c.Getenv), ID: a.ID, Helper: a.Helper, Worker: seat.IsWorker(c.Getenv), Session: a.Session, Launch: a.Launch,
		PID: p.PID, Start: p.Start, Person: c.Getenv("USER"),
	})
	if err != nil {
		return err
	}
	c.own = record{Seat: *own}
	all, err := c.readRecords()
	if err != nil {
		return err
	}
	c.others = slices.DeleteFunc(all, func(r record) bool { return r.Name == own.Name })
	if err := keeper.Start(c.Table, c.project, c.agent(), c.Program); err == nil {
		c.own.Kept = true
	} else {
		c.report(fmt.Errorf("%w; others know of this agent by its calls only", err))
	}
	c.seats().Refresh()
	c.taken = true
	return nil
}

// lead makes the agent the primary if the one before has ended and it is next. It
// looks at no other agent's life where that cannot be.
func (c *Call) lead() {
	if c.own.Primary || !c.own.MayLead {
		return
	}
	all := []*seat.Seat{&c.own.Seat}
	for i := range c.others {
		all = append(all, &c.others[i].Seat)
	}
	c.own.Primary = c.seats().Leader(all) == &c.own.Seat
}

// known returns the agent of a name among the others.
func (c *Call) known(name string) (record, bool) {
	for _, r := range c.others {
		if r.Name == name {
			return r, true
		}
	}
	return record{}, false
}

// second reports whether another agent is at work here.
func (c *Call) second() bool {
	return slices.ContainsFunc(c.others, func(r record) bool { return c.life(r) == keeper.Alive })
}
