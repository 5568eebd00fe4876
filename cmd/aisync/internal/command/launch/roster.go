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
		Use:   "roster [DIR]",
		Short: "list the other agents that run in this project",
		Long: `Lists the agents whose working folder is in this project, one per line: the
process and its folder, with --verbose also the runtime and the id. It leaves
out the calling agent with its parent and child processes. The project is the
nearest folder with .ai/protocols.org, else the git work tree, else the folder
itself, upwards from DIR or from the working folder. It reads the process table each time, and the records of agents that it
cannot see there.

Exit code 0: no other agents; 1: other agents; 2: unknown, as in a sandbox that
hides them, or a usage error.
Called as agent-roster, the program runs this command.`,
		Example:     "  $ aisync roster || echo \"other agents are at work\"",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.MaxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.CallIn(args)
			if err != nil {
				return err
			}
			if proc != "" {
				c.Table = process.At(proc, self)
			}
			code, err := c.Roster()
			if err != nil {
				a.Report(err) // exits with 2: an error is never "no other agents"
			}
			return cli.Exit(code)
		},
	}
	cmd.Flags().StringVar(&proc, "proc", "", "read the processes from `DIR` instead of /proc")
	cmd.Flags().IntVar(&self, "self", 0, "with --proc: take process `PID` for the caller")
	return cmd
}
