// Package hook provides the command that agent programs call at their events.
package hook

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/hook"
	"aisync.dev/aisync/agents/hook/shell"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/schema/spec"
)

// preCommit is git's event beside those of agent programs.
const preCommit = "pre-commit"

// Command builds the command hook.
func Command(a *cli.App) *cobra.Command {
	var runtime string
	cmd := &cobra.Command{
		Use:   "hook EVENT",
		Short: "answer a hook of an agent program, from the project's ledger",
		Long: `Reads what a program gives its hooks on stdin, and answers in the program's form.
EVENT is one of ` + strings.Join(hook.Events[:4], ", ") + `,
` + strings.Join(hook.Events[4:], ", ") + `, of an agent team
` + strings.Join(hook.TeamEvents, ", ") + `, or pre-commit.

SessionStart tells the agent its name, who else is here, what is claimed, and
which tasks wait. UserPromptSubmit and PostToolUse bring its mail, which counts
as read once it was written. PreToolUse refuses writes to what another agent
claims, by git's merge and its like too, and claims what is edited while a second
agent is here. PostToolUse also
tells of claimed files that changed meanwhile. Stop goes on where a handoff or a
question waits. SessionEnd releases the agent's claims. The events of an agent
team become notes on the blackboard. pre-commit reads staged
paths, each ended by a zero byte, and fails where another agent claims one.

agents: ledger: true in a project's spec installs it. Without a ledger, or with
one that is unreadable, it says so on stderr and stops no agent.`,
		Example:     "  $ git diff --cached --name-only -z | aisync hook pre-commit",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.ExactArgs(1, "EVENT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			event := args[0]
			if event != preCommit && !hook.Known(event) {
				return cli.Usagef("unknown event %q: want one of %s, %s", event, strings.Join(slices.Concat(hook.Events, hook.TeamEvents), ", "), preCommit)
			}
			dir, err := a.Cwd()
			if err != nil {
				return err
			}
			c := hook.Call{
				Event: event, Runtimes: catalog.Runtimes(), Getenv: a.Env.Get, Dir: dir,
				In: a.Input(), Out: cli.Bare(a.Out), Err: a.Err, Table: process.System(), Shell: shell.Reader{Environ: a.Env.List()}, Program: hook.ThisProgram(), Now: time.Now(),
			}
			if event == preCommit {
				return cli.ExitWith(c.Commit())
			}
			i := slices.IndexFunc(c.Runtimes, func(r spec.Runtime) bool { return r.ID == runtime })
			if i < 0 {
				return cli.Usagef("--runtime %q: want the id of a program; see: aisync runtimes ls", runtime)
			}
			c.Runtime = c.Runtimes[i]
			return cli.ExitWith(c.Answer())
		},
	}
	cmd.Flags().StringVar(&runtime, "runtime", "", "the `ID` of the program that calls")
	return cmd
}
