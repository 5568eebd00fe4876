package run

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/process"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/supervise"
	"aisync.dev/aisync/agents/run/worker"
	"aisync.dev/aisync/agents/start"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
)

func runWorkerCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "the workers of a run: what they report, and how they are kept",
		Long: `A worker reports with ready, heartbeat, done and fail. Who it is stands in
AISYNC_RUN and AISYNC_CLAIM, which a supervisor gives it; another one registers
itself, and claims a task with aisync run claim. A claim that has ended is refused
(rule stale-token): what is reported then is not written down.

A person looks at workers with list, and says with retain, let-go and confirm
which are kept. None of these ends a worker: aisync run cleanup --safe does.`,
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
		workerMove(a, "retain", "keep a worker whose work is over", `Its session and log stay for inspection until let-go.`, runs.CompletedRetained, "kept for inspection"),
		workerMove(a, "let-go", "say that a worker need not be kept any longer", `It is safe-to-close then, and the next aisync run cleanup --safe ends it.`, runs.SafeToClose, "need not be kept any longer"),
		workerMove(a, "confirm", "say of a stale worker that you have looked, and that it may go", `A worker is stale-registry where what is seen of it is not what is written. That is
a diagnosis and no proof: look at its log and process first.`, runs.SafeToClose, ""), runWorkerAgent(a))
	return cmd
}

// runFlag is the run that a command is about: the one named, else the caller's,
// else the active one.
func runFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("run", "", "the `RUN`; else AISYNC_RUN, else the active one")
}

// workerDoc is one row of run worker list --json; see docs/json.md.
type workerDoc struct {
	runs.Worker
	Seen string `json:"seen,omitempty"` // what is to be seen of it now, in words
	Gone bool   `json:"gone"`           // nothing of its handle is left
}

func workerList(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "list",
		Short:       "list the workers of a run, and what is to be seen of each now",
		Long:        "Lists workers with the state that they are kept in and what is to be seen of their\nprocess or pane at this moment. It writes nothing.",
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
	docs := []workerDoc{}
	for _, w := range st.Workers {
		d := workerDoc{Worker: w}
		if w.Substrate == runs.External {
			d.Seen = "started by somebody else"
		} else if o, err := worker.Observe(process.System(), supervise.Folder(r, w.ID), w.Owner); err != nil {
			d.Seen = err.Error()
		} else {
			d.Seen, d.Gone = o.String(), o.Gone()
		}
		docs = append(docs, d)
	}
	if a.Flags.JSON {
		return a.WriteJSON(struct {
			FormatVersion string      `json:"format_version"`
			Run           string      `json:"run"`
			Workers       []workerDoc `json:"workers"`
		}{cli.ViewVersion, r.ID, docs})
	}
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, d := range docs {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", d.ID, cmp.Or(d.Registration.Task, "-"), termtext.Safe(d.Adapter)+" in "+d.Substrate, d.Retention, termtext.Safe(d.Seen))
	}
	return w.Flush()
}

func workerRegister(a *cli.App) *cobra.Command {
	var w runs.Registration
	cmd := &cobra.Command{
		Use:   "register WORKER",
		Short: "add a worker that somebody else has started",
		Long: `Adds yourself, or an agent that you started, to the run's workers, so that it can
claim tasks. aisync never ends such a worker. --worktree has to lie in the
workspace or in the run's folder of worktrees.`,
		Example:     "  $ aisync run worker register me --adapter manual && aisync run claim TASK --worker me",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.ExactArgs(1, "the worker"),
	}
	id := runFlag(cmd)
	fs := cmd.Flags()
	fs.StringVar(&w.Adapter, "adapter", start.Manual, "a runtime's `ID`, or manual")
	fs.StringVar(&w.Task, "task", "", "the only `TASK` that it may claim")
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

// confined returns a folder without links, if it lies in one of roots.
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
	return "", fmt.Errorf("worktree %s: it lies neither in the workspace nor in the run's folder of worktrees: %s", dir, strings.Join(roots, ", "))
}

// reporting is a command of a worker about its claim.
func reporting(a *cli.App, use, short, long string, do func(r *runs.Run, token string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
	}
	id := runFlag(cmd)
	token := cmd.Flags().String("token", "", "the claim's `TOKEN`; else AISYNC_CLAIM")
	cmd.RunE = func(*cobra.Command, []string) error {
		claim := cmp.Or(*token, a.Env.Get(supervise.VarClaim))
		if claim == "" {
			u := cli.Usagef("whose claim is it? There is no AISYNC_CLAIM, which a supervisor gives its workers")
			u.Advice = "the same command with --token, as aisync run claim printed it"
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
	cmd := reporting(a, "heartbeat", "renew the claim of this worker", `Renews the claim's lease. A worker of a supervisor need not: that it lives is seen.
Another one has to: when its lease is over, its task is free for others.`,
		func(r *runs.Run, token string) error { return r.Renew(token, lease) })
	cmd.Flags().DurationVar(&lease, "lease", 0, "for how long, such as `15m`; else the run's own")
	return cmd
}

func workerDone(a *cli.App) *cobra.Command {
	return reporting(a, "done", "report that this worker's task is done", `Completes the task, if all the evidence is there that it asks for. The worker itself
goes on, and is kept for inspection.`,
		func(r *runs.Run, token string) error { return r.Complete(token) })
}

func workerFail(a *cli.App) *cobra.Command {
	var reason string
	cmd := reporting(a, "fail", "report that this attempt at the task has failed", `Ends the attempt. The task is tried again by another worker, as often as the run
allows. Say it of another's worker only when that one has stopped work on it.`,
		func(r *runs.Run, token string) error {
			if strings.TrimSpace(reason) == "" {
				return cli.Usagef("fail needs --reason: whoever tries again should know")
			}
			return r.Fail(token, reason)
		})
	cmd.Flags().StringVar(&reason, "reason", "", "`WHY` it has failed")
	return cmd
}

// workerMove is a word of a person about how a worker is kept.
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
	cmd.Flags().StringVar(&why, "reason", reason, "`WHY`")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if strings.TrimSpace(why) == "" {
			return cli.Usagef("%s needs --reason: say what you saw", use)
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
			return fmt.Errorf("worker %s is %s: %s is not for it", id, w.Retention, use)
		}
		return c.Move(id, runs.Move{To: to, By: runs.ByOperator, Reason: why})
	})
}
