// Package run provides the command run and its subcommands.
package run

import (
	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

// Command builds the command run.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "record and supervise the work of agents on a graph of tasks",
		Long: `A run is work on a graph of tasks, recorded in .ilchul/. After a crash, or a
week later, the record tells which workers run, which are kept on purpose and
which are leaks. start records a run; supervise works on it. The events of a run
are an append-only log with checksums, from which everything else is derived.
Only stop, and a task's timeoutSeconds, end workers at work; cleanup --safe ends
finished ones and removes expired logs.`,
		Example: `  $ aisync run init
  $ aisync run start --goal "port the parser" --graph tasks.json
  $ aisync run supervise
  $ aisync run status`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(runInitCommand(a), runStartCommand(a), runApproveCommand(a), runSuperviseCommand(a), runListCommand(a), runShowCommand(a), runStatusCommand(a), runReportCommand(a),
		runEventsCommand(a), runEvidenceCommand(a), runWorkerCommand(a), runClaimCommand(a), runRenewCommand(a), runReleaseCommand(a),
		runStopCommand(a), runFinishCommand(a), runCleanupCommand(a), runRecoverCommand(a))
	return cmd
}

// oneRun returns the run that the optional argument names, or "".
func oneRun(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return ""
}

// runIDs completes the runs of the workspace.
func runIDs(a *cli.App, _ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	a.Flags.Quiet = true
	store, err := openRuns(a)
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ids, _, _ := store.Runs()
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// printResult prints doc as JSON, or a line of text.
func printResult(a *cli.App, doc any, format string, args ...any) error {
	if a.Flags.JSON {
		return a.WriteJSON(doc)
	}
	a.Printf(format+"\n", args...)
	return nil
}
