package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"aisync.dev/aisync/internal/termtext"
)

// AgentStatus is one agent's part of Status. Missing times are null.
type AgentStatus struct {
	Agent           string          `json:"agent"`
	Pending         int             `json:"pending"` // messages in the inbox
	Unread          int             `json:"unread"`  // newer than the last reading
	Stale           int             `json:"stale"`   // read, but not cleared
	LastReadAt      *string         `json:"lastReadAt"`
	OldestPendingAt *string         `json:"oldestPendingAt"`
	NewestPendingAt *string         `json:"newestPendingAt"`
	State           json.RawMessage `json:"state"`
	Problem         string          `json:"problem,omitempty"` // why State is empty: it is unreadable

	unread []Entry
	stale  []Entry
}

// Status is a summary of the ledger.
type Status struct {
	Root      string          `json:"root"`
	Version   json.RawMessage `json:"version"`
	Agents    []AgentStatus   `json:"agents"`
	Worktrees json.RawMessage `json:"worktrees"`
}

// Status reads every inbox.
func (l *Ledger) Status() (Status, error) {
	s := Status{Root: l.Root}
	var err error
	if s.Version, err = l.version(); err != nil {
		return s, err
	}
	if s.Agents, err = l.agentStatus(sync.OnceValues(l.readings)); err != nil {
		return s, err
	}
	claims, err := l.claimed()
	if err != nil {
		return s, err
	}
	s.Worktrees = claims.compact()
	return s, l.audit("status")
}

// version returns the version in config.yaml: a number where it is one.
func (l *Ledger) version() (json.RawMessage, error) {
	c, err := l.Config()
	if err != nil {
		return nil, err
	}
	v, ok := c["version"]
	switch {
	case !ok:
		return json.RawMessage("null"), nil
	case v != "" && strings.Trim(v, "0123456789") == "":
		return json.RawMessage(strings.TrimLeft(v[:len(v)-1], "0") + v[len(v)-1:]), nil
	}
	return json.RawMessage(quote(v)), nil
}

// agentStatus describes all agents. It calls reads for their last readings where
// an agent's state has none.
func (l *Ledger) agentStatus(reads func() (readings, error)) ([]AgentStatus, error) {
	agents, _, err := l.Agents()
	if err != nil {
		return nil, err
	}
	out := []AgentStatus{}
	for _, a := range agents {
		s, err := l.statusOf(a, reads)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (l *Ledger) statusOf(agent string, reads func() (readings, error)) (AgentStatus, error) {
	s := AgentStatus{Agent: agent, State: json.RawMessage("{}")}
	text, err := l.inboxText(agent)
	if err != nil {
		return s, err
	}
	state, err := l.State(agent)
	if err != nil { // one agent's broken state hides no other's messages
		s.Problem = err.Error()
	}
	last := ""
	if state != nil {
		object, _ := members(state) // State has checked it
		s.State = object.compact()
		last, _ = unquote(object.get("lastReadAt"))
	}
	all := entries(text)
	if last == "" && len(all) > 0 {
		read, err := reads()
		if err != nil {
			return s, err
		}
		last = read[agent]
	}
	if last != "" {
		s.LastReadAt = &last
	}
	for _, e := range all {
		if last == "" || later(e.TS, last) {
			s.unread = append(s.unread, e)
		} else {
			s.stale = append(s.stale, e)
		}
	}
	s.Pending, s.Unread, s.Stale = len(all), len(s.unread), len(s.stale)
	if len(all) > 0 {
		s.OldestPendingAt, s.NewestPendingAt = &all[0].TS, &all[len(all)-1].TS
	}
	return s, nil
}

// Overview is what an agent reads first.
type Overview struct {
	Root         string          `json:"root"`
	Version      json.RawMessage `json:"version"`
	Agents       []AgentStatus   `json:"agents"`
	Pending      []AgentStatus   `json:"pending"` // agents with messages in their inbox
	Unread       []AgentStatus   `json:"unread"`
	Stale        []AgentStatus   `json:"stale"`
	Claims       []Claim         `json:"claims"`
	OpenMessages []Thread        `json:"openMessages"`
	Recent       []Moment        `json:"recent"`
	Malformed    int             `json:"malformed"` // lines of the audit trail that are not records
}

// Story is the whole content of a ledger.
type Story struct {
	Overview Overview
	Moments  []Moment
	Messages []Thread
	Board    string
}

// Story returns it and leaves no trace.
func (l *Ledger) Story() (s Story, err error) {
	defer func(trace bool) { l.Trace = trace }(l.Trace)
	l.Trace = false
	if s.Overview, err = l.Overview(1); err != nil {
		return s, err
	}
	if s.Moments, err = l.Timeline(0); err != nil {
		return s, err
	}
	if s.Messages, err = l.Messages(0, false); err != nil {
		return s, err
	}
	s.Board, err = l.Board()
	return s, err
}

// Overview reads the audit trail once, in memory that grows with the open
// messages, and includes the last limit events. It leaves no trace.
func (l *Ledger) Overview(limit int) (Overview, error) {
	o := Overview{Root: l.Root, Pending: []AgentStatus{}, Unread: []AgentStatus{}, Stale: []AgentStatus{}, Claims: []Claim{}, Recent: []Moment{}}
	var err error
	if o.Version, err = l.version(); err != nil {
		return o, err
	}
	open, reads := newThreads(false), readings{}
	recent := ring{size: limit}
	for e, err := range l.Events() {
		if err != nil {
			return o, err
		}
		recent.add(e)
		if e.Malformed != nil {
			o.Malformed++
			continue
		}
		open.add(e)
		reads.add(e)
	}
	if o.Agents, err = l.agentStatus(reads.known); err != nil {
		return o, err
	}
	for _, a := range o.Agents {
		if a.Pending > 0 {
			o.Pending = append(o.Pending, a)
		}
		if a.Unread > 0 {
			o.Unread = append(o.Unread, a)
		}
		if a.Stale > 0 {
			o.Stale = append(o.Stale, a)
		}
	}
	claims, err := l.Claims()
	if err != nil {
		return o, err
	}
	for _, c := range claims {
		c.Previous = nil
		o.Claims = append(o.Claims, c)
	}
	o.OpenMessages = open.list(true)
	o.Recent = recent.moments()
	return o, nil
}

// Moment is one line of a timeline.
type Moment struct {
	TS      string          `json:"ts"`
	Action  string          `json:"action"`
	Summary string          `json:"summary"`
	Record  json.RawMessage `json:"record"`
}

// Timeline returns the last limit events (0: all) in words.
func (l *Ledger) Timeline(limit int) ([]Moment, error) {
	r := ring{size: limit}
	for e, err := range l.Events() {
		if err != nil {
			return nil, err
		}
		r.add(e)
	}
	return r.moments(), nil
}

// ring keeps the last size events; all of them where size is not positive.
type ring struct {
	size   int
	next   int
	events []Event
}

func (r *ring) add(e Event) {
	if r.size <= 0 || len(r.events) < r.size {
		e.Raw = slices.Clone(e.Raw)
		r.events = append(r.events, e)
		return
	}
	e.Raw = append(r.events[r.next].Raw[:0], e.Raw...)
	r.events[r.next] = e
	r.next = (r.next + 1) % r.size
}

func (r *ring) moments() []Moment {
	out := []Moment{}
	for i := range r.events {
		out = append(out, momentOf(r.events[(r.next+i)%len(r.events)]))
	}
	return out
}

func momentOf(e Event) Moment {
	if e.Malformed != nil {
		return Moment{Action: "malformed", Summary: fmt.Sprintf("%s:%d is not a record: %v", e.File, e.Line, e.Malformed), Record: e.Trail()}
	}
	return Moment{e.TS, e.Action, summary(e), e.Raw}
}

// summary describes an event in a few words.
func summary(e Event) string {
	switch e.Action {
	case "init":
		return "ledger initialized"
	case "note":
		return e.From + " noted: " + brief(e.Body)
	case "send":
		return fmt.Sprintf("%s → %s [%s] %s: %s", e.From, e.To, e.Type, e.MessageID, brief(e.Body))
	case "ack", "done":
		words := map[string]string{"ack": "acknowledged", "done": "resolved"}
		text := fmt.Sprintf("%s %s %s", e.From, words[e.Action], e.MessageID)
		if e.Body != "" {
			text += ": " + brief(e.Body)
		}
		return text
	case "inbox_read":
		return e.Agent + " read its inbox"
	case "inbox_clear":
		return e.Agent + " cleared its inbox"
	case "claim":
		return e.Agent + " claimed " + e.Path
	case "claim_update":
		return e.Agent + " took over the claim on " + e.Path
	case "release":
		return e.Agent + " released " + e.Path
	case "retire":
		return e.By + " retired " + e.Agent
	}
	return strings.TrimSpace(e.Action + " " + e.Agent)
}

// brief returns one line of at most 72 characters.
func brief(body string) string { return termtext.Clip(termtext.OneLine(body), 72) }

// Idle is an agent without recent activity.
type Idle struct {
	Agent        string   `json:"agent"`
	LastActiveAt *string  `json:"lastActiveAt"`
	IdleDays     int      `json:"idleDays"`
	Pending      int      `json:"pending"`
	Claims       []string `json:"claims"`
}

// Stale lists the agents without an event in the audit trail for that many days.
// An agent without any event is as old as its state.
func (l *Ledger) Stale(days float64) ([]Idle, error) {
	last := map[string]string{}
	for e, err := range l.Events() {
		if err != nil {
			return nil, err
		}
		for _, who := range []string{e.Agent, e.From} {
			if who != "" && later(e.TS, last[who]) {
				last[who] = e.TS
			}
		}
	}
	claims, err := l.Claims()
	if err != nil {
		return nil, err
	}
	agents, _, err := l.Agents()
	if err != nil {
		return nil, err
	}
	out := []Idle{}
	for _, a := range agents {
		s, err := l.statusOf(a, readings{}.known)
		if err != nil {
			return nil, err
		}
		i := Idle{Agent: a, Pending: s.Pending, Claims: []string{}}
		at := last[a]
		if at == "" {
			state, _ := members(s.State)
			at, _ = unquote(state.get("since"))
		}
		var idle time.Duration
		if t, err := time.Parse(time.RFC3339Nano, at); err == nil {
			idle = l.now().Sub(t)
			i.LastActiveAt = &at
		}
		if idle.Hours() < days*24 {
			continue
		}
		i.IdleDays = int(idle.Hours() / 24)
		for _, c := range claims {
			if c.Agent == a {
				i.Claims = append(i.Claims, c.Path)
			}
		}
		out = append(out, i)
	}
	return out, nil
}
