package catalog

import (
	"cmp"

	"aisync.dev/aisync/schema/spec"
)

// The strategies by which work, and the rules of working together, reach an agent.
// The names are the runtime HAL's.
const (
	HookInjection   = "hook_injection"   // its hooks give the text to its model
	StartupFallback = "startup_fallback" // the launcher starts it with the text
	PromptPreamble  = "prompt_preamble"  // the launcher types the text as its first prompt
	Polling         = "polling"          // its instructions tell it to look by itself
)

// Way is how work reaches an agent of a program.
type Way struct {
	Startup string // its first work
	Rules   string // the rules of working together
}

// WayOf decides, for the launcher, the detection, pings and documents alike: hooks
// where the text of one reaches the model; else the start of the program, which an
// agent gets that ai starts; else polling. A runtime of a spec may say otherwise.
func WayOf(r spec.Runtime) Way {
	w := Way{Polling, Polling}
	form, ok := HookFormOf(r.ProgramID())
	switch {
	case ok && (form.TellsAt("SessionStart") || form.TellsAt("UserPromptSubmit")):
		w = Way{HookInjection, HookInjection}
	case len(r.Launch.Interactive) > 0:
		w = Way{StartupFallback, StartupFallback}
	case r.Command != "":
		w = Way{StartupFallback, PromptPreamble}
	}
	return Way{cmp.Or(r.Coordination.Startup, w.Startup), cmp.Or(r.Coordination.GUPP, w.Rules)}
}

// WithoutHooks returns the way of a program in a project that has no hooks for it.
func WithoutHooks(r spec.Runtime) Way {
	r.ID, r.Extends = "", "" // HookFormOf knows none
	if r.Coordination.Startup == HookInjection {
		r.Coordination.Startup = ""
	}
	if r.Coordination.GUPP == HookInjection {
		r.Coordination.GUPP = ""
	}
	return WayOf(r)
}
