package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/process"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/termtext"
)

// stopDoc is run stop --json; see docs/json.md.
type stopDoc struct {
	FormatVersion string              `json:"format_version"`
	Run           string              `json:"run"`
	Status        string              `json:"status"` // of the run, after it
	Workers       []supervise.Stopped `json:"workers"`
}

func runStopCommand(a *cli.App) *cobra.Command {
	var all bool
	var reason string
	cmd := &cobra.Command{
		Use:   "stop WORKER...",
		Short: "end workers at work, and do not start their tasks again",
		Long: `Asks running workers to end, kills them after 5 seconds, and records that their
tasks have failed because they were stopped. Supervisors, which may be running,
do not start these tasks again; a person can claim them. It ends only workers
whose process or pane is verified to be the one started for them, as run cleanup
does, and deletes nothing. A worker that ends with code 0 when it is asked to
has not done its task.

--all stops all workers of the run and ends the run as cancelled. Supervisors
start nothing more in it.

It exits 1 if a worker was not stopped.`,
		Example:     "  $ aisync run stop build.1\n  $ aisync run stop --all --reason 'the plan has changed'",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cobra.ArbitraryArgs,
	}
	id := runFlag(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "stop all workers, and end the run as cancelled")
	cmd.Flags().StringVar(&reason, "reason", "stopped by hand", "record the reason `WHY`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case all && len(args) > 0:
			return cli.Usagef("run stop: --all takes no worker: it stops all of them")
		case !all && len(args) == 0:
			return &cli.UsageError{Text: "run stop: missing WORKER, or --all", Advice: "aisync run worker list"}
		case strings.TrimSpace(reason) == "":
			return cli.Usagef("run stop: --reason is empty: say why")
		}
		return onRun(a, *id, func(r *runs.Run) error { return stopWorkers(cmd.Context(), a, r, args, reason) })
	}
	return cmd
}

// stopWorkers stops the workers ids, or without ids all of them and the run.
func stopWorkers(ctx context.Context, a *cli.App, r *runs.Run, ids []string, reason string) error {
	s := supervise.Supervisor{Run: r, Table: process.System()}
	var done []supervise.Stopped
	var failed error
	if len(ids) > 0 {
		slices.Sort(ids)
		done, failed = s.Stop(ctx, slices.Compact(ids), reason)
	} else {
		done, failed = s.StopAll(ctx, reason)
	}
	st, err := r.State()
	if err != nil {
		return errors.Join(failed, err)
	}
	if a.Flags.JSON {
		err = a.WriteJSON(stopDoc{cli.ViewVersion, r.ID, st.Contract.Status, cli.OrEmpty(done)})
	} else {
		printStopped(a, r, st, done, len(ids) == 0)
	}
	if err := errors.Join(failed, err); err != nil {
		return err
	}
	if slices.ContainsFunc(done, func(d supervise.Stopped) bool { return !d.Done }) {
		return cli.Exit(cli.ExitError)
	}
	return nil
}

func printStopped(a *cli.App, r *runs.Run, st *runs.State, done []supervise.Stopped, all bool) {
	w := a.Table()
	for _, d := range done {
		word, note := "stopped", d.Seen
		if !d.Done {
			word = "not stopped"
		}
		if d.Error != "" {
			note = d.Error
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", word, termtext.Safe(d.Worker), termtext.Safe(note))
	}
	w.Flush()
	switch {
	case all:
		a.Printf("run %s is %s\n", r.ID, st.Contract.Status)
	case st.Contract.Status == runs.RunActive:
		a.Hint("To end the run: aisync run finish %s --as cancelled --reason WHY", r.ID)
	}
}
