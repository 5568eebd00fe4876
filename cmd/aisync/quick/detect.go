package quick

import (
	"strconv"

	"aisync.dev/aisync/agents/detect"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/internal/termtext"
)

// Detect prints which runtime the caller runs in.
func (c Call) Detect() (int, error) {
	if c.Role {
		return c.PrintRole()
	}
	root, err := c.Root()
	if err != nil {
		root = "" // detect never fails: without a root no file is evidence
	}
	s := detect.Surroundings{Getenv: c.Getenv, Workspace: root, Processes: process.System()}
	if s.Runtimes, err = c.Runtimes(root); err != nil {
		return 0, err
	}
	r := detect.Detect(s)
	if c.Compat {
		r = detect.Compat(s)
	}
	switch {
	case c.Field != "":
		for _, f := range fields {
			if f.name == c.Field {
				c.printf("%s\n", f.of(r))
			}
		}
	case c.JSON:
		return 0, c.writeJSON(struct {
			FormatVersion string `json:"format_version"`
			detect.Result
		}{FormatVersion, r})
	default:
		c.detected(r)
	}
	return 0, nil
}

// fields are the values of --field.
var fields = []struct {
	name string
	of   func(detect.Result) string
}{
	{"runtime", func(r detect.Result) string { return r.Runtime }},
	{"confidence", func(r detect.Result) string { return r.Confidence }},
	{"session-id", func(r detect.Result) string {
		if r.SessionID == nil {
			return ""
		}
		return *r.SessionID
	}},
	{"hooks", func(r detect.Result) string { return r.Capabilities.Hooks }},
	{"nudge", func(r detect.Result) string { return r.Capabilities.NudgeBy }},
	{"startup", func(r detect.Result) string { return r.Startup.Strategy }},
	{"gupp", func(r detect.Result) string { return r.GUPP }},
	{"stall", func(r detect.Result) string { return strconv.Itoa(r.Stall) }},
	{"nudge-interval", func(r detect.Result) string { return strconv.Itoa(r.Nudge) }},
}

// Fields returns the names for --field.
func Fields() []string {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	return names
}

func (c Call) detected(r detect.Result) {
	c.printf("%-12s %s (confidence: %s)\n", "runtime", r.Runtime, r.Confidence)
	for _, e := range r.Evidence {
		c.printf("%-12s %s: %s says %s (%s)\n", "evidence", e.Kind, termtext.Safe(e.What), e.Runtime, e.Weight)
	}
	if r.SessionID != nil {
		c.printf("%-12s %s\n", "session", termtext.Safe(*r.SessionID))
	}
	c.printf("%-12s %s (%s)\n", "hooks", r.Capabilities.Hooks, r.Capabilities.HookLevel)
	c.printf("%-12s %s\n", "startup", r.Startup.Strategy)
	c.printf("%-12s %s\n", "gupp", r.GUPP)
	c.printf("%-12s after %d s; a nudge every %d s (%s)\n", "stalled", r.Stall, r.Nudge, r.Capabilities.NudgeBy)
	for _, w := range r.Warnings {
		c.say("aisync: %s", termtext.Safe(w))
	}
}
