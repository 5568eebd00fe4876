package launch

import (
	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

// RosterCommand builds the command roster.
func RosterCommand(a *cli.App) *cobra.Command {
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

Exit code 0: nobody else; 1: somebody; 2: it could not be told, be it that the
command was not understood.
Called as agent-roster it does the same.`,
		Example:     "  $ aisync roster || echo \"somebody else is at work\"",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.Call()
			if proc != "" {
				c.Table = process.At(proc, self)
			}
			code, err := c.Roster()
			if err != nil {
				a.Report(err) // with a code of its own: an error is never "alone"
			}
			return cli.Exit(code)
		},
	}
	cmd.Flags().StringVar(&proc, "proc", "", "read the processes from `DIR` instead of /proc")
	cmd.Flags().IntVar(&self, "self", 0, "with --proc: the process `PID` that asks")
	return cmd
}
