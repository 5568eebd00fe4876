package main

import (
	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/roster"
)

func rosterCommand(a *app) *cobra.Command {
	var proc string
	var self int
	cmd := &cobra.Command{
		Use:   "roster",
		Short: "the other agents that are alive in this project",
		Long: `Lists the agents whose working folder is this project or lies in it: a line an
agent, its process and its folder, and with --verbose its runtime and id. The
agent that asks, the processes above it and what it has started do not count.
The project is the nearest folder with .ai/protocols.org, else the git work
tree, else the folder itself. It keeps no list: it looks at the processes.

Exit code 0: nobody else; 1: somebody; 2: it could not be told.
Called as agent-roster it does the same.`,
		Example:     "  $ aisync roster || echo \"somebody else is at work\"",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			table := process.System()
			if proc != "" {
				table = process.At(proc, self)
			}
			return exit(a.roster(table))
		},
	}
	cmd.Flags().StringVar(&proc, "proc", "", "read the processes from `DIR` instead of /proc")
	cmd.Flags().IntVar(&self, "self", 0, "with --proc: the process `PID` that asks")
	return cmd
}

// Exit codes of roster, which scripts know.
const (
	rosterAlone    = 0
	rosterNotAlone = 1
	rosterUnknown  = 2
)

// roster prints the others and returns the exit code: an error is never "alone".
func (a *app) roster(table process.Table) int {
	w, err := a.atWork()
	if err != nil {
		a.report(err)
		return rosterUnknown
	}
	w.table = table
	r, err := w.others()
	if err != nil {
		a.report(err)
		return rosterUnknown
	}
	code := rosterAlone
	if len(r.Agents) > 0 {
		code = rosterNotAlone
	}
	if a.g.json {
		if err := a.writeJSON(struct {
			FormatVersion string `json:"format_version"`
			Alone         bool   `json:"alone"`
			roster.Roster
		}{viewVersion, len(r.Agents) == 0, r}); err != nil {
			return rosterUnknown
		}
		return code
	}
	for _, o := range r.Agents {
		if a.g.verbose {
			a.printf("%d %s %s %s\n", o.PID, safe(o.Cwd), o.Runtime, firstOf(o.ID, "-"))
			continue
		}
		a.printf("%d %s\n", o.PID, safe(o.Cwd))
	}
	for _, h := range r.Hidden {
		a.say("aisync: process %d (%s) is another user's, and its folder may not be looked at", h.PID, h.Runtime)
	}
	return code
}
