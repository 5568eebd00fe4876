package quick

import (
	"cmp"
	"strings"

	"aisync.dev/aisync/agents/detect"
	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// Exit codes of Roster, which scripts know.
const (
	Alone    = 0
	NotAlone = 1
	Unknown  = 2 // an error: that is never "alone"
)

// Roster prints the other agents of the project.
func (c Call) Roster() (code int, err error) {
	root, err := c.Root()
	if err != nil {
		return Unknown, err
	}
	runtimes, err := c.Runtimes(root)
	if err != nil {
		return Unknown, err
	}
	table := c.Table
	if table == nil {
		table = process.System()
	}
	r := roster.Look(table, root, runtimes, c.Caller(runtimes))
	switch {
	case len(r.Agents) > 0:
		code = NotAlone
	case r.Alone():
		code = Alone
	default:
		code = Unknown
	}
	if c.JSON {
		if err := c.writeJSON(struct {
			FormatVersion string `json:"format_version"`
			Alone         bool   `json:"alone"`
			roster.Roster
		}{rosterVersion, r.Alone(), r}); err != nil {
			return Unknown, err
		}
		return code, nil
	}
	for _, o := range r.Agents {
		if c.Verbose {
			seat := ""
			if o.Seat != "" {
				seat = " " + termtext.Safe(o.Seat)
			}
			c.printf("%d %s %s %s%s\n", o.PID, termtext.Safe(o.Cwd), o.Runtime, cmp.Or(o.ID, "-"), seat)
			continue
		}
		c.printf("%d %s\n", o.PID, termtext.Safe(o.Cwd))
	}
	for _, why := range r.Doubts() {
		c.say("aisync: there may be more agents here: %s", termtext.Safe(why))
	}
	return code, nil
}

// rosterVersion is the format_version of the roster: 1.1 has doubtful, unknown
// and outside, 1.2 seat.
const rosterVersion = "1.2"

// Caller returns a function that says what the environment tells of the calling
// agent.
func (c Call) Caller(runtimes []spec.Runtime) func() keeper.Caller {
	return func() keeper.Caller {
		out := keeper.Caller{ID: strings.TrimSpace(c.Getenv(identity.VarID)), Launch: c.Getenv(identity.VarLaunch)}
		r := detect.Detect(detect.Surroundings{Getenv: c.Getenv, Processes: process.System(), Runtimes: runtimes})
		if r.SessionID != nil {
			out.Session = *r.SessionID
		}
		return out
	}
}
