package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/detect"
	"aisync.dev/aisync/agents/process"
)

func detectCommand(a *app) *cobra.Command {
	var compat bool
	var field string
	cmd := &cobra.Command{
		Use:   "detect",
		Short: "which agent program this runs in, how that is known, and what it can do",
		Long: `Tells the runtime that runs this command, with the evidence, and what the catalog
knows of it: hooks, session id, how an agent gets its first work, when it counts
as stalled. An explicit word wins (GT_RUNTIME, AI_RUNTIME), then what the runtime
itself sets, then the processes above, then files. GT_STALL_THRESHOLD,
GT_NUDGE_INTERVAL (seconds) and GT_GUPP_STRATEGY replace what is known, as far
as it is possible. It never fails: what cannot be told is "unknown", exit code 0.`,
		Example:     "  $ aisync detect --field runtime\n  unknown",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			s := detect.Surroundings{Getenv: a.env.get, Processes: process.System()}
			if w, err := a.atWork(); err == nil {
				s.Workspace, s.Runtimes = w.root, w.runtimes
			} else {
				s.Runtimes = a.knownRuntimes("")
			}
			r := detect.Detect(s)
			if compat {
				r = detect.Compat(s)
			}
			switch {
			case field != "":
				return a.detectField(r, field)
			case a.g.json:
				return a.writeJSON(struct {
					FormatVersion string `json:"format_version"`
					detect.Result
				}{viewVersion, r})
			}
			a.detectText(r)
			return nil
		},
	}
	cmd.Flags().BoolVar(&compat, "compat", false, "follow the runtime HAL's own cascade and table")
	cmd.Flags().StringVar(&field, "field", "", "print one `FIELD` alone: "+strings.Join(fieldNames(), ", "))
	return cmd
}

// detectFields are what a script may ask for one by one.
var detectFields = []struct {
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

func fieldNames() []string {
	var names []string
	for _, f := range detectFields {
		names = append(names, f.name)
	}
	return names
}

func (a *app) detectField(r detect.Result, name string) error {
	i := slices.IndexFunc(detectFields, func(f struct {
		name string
		of   func(detect.Result) string
	}) bool {
		return f.name == name
	})
	if i < 0 {
		return usagef("--field %q: want one of %s", name, strings.Join(fieldNames(), ", "))
	}
	a.printf("%s\n", detectFields[i].of(r))
	return nil
}

func (a *app) detectText(r detect.Result) {
	a.printf("%-12s %s (confidence: %s)\n", "runtime", r.Runtime, r.Confidence)
	for _, e := range r.Evidence {
		a.printf("%-12s %s: %s says %s (%s)\n", "evidence", e.Kind, safe(e.What), e.Runtime, e.Weight)
	}
	if r.SessionID != nil {
		a.printf("%-12s %s\n", "session", safe(*r.SessionID))
	}
	a.printf("%-12s %s (%s)\n", "hooks", r.Capabilities.Hooks, r.Capabilities.HookLevel)
	a.printf("%-12s %s\n", "startup", r.Startup.Strategy)
	a.printf("%-12s %s\n", "gupp", r.GUPP)
	a.printf("%-12s after %d s; a nudge every %d s (%s)\n", "stalled", r.Stall, r.Nudge, r.Capabilities.NudgeBy)
	for _, w := range r.Warnings {
		a.say("aisync: %s", safe(w))
	}
}
