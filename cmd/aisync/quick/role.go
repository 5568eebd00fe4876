package quick

import (
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// RoleOf returns the role of the caller in the project of root, and its seat in the
// ledger. An error means that the role cannot be told.
type RoleOf func(c Call, root string, runtimes []spec.Runtime, table process.Table) (role, name string, err error)

// NoAgent is the role of a caller that is no agent; UnknownRole that of one that
// cannot be told.
const (
	NoAgent     = "none"
	UnknownRole = "unknown"
)

// PrintRole prints the role of the caller. It returns 0 for the role of an agent, 1
// for none, 2 where it cannot be told.
func (c Call) PrintRole() (code int, err error) {
	if c.RoleOf == nil || c.Compat || c.Field != "" {
		return 0, errElsewhere
	}
	role, name := UnknownRole, ""
	root, why := c.Root()
	if why == nil {
		var runtimes []spec.Runtime
		if runtimes, err = c.Runtimes(root); err != nil {
			return 0, err
		}
		table := c.Table
		if table == nil {
			table = process.System()
		}
		if role, name, why = c.RoleOf(c, root, runtimes, table); why != nil {
			role = UnknownRole
		}
	}
	switch role {
	case NoAgent:
		code = 1
	case UnknownRole:
		code = 2
	}
	if why != nil {
		c.say("aisync: unknown role: %s", termtext.Safe(termtext.OneLine(why.Error())))
	}
	if c.JSON {
		return code, c.writeJSON(struct {
			FormatVersion string `json:"format_version"`
			Role          string `json:"role"`
			Seat          string `json:"seat,omitempty"`
		}{FormatVersion, role, name})
	}
	c.printf("%s\n", role)
	return code, nil
}
