package hook

import (
	"os"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// caller returns the program that calls: c.Runtime, or one that also calls the hooks
// of that one. Of both, one may have started the other, which inherits its variables:
// then the nearest process tells, where it is visible.
func (c *Call) caller() spec.Runtime {
	for _, rt := range c.Runtimes {
		if !catalog.CallsHooksOf(rt, c.Runtime) || !c.marked(rt) {
			continue
		}
		for _, p := range process.Ancestors(c.Table, c.Table.Self()) {
			switch roster.Match(p, c.Runtimes) {
			case rt.ID:
				return rt
			case c.Runtime.ID:
				return c.Runtime
			}
		}
		if !c.marked(c.Runtime) {
			return rt
		}
	}
	return c.Runtime
}

// marked reports whether a variable that only a program sets is there.
func (c *Call) marked(rt spec.Runtime) bool {
	return slices.ContainsFunc(rt.Detect.Markers, func(m spec.Marker) bool {
		value := c.Getenv(m.Name)
		return m.Strength == "proof" && value != "" && (m.Value == "" || m.Value == value) && strings.HasPrefix(value, m.Prefix)
	})
}

// calls reports whether a program has its own hook here for the event.
func (c *Call) calls(rt spec.Runtime) bool {
	if rt.Project.Events == nil {
		return false
	}
	for _, dir := range []string{c.root, c.ledger.Base()} {
		text, err := os.ReadFile(path.Join(dir, rt.Project.Events.Path))
		if err == nil && strings.Contains(string(text), catalog.HookCommand(c.Event, rt.ID)) {
			return true
		}
	}
	return false
}
