package catalog

import (
	"cmp"
	"path"

	"aisync.dev/aisync/schema/spec"
)

// Unknown is how work reaches an agent of which nothing is known: it looks
// for it now and then. The figures are the HAL's.
func Unknown() spec.Coordination {
	return spec.Coordination{Events: "no", Startup: "polling", GUPP: "polling", Stall: 300, Nudge: 120, NudgeBy: "filesystem"}
}

// Completed is r with what follows from the rest where it says nothing: a
// process is named like its command, hooks are somebody's own business, and
// work reaches it as it reaches Unknown.
func Completed(r spec.Runtime) spec.Runtime {
	r.Hooks = cmp.Or(r.Hooks, "manual")
	if r.Command != "" && len(r.Detect.Processes) == 0 {
		r.Detect.Processes = []string{path.Base(r.Command)}
	}
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
