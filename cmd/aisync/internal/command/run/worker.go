package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/process"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/start"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
)

func runWorkerCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "list the workers of a run, report as one, and decide which to keep",
		Long: `A worker reports with ready, heartbeat, done and fail. A supervisor sets its
identity in AISYNC_RUN and AISYNC_CLAIM; any other worker registers itself and
claims a task with aisync run claim. Reports with an ended claim are refused
(rule stale-token) and not recorded.

A person inspects workers with list, and decides with retain, let-go and confirm
which to keep. None of these commands ends a worker; aisync run stop does, and
aisync run cleanup --safe for finished ones.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(workerList(a), workerRegister(a), workerReady(a), workerHeartbeat(a), workerDone(a), workerFail(a),
		workerMove(a, "retain", "keep a finished worker", `Keeps its session and log for inspection until let-go.`, runs.CompletedRetained, "kept for inspection"),
		workerMove(a, "let-go", "stop keeping a worker", `Marks the worker as safe-to-close: the next aisync run cleanup --safe ends it.`, runs.SafeToClose, "need not be kept any longer"),
		workerMove(a, "confirm", "confirm that a stale worker may be removed", `A worker is stale-registry if its process differs from the record. That is a
hint and no proof: check its log and process first.`, runs.SafeToClose, ""), runWorkerAgent(a))
	return cmd
}

// runFlag registers --run.
func runFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("run", "", "the `RUN` (default: AISYNC_RUN, else the active run)")
}

// workerDoc is one row of run worker list --json; see docs/json.md.
type workerDoc struct {
	runs.Worker
	Seen string `json:"seen,omitempty"` // its process or pane now, in words
	Gone bool   `json:"gone"`           // neither process nor pane is left
	// Sandbox says that it has the rights of a sandbox, not the person's.
	Sandbox bool `json:"sandbox,omitempty"`
	// Left are the processes that it started and that outlived it.
	Left []worker.Leftover `json:"left,omitempty"`
}

func workerList(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "list",
		Aliases:     []string{"ls"},
		Short:       "list the workers of a run and their processes",
		Long:        "Lists workers with their states and the present state of their process or pane. It\nwrites nothing.",
		Example:     "  $ aisync run worker list\n  $ aisync run worker list --json",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
	}
	id := runFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		return onState(a, *id, func(r *runs.Run, st *runs.State) error { return listWorkers(a, r, st) })
	}
	return cmd
}

func listWorkers(a *cli.App, r *runs.Run, st *runs.State) error {
	docs, markers := []workerDoc{}, []string(nil)
	for _, w := range st.Workers {
		d := workerDoc{Worker: w}
		if w.Substrate == runs.External {
			d.Seen = "not started by a supervisor"
		} else if o, err := worker.Observe(process.System(), supervise.Folder(r, w.ID), w.Owner); err != nil {
			d.Seen = err.Error()
		} else {
			d.Seen, d.Gone, d.Sandbox = o.String(), o.Gone(), o.Job != nil && o.Job.Sandbox
			if o.Keeper == worker.Gone {
				markers = append(markers, w.Owner)
			}
		}
		docs = append(docs, d)
	}
	left := worker.Leftovers(process.System(), markers...)
	for i := range docs {
		docs[i].Left = left[docs[i].Owner]
	}
	if a.Flags.JSON {
		return a.WriteJSON(struct {
			FormatVersion string      `json:"format_version"`
			Run           string      `json:"run"`
			Workers       []workerDoc `json:"workers"`
		}{cli.ViewVersion, r.ID, docs})
	}
	w := a.Table()
	for _, d := range docs {
		if len(d.Left) > 0 {
			d.Seen += "; still running: " + worker.Names(d.Left)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", d.ID, cmp.Or(d.Registration.Task, "-"), termtext.Safe(d.Adapter)+" in "+whereOf(d.Substrate, d.Sandbox), d.Retention, termtext.Safe(d.Seen))
	}
	return w.Flush()
}

func workerRegister(a *cli.App) *cobra.Command {
	var w runs.Registration
	cmd := &cobra.Command{
		Use:   "register WORKER",
		Short: "add a worker that no supervisor started",
		Long: `Adds you, or an agent that you started, to the workers of a run, to claim tasks.
aisync never ends such a worker. --worktree must be in the workspace or in the
run's folder of worktrees.`,
		Example:     "  $ aisync run worker register me --adapter manual && aisync run claim TASK --worker me",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.ExactArgs(1, "the worker"),
	}
	id := runFlag(cmd)
	fs := cmd.Flags()
	fs.StringVar(&w.Adapter, "adapter", start.Manual, "the adapter: a runtime's `ID`, or manual")
	fs.StringVar(&w.Task, "task", "", "allow it to claim only `TASK`")
	fs.StringVar(&w.Worktree, "worktree", "", "the `FOLDER` it works in")
	fs.StringVar(&w.Branch, "branch", "", "the git `BRANCH` it works on")
	fs.StringVar(&w.AgentID, "agent", a.Env.Get("AI_AGENT_ID"), "the agent's `ID`")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		return onState(a, *id, func(r *runs.Run, st *runs.State) (err error) {
			if w.Worktree, err = confined(w.Worktree, r.Workspace(), st.Settings().WorktreeRoot); err != nil {
				return err
			}
			w.Substrate = runs.External
			if err := r.Register(args[0], w); err != nil {
				return err
			}
			a.Printf("%s\n", args[0])
			return nil
		})
	}
	return cmd
}

// confined returns dir with links resolved, or an error if it is in none of roots.
func confined(dir string, roots ...string) (string, error) {
	if dir == "" {
		return "", nil
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", fmt.Errorf("worktree: %w", err)
	}
	for _, root := range roots {
		if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) {
			return abs, nil
		}
	}
	return "", fmt.Errorf("worktree %s is neither in the workspace nor in the run's folder of worktrees: %s", dir, strings.Join(roots, ", "))
}

// reporting returns a command with which a worker reports about its claim.
func reporting(a *cli.App, use, short, long string, do func(r *runs.Run, token string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
	}
	id := runFlag(cmd)
	token := cmd.Flags().String("token", "", "the claim's `TOKEN` (default: AISYNC_CLAIM)")
	cmd.RunE = func(*cobra.Command, []string) error {
		claim := cmp.Or(*token, a.Env.Get(supervise.VarClaim))
		if claim == "" {
			u := cli.Usagef("missing --token: AISYNC_CLAIM, which a supervisor sets for its workers, is not set")
			u.Advice = "the same command with --token and the token that aisync run claim printed"
			return u
		}
		return onRun(a, *id, func(r *runs.Run) error { return do(r, claim) })
	}
	return cmd
}

func workerReady(a *cli.App) *cobra.Command {
	return reporting(a, "ready", "report that this worker takes input", "Reports that the worker is ready for its task.",
		func(r *runs.Run, token string) error { return r.Ready(token) })
}

func workerHeartbeat(a *cli.App) *cobra.Command {
	var lease time.Duration
	cmd := reporting(a, "heartbeat", "renew the claim of this worker", `Renews the claim's lease, and shows that the worker does not hang: a supervised
one that neither sends heartbeats nor prints for the run's heartbeat timeout is
reported. A supervisor renews the leases of the workers that it started. Any
other worker must renew: when its lease is over, other workers can take its
task.`,
		func(r *runs.Run, token string) error { return r.Renew(token, lease) })
	cmd.Flags().DurationVar(&lease, "lease", 0, "hold it for `TIME`, such as 15m (default: the run's lease)")
	return cmd
}

func workerDone(a *cli.App) *cobra.Command {
	return reporting(a, "done", "report that this worker's task is done", `Completes the task if all the evidence it needs is there. What an agent left
uncommitted in its work tree is committed first, and its diff is evidence; an
agent that wrote nothing is refused. The worker keeps running and is kept for
inspection.`,
		func(r *runs.Run, token string) error {
			work, err := supervise.Done(context.WithoutCancel(a.Signals), r, token)
			if err == nil && work.Saved > 0 {
				a.Say("committed the files that were left uncommitted: %d", work.Saved)
			}
			return err
		})
}

func workerFail(a *cli.App) *cobra.Command {
	var reason string
	cmd := reporting(a, "fail", "report that this attempt at the task has failed", `Ends the attempt. Another worker retries the task, as often as the run allows.
Report for another worker only after it has stopped working on the task.`,
		func(r *runs.Run, token string) error {
			if strings.TrimSpace(reason) == "" {
				return cli.Usagef("fail needs --reason, for the next attempt")
			}
			return r.Fail(token, reason)
		})
	cmd.Flags().StringVar(&reason, "reason", "", "record `WHY` it failed")
	return cmd
}

// workerMove returns a command with which a person sets the state of workers.
func workerMove(a *cli.App, use, short, long string, to runs.Retention, reason string) *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:         use + " WORKER...",
		Short:       short,
		Long:        long,
		Example:     "  $ aisync run worker " + use + " build.1 --reason 'looked at its log'",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cobra.MinimumNArgs(1),
	}
	id := runFlag(cmd)
	cmd.Flags().StringVar(&why, "reason", reason, "record the reason `WHY`")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if strings.TrimSpace(why) == "" {
			return cli.Usagef("%s needs --reason: describe what you saw", use)
		}
		return onRun(a, *id, func(r *runs.Run) (errs error) {
			for _, w := range args {
				errs = errors.Join(errs, moveWorker(a, r, w, use, to, why))
			}
			return errs
		})
	}
	return cmd
}

func moveWorker(a *cli.App, r *runs.Run, id, use string, to runs.Retention, why string) error {
	return r.Change(func(c *runs.Change) error {
		w := c.State.Worker(id)
		switch {
		case w == nil:
			return advice.Command(fmt.Errorf("run %s has no worker %q", r.ID, id), "aisync run worker list")
		case (w.Retention == runs.StaleRegistry) != (use == "confirm"):
			return fmt.Errorf("worker %s is %s: %s does not apply to it", id, w.Retention, use)
		}
		return c.Move(id, runs.Move{To: to, By: runs.ByOperator, Reason: why})
	})
}
