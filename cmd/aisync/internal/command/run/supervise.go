package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/process"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/internal/termtext"
)

// KeepCommand is the argument with which a supervisor calls this program as the
// supervisor process of one worker. The help does not list it.
const KeepCommand = "__keep"

// superviseDoc is run supervise --json; see docs/json.md.
type superviseDoc struct {
	FormatVersion string `json:"format_version"`
	Run           string `json:"run"`
	Status        string `json:"status"`
	Reason        string `json:"reason,omitempty"`
}

func runSuperviseCommand(a *cli.App) *cobra.Command {
	var socket string
	cmd := &cobra.Command{
		Use:   "supervise [RUN]",
		Short: "run workers for a run's tasks until it is done or cannot proceed",
		Long: `Starts a worker for each task that is ready, up to the run's limit, with the
task's adapter: a command, or a runtime such as claude with the task as its
instruction. It waits until each worker is ready, renews the claims of running
workers, collects the results, retries failed tasks, and exits when nothing more
can start.

Workers outlive their supervisor. Stop or kill it at any time: the same command
continues, and no task is done twice. Several supervisors may share a run. A
supervisor ends a worker only after its task's timeoutSeconds, and deletes
nothing; see aisync run stop and aisync run cleanup. A worker that is silent for
the heartbeat timeout is reported and keeps its task.

A worker reads its task from AISYNC_RUN, AISYNC_TASK, AISYNC_WORKER and
AISYNC_CLAIM, and reports with aisync run worker. A process is done when it
exits with code 0, an agent in tmux when it reports that it is done.

A run that this machine did not start, as from a clone, is refused until
aisync run approve.

Exit codes: 0 the run is completed; 3 a person must act before it can continue;
4 the run is not approved; 1 it failed.`,
		Example: `  $ aisync run supervise                # the active run
  $ aisync run supervise r-20261121-074744-3fa9
  $ tmux attach -t aisync-RUN           # look at its agents at work`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MaxArgs(1),
		ValidArgsFunction: func(p0 *cobra.Command, args []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return runIDs(a, p0, args, p2)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSupervisor(cmd.Context(), a, oneRun(args), socket)
		},
	}
	cmd.Flags().StringVar(&socket, "tmux-socket", "", "run tmux workers in the server with this `NAME` or path, as for tmux -L or -S")
	return cmd
}

func runSupervisor(ctx context.Context, a *cli.App, id, socket string) error {
	r, err := openRun(a, id)
	if err != nil {
		return err
	}
	defer r.Close()
	st, err := r.State()
	if err != nil {
		return err
	}
	if !st.Over() {
		if err := checkApproved(a, r, st); err != nil {
			return err
		}
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	plans := workers(ctx, a, r, program)
	s := supervise.Supervisor{
		Run: r, Table: process.System(), Plan: approvedPlan(a, r, plans.Plan),
		Hold: a.HoldClaims(r.Workspace()),
		Say:  func(text string) { a.Say("%s", termtext.Safe(text)) },
		Starter: worker.Starter{
			Keeper: []string{program, KeepCommand}, Environ: workerEnviron(a, program), Passed: plans.Passed,
			Tmux: worker.Server{Socket: socket, Environ: a.Env.List()}, Session: "aisync-" + strings.ReplaceAll(r.ID, ".", "_"),
		},
	}
	out, err := s.Work(ctx)
	if err != nil {
		return err
	}
	if ctx.Err() != nil && out.Status == runs.RunActive {
		a.Say("its workers keep running without a supervisor; to continue: aisync run supervise %s", r.ID)
		return context.Cause(ctx)
	}
	if a.Flags.JSON {
		if err := a.WriteJSON(superviseDoc{cli.ViewVersion, r.ID, out.Status, out.Reason}); err != nil {
			return err
		}
	} else {
		text := "run " + r.ID + " is " + out.Status
		if out.Reason != "" {
			text += ": " + out.Reason
		}
		a.Printf("%s\n", termtext.Safe(text))
	}
	switch out.Status {
	case runs.RunCompleted:
		return nil
	case runs.RunActive:
		return cli.Exit(cli.ExitPartial)
	}
	return cli.Exit(cli.ExitError)
}

// workerEnviron returns the environment of workers. PATH has this program, which they
// call.
func workerEnviron(a *cli.App, program string) []string {
	path := a.Env.Get("PATH")
	if _, err := launch.LookPath("aisync", path); err == nil {
		return a.Env.List()
	}
	with := environ.Env{}
	for name, value := range a.Env {
		with[name] = value
	}
	with["PATH"] = strings.TrimPrefix(path+string(os.PathListSeparator)+filepath.Dir(program), string(os.PathListSeparator))
	return with.List()
}
