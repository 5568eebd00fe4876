package ensemble

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/agents/detect"
	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/seat"
)

// people are the agents and persons that a ledger's project has names for.
type people struct {
	*seat.Room
	seats []*seat.Seat
	fault error // why seats may not be all
}

// people looks at the seats once.
func (c *call) people() *people {
	if c.known == nil {
		c.known = &people{Room: seat.At(c.Table, c.ledger.Root, time.Now())}
		c.known.read()
	}
	return c.known
}

func (p *people) read() { p.seats, p.fault = p.List() }

// named returns the seat of a name or of an agent's id; nil: none.
func (p *people) named(name string) *seat.Seat { return seat.Named(p.seats, name) }

// atWork reports whether an agent that is alive, or may be, gets mail to name.
func (p *people) atWork(name string) bool {
	s := p.Reader(p.seats, name, "")
	return s != nil && p.Life(s) != keeper.Gone
}

// caller returns the name that a flag gives the caller, else self.
func (c *call) caller(flag string) string {
	if name, ok := c.value[flag]; ok {
		return name
	}
	return c.self()
}

// self returns the name of the caller: the one that the environment gives, unless
// that is inherited from another agent; the agent's seat; else the person's. As
// aisync ledger, an agent without a seat gets one: it never reads the person's
// mail.
func (c *call) self() string {
	if c.name == "" {
		c.name = c.findSelf()
	}
	return c.name
}

func (c *call) findSelf() string {
	name := c.Program.self()
	if c.Table == nil {
		return name
	}
	set := c.Getenv(identity.VarLedger) == name && !(identity.Generated(name) && name == c.Getenv(identity.VarID))
	p, session := c.people(), c.session
	if set {
		session = nil
	}
	own := p.Own(p.seats, c.Getenv, session)
	inherited := set && c.above(name)
	if c.Plain && (!set || inherited) {
		if found := c.agentAbove(own); found != "" {
			return found
		}
	}
	switch {
	case set && !(inherited && own != nil):
		return name
	case own != nil:
		return own.Name
	}
	return name
}

// above reports whether a process above this one has the seat of a name.
func (c *call) above(name string) bool {
	s := c.people().named(name)
	return s != nil && s.PID != 0 && c.people().Here().Shows(s.Place) && slices.ContainsFunc(process.Ancestors(c.Table, c.Table.Self()), func(a process.Process) bool {
		return a.PID == s.PID && a.Start == s.Start
	})
}

// detected returns what the environment and the processes tell of the calling
// agent.
func (c *call) detected() detect.Result {
	return detect.Detect(detect.Surroundings{Getenv: c.Getenv, Processes: c.Table, Runtimes: c.Runtimes()})
}

// session returns the id of the calling agent's session, "" if none is known.
func (c *call) session() string {
	if r := c.detected(); r.SessionID != nil {
		return *r.SessionID
	}
	return ""
}

// agentAbove returns the name of the agent that started this process, "" where
// that is a person. known is the seat that the process or its environment shows.
func (c *call) agentAbove(known *seat.Seat) string {
	p := c.people()
	if known != nil && (!p.Here().Shows(known.Place) || known.Session != "" && known.Session == c.session()) {
		return known.Name // in a sandbox the programs above are other processes
	}
	if c.Table.Partial() == "" {
		if s := c.takeSeat(known); s != nil {
			return s.Name
		}
		return ""
	}
	if known != nil {
		return known.Name
	}
	// Each command of a sandbox may have another process namespace: no record
	// would be known again.
	name := c.detected().Runtime
	if !ledger.ValidAgent(name) || name == detect.Unknown {
		return ""
	}
	if s := p.named(name); s != nil && p.Life(s) != keeper.Gone || name == c.Getenv("USER") {
		name += "-sandboxed"
	}
	return name
}

// takeSeat returns the seat of the agent that started this process, by the nearest
// program above; it gives that one where it has none. known is the seat that the
// process or its environment shows.
func (c *call) takeSeat(known *seat.Seat) *seat.Seat {
	p, runtimes := c.people(), c.Runtimes()
	own, ok := roster.Own(c.Table, p.Project, runtimes)
	if !ok {
		return nil
	}
	if known != nil && known.PID == own.PID && known.Start == own.Start {
		return known
	}
	if cwd, err := c.Table.Cwd(own.PID); err != nil || !project.Holds(p.Project, cwd) {
		return nil
	}
	s, err := p.Take(seat.Ask{
		Runtime: roster.Match(own, runtimes), Given: seat.Given(c.Getenv), ID: strings.TrimSpace(c.Getenv(identity.VarID)), Helper: c.Getenv(identity.VarHelper) == "1", Worker: seat.IsWorker(c.Getenv),
		Session: c.session(), Launch: c.Getenv(identity.VarLaunch), PID: own.PID, Start: own.Start, Person: c.Getenv("USER"),
	})
	if err != nil {
		c.warn("%v", err)
		return nil
	}
	p.read()
	return s
}

// seatOthers gives seats to agents at work that have none: their programs have no
// hooks. It returns what the roster found.
func (c *call) seatOthers() roster.Roster {
	p := c.people()
	found := roster.Look(c.Table, p.Project, c.Runtimes(), nil)
	for _, a := range found.Agents {
		if p.Of(p.seats, a.PID, a.Start) != nil || a.Outside != "" || c.Table.Partial() != "" {
			continue
		}
		env, _ := c.Table.Env(a.PID) // nil where it is unreadable
		_, err := p.Take(seat.Ask{
			Runtime: a.Runtime, Given: seat.Given(func(n string) string { return env[n] }), ID: a.ID, Helper: a.Helper,
			Worker: env[identity.VarTask] != "", Launch: env[identity.VarLaunch], PID: a.PID, Start: a.Start, Person: c.Getenv("USER"),
		})
		if err != nil {
			c.warn("%v", err)
		}
	}
	p.read()
	return found
}

// receivers returns the inboxes of the agents that a message is for. It refuses a
// name that no agent has.
func (c *call) receivers(to string) ([]string, error) {
	runtime, byRuntime := c.value["to-runtime"]
	switch p := c.people(); {
	case byRuntime || to == seat.All:
		return c.everyone(runtime)
	case !ledger.ValidAgent(to):
		return []string{to}, nil // Send says what is wrong with it
	default:
		if p.fault != nil {
			c.warn("%v", p.fault)
		}
	}
	if name, ok := c.receiver(to); ok {
		return []string{name}, nil
	}
	found := c.seatOthers()
	if name, ok := c.receiver(to); ok {
		return []string{name}, nil
	}
	if slices.ContainsFunc(found.Agents, func(a roster.Agent) bool { return a.ID == to }) {
		return []string{to}, nil
	}
	if active, err := c.inTrail(to); active || err != nil {
		return []string{to}, err
	}
	return nil, fmt.Errorf("unknown agent %q: names here are %s; for an agent that comes later, run: aisync ledger init --agent %s", to, c.names(), to)
}

// receiver returns the inbox of a name that is known without a search.
func (c *call) receiver(to string) (string, bool) {
	if s := c.people().named(to); s != nil {
		return s.Name, true
	}
	return to, to == seat.Primary || to == c.Getenv("USER") || c.ledger.Known(to)
}

// everyone returns the seats of all other agents at work, or of those of a
// runtime.
func (c *call) everyone(runtime string) ([]string, error) {
	if c.value["reply-to"] != "" {
		return nil, errors.New("--reply-to answers one agent; name the sender of that message")
	}
	self := c.caller("from")
	found := c.seatOthers()
	p := c.people()
	var out []string
	for _, s := range p.AtWork(p.seats, runtime, self) {
		out = append(out, s.Name)
	}
	if err := p.fault; err != nil {
		c.warn("%v", err)
	}
	for _, why := range found.Doubts() {
		c.warn("there may be more agents here: %s", why)
	}
	if len(out) == 0 {
		what := "no other agent"
		if runtime != "" {
			what = "no other agent of the runtime " + runtime
		}
		return nil, fmt.Errorf("%s is at work here, so nothing was sent; names here are %s", what, c.names())
	}
	return out, nil
}

// inTrail reports whether an agent of a name has ever acted in the ledger and was
// not retired since.
func (c *call) inTrail(name string) (bool, error) {
	active := false
	for e, err := range c.ledger.Events() {
		if err != nil {
			return false, err
		}
		switch {
		case e.Malformed != nil:
		case e.Action == "retire" && e.Agent == name:
			active = false
		case e.From == name, e.Agent == name && strings.HasPrefix(e.Action, "claim"):
			active = true
		}
	}
	return active, nil
}

// names lists the names that send takes, those of agents that are not at work with
// a remark.
func (c *call) names() string {
	p := c.people()
	var out []string
	for _, s := range p.seats {
		if p.Life(s) == keeper.Gone {
			out = append(out, s.Name+" (not at work)")
		} else {
			out = append(out, s.Name)
		}
	}
	agents, _, _ := c.ledger.Agents() // those without a seat; used only for the text
	for _, a := range agents {
		if p.named(a) == nil && a != seat.Primary && a != seat.All {
			out = append(out, a)
		}
	}
	slices.Sort(out)
	return strings.Join(append(out, seat.Primary, seat.All), ", ")
}

// later tells the sender that a message waits.
func (c *call) later(to string) {
	p := c.people()
	if (p.named(to) != nil || to == seat.Primary) && !p.atWork(to) {
		fmt.Fprintf(c.Err, "%s is not at work now; the next agent of that name gets the message\n", to)
	}
}

// inboxes returns the names whose inboxes are an agent's, its own first. As
// ensemble it has one.
func (c *call) inboxes(agent string) []string {
	if !c.Plain || c.Table == nil {
		return []string{agent}
	}
	s := c.people().named(agent)
	if s == nil || s.Name != agent {
		return []string{agent}
	}
	return slices.DeleteFunc(s.Inboxes(c.Getenv("USER")), func(name string) bool {
		return name != agent && (!ledger.ValidAgent(name) || !c.ledger.Known(name))
	})
}

// seated reports whether an agent has a seat of that name.
func (c *call) seated(agent string) bool {
	if !c.Plain || c.Table == nil {
		return false
	}
	s := c.people().named(agent)
	return s != nil && s.Name == agent
}

// deliver shows the messages of several inboxes at once: they count as read once
// all of them were shown.
func (c *call) deliver(r ledger.Reading, inboxes []string, show func(content string) error) error {
	r.Agent = inboxes[0]
	return c.ledger.Deliver(r, func(content string) error {
		if len(inboxes) == 1 {
			return show(content)
		}
		return c.deliver(r, inboxes[1:], func(more string) error { return show(content + spaced(content, more)) })
	})
}

// spaced returns more with an empty line before it, if there is content.
func spaced(content, more string) string {
	if strings.TrimSpace(content) == "" || more == "" {
		return more
	}
	return strings.Repeat("\n", max(0, 2-(len(content)-len(strings.TrimRight(content, "\n"))))) + more
}
