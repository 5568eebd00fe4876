package catalog

import (
	"cmp"
	"path"

	"aisync.dev/aisync/schema/spec"
)

// Unknown returns how work reaches an unknown agent: it polls. The figures are
// the HAL's.
func Unknown() spec.Coordination {
	return spec.Coordination{Events: "no", Startup: "polling", GUPP: "polling", Stall: 300, Nudge: 120, NudgeBy: "filesystem"}
}

// Completed returns r with defaults for empty fields: a process has its
// command's name, hooks are manual, and work reaches it as in Unknown.
func Completed(r spec.Runtime) spec.Runtime {
	r.Hooks = cmp.Or(r.Hooks, "manual")
	if r.Command != "" && len(r.Detect.Processes) == 0 {
		r.Detect.Processes = []string{path.Base(r.Command)}
	}
	way := WayOf(r)
	r.Coordination.Startup, r.Coordination.GUPP = way.Startup, way.Rules
	r.Coordination = completed(r.Coordination)
	if r.HAL != nil {
		c := completed(*r.HAL)
		r.HAL = &c
	}
	return r
}

func completed(c spec.Coordination) spec.Coordination {
	u := Unknown()
	c.Events = cmp.Or(c.Events, u.Events)
	c.Startup = cmp.Or(c.Startup, u.Startup)
	c.GUPP = cmp.Or(c.GUPP, u.GUPP)
	c.Stall = cmp.Or(c.Stall, u.Stall)
	c.Nudge = cmp.Or(c.Nudge, u.Nudge)
	c.NudgeBy = cmp.Or(c.NudgeBy, u.NudgeBy)
	return c
}
