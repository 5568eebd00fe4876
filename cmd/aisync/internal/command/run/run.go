// Package run is the command run and those below it.
package run

import (
	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

// Command builds the command run.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "recorded, supervised work: tasks, workers, claims, events and evidence",
		Long: `A run is work on a graph of tasks, written down in .ilchul/ so that after a crash
or a week later it can be told which workers live, which are kept on purpose, and
which are leaks. start records a run; supervise works it. The events of a run are
its truth: they are only appended to, each with a checksum, and everything else is
made from them. Nothing is closed but by cleanup --safe, and nothing is deleted.`,
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
	cmd.AddCommand(runInitCommand(a), runStartCommand(a), runSuperviseCommand(a), runListCommand(a), runShowCommand(a), runStatusCommand(a), runReportCommand(a),
		runEventsCommand(a), runEvidenceCommand(a), runWorkerCommand(a), runClaimCommand(a), runRenewCommand(a), runReleaseCommand(a),
		runFinishCommand(a), runCleanupCommand(a), runRecoverCommand(a))
	return cmd
}

// oneRun takes the only argument of a command for the run that it is about.
func oneRun(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return ""
}

// runIDs completes to the runs of the workspace.
func runIDs(a *cli.App, _ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	a.Flags.Quiet = true
	store, err := openRuns(a)
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ids, _, _ := store.Runs()
	return ids, cobra.ShellCompDirectiveNoFileComp
}
