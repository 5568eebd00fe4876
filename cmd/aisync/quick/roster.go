package quick

import (
	"cmp"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/internal/termtext"
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
	r, err := roster.Others(table, root, runtimes)
	if err != nil {
		return Unknown, err
	}
	code = Alone
	if len(r.Agents) > 0 {
		code = NotAlone
	}
	if c.JSON {
		if err := c.writeJSON(struct {
			FormatVersion string `json:"format_version"`
			Alone         bool   `json:"alone"`
			roster.Roster
		}{FormatVersion, len(r.Agents) == 0, r}); err != nil {
			return Unknown, err
		}
		return code, nil
	}
	for _, o := range r.Agents {
		if c.Verbose {
			c.printf("%d %s %s %s\n", o.PID, termtext.Safe(o.Cwd), o.Runtime, cmp.Or(o.ID, "-"))
			continue
		}
		c.printf("%d %s\n", o.PID, termtext.Safe(o.Cwd))
	}
	for _, h := range r.Hidden {
		c.say("aisync: process %d (%s) belongs to another user, and its folder is unreadable", h.PID, h.Runtime)
	}
	return code, nil
}
