package ledger

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"aisync.dev/aisync/agents/ledger/jsontext"
	"aisync.dev/aisync/agents/ledger/trail"
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
	Problem         string          `json:"problem,omitempty"` // why State is empty, or the inbox is: it is unreadable

	inbox error // the inbox is unreadable
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
	s.Worktrees = claims.Compact()
	return s, l.audit("status")
}

// version returns the version in config.yaml: a number where it is one. Without
// the file, or without a version in it, it is this program's.
func (l *Ledger) version() (json.RawMessage, error) {
	text, err := l.read(configFile)
	if err != nil {
		return nil, err
	}
	v, ok := config(string(text))["version"]
	switch {
	case !ok:
		return json.RawMessage(strconv.Itoa(Version)), nil
	case v != "" && strings.Trim(v, "0123456789") == "":
		return json.RawMessage(strings.TrimLeft(v[:len(v)-1], "0") + v[len(v)-1:]), nil
	}
	return json.RawMessage(jsontext.Quote(v)), nil
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
	// What is broken of one agent hides no other's messages.
	state, err := l.State(agent)
	if err != nil {
		s.Problem = err.Error()
	}
	last := ""
	if state != nil {
		object, _ := jsontext.Parse(state) // State has checked it
		s.State = object.Compact()
		last, _ = jsontext.Unquote(object.Get("lastReadAt"))
	}
	if err := l.countInbox(&s, last); err != nil {
		s.inbox, s.Problem = err, err.Error()
	}
	if last == "" && s.Pending > 0 {
		read, err := reads()
		if err != nil {
			return s, err
		}
		if last = read[agent]; last != "" {
			if err := l.countInbox(&s, last); err != nil {
				s.inbox, s.Problem = err, err.Error()
			}
		}
	}
	if last != "" {
		s.LastReadAt = &last
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
	OpenMessages *OpenMessages   `json:"openMessages"`
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
	defer s.Overview.Close() // a page has all messages, from Messages
	if s.Moments, err = l.Timeline(0); err != nil {
		return s, err
	}
	if s.Messages, err = l.Messages(0, false); err != nil {
		return s, err
	}
	s.Board, err = l.Board()
	return s, err
}

// Overview reads the audit trail once, and includes the last limit events. Its
// memory grows with the number of open messages, not with their texts: those it
// reads again where they are used, until Close. It leaves no trace.
func (l *Ledger) Overview(limit int) (o Overview, err error) {
	o = Overview{Root: l.Root, Pending: []AgentStatus{}, Unread: []AgentStatus{}, Stale: []AgentStatus{}, Claims: []Claim{}, Recent: []Moment{}}
	if o.Version, err = l.version(); err != nil {
		return o, err
	}
	reads, recent := readings{}, ring[recentLine]{size: limit}
	if o.OpenMessages, err = l.openMessages(func(line trail.Line, f *trail.Fields, bad error) {
		recent.add(recentLine{line.Place, line.Number})
		if bad != nil {
			o.Malformed++
			return
		}
		reads.add(f)
	}); err != nil {
		return o, err
	}
	defer func() {
		if err != nil {
			o.Close()
		}
	}()
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
	w := trail.Window{Trail: o.OpenMessages.trail}
	for at := range recent.all() {
		text, err := w.Line(at.place)
		if err != nil {
			return o, err
		}
		e := trail.Parse(slices.Clone(text))
		e.File, e.Line = w.Name(at.place), at.number
		o.Recent = append(o.Recent, momentOf(e))
	}
	return o, nil
}

// recentLine is a line of the trail that is read again.
type recentLine struct {
	place  trail.Place
	number int
}

// Close ends the use of OpenMessages.
func (o Overview) Close() error { return o.OpenMessages.Close() }

// Moment is one line of a timeline.
type Moment struct {
	TS      string          `json:"ts"`
	Action  string          `json:"action"`
	Summary string          `json:"summary"`
	Record  json.RawMessage `json:"record"`
}

// Timeline returns the last limit events (0: all) in words.
func (l *Ledger) Timeline(limit int) ([]Moment, error) {
	r := ring[Event]{size: limit}
	for e, err := range l.Events() {
		if err != nil {
			return nil, err
		}
		e.Raw = slices.Clone(e.Raw)
		r.add(e)
	}
	out := []Moment{}
	for e := range r.all() {
		out = append(out, momentOf(e))
	}
	return out, nil
}

// ring keeps the last size values; all of them where size is not positive.
type ring[T any] struct {
	size   int
	next   int
	values []T
}

func (r *ring[T]) add(v T) {
	if r.size <= 0 || len(r.values) < r.size {
		r.values = append(r.values, v)
		return
	}
	r.values[r.next] = v
	r.next = (r.next + 1) % r.size
}

// all yields the values in the order in which they came.
func (r *ring[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range r.values {
			if !yield(r.values[(r.next+i)%len(r.values)]) {
				return
			}
		}
	}
}

func momentOf(e Event) Moment {
	if e.Malformed != nil {
		return Moment{Action: "malformed", Summary: fmt.Sprintf("%s:%d is not a record: %v", e.File, e.Line, e.Malformed), Record: e.Record()}
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
			state, _ := jsontext.Parse(s.State)
			at, _ = jsontext.Unquote(state.Get("since"))
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
