package task

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aisync.dev/aisync/agents/sandbox"
	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	launchcmd "aisync.dev/aisync/cmd/aisync/internal/command/launch"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// runFlags holds the flags of run and run-once.
type runFlags struct {
	base, push, trees, executor string
	show                        []string
	unsafe, trust               bool
	back                        backFlags
}

func (r *runFlags) in(f *pflag.FlagSet) {
	f.StringVar(&r.base, "base", "", "start from this `BRANCH` or commit (default: origin's default branch, else main or master)")
	f.StringVar(&r.push, "push", "", "push the branch of each finished task to `REMOTE`")
	f.StringVar(&r.executor, "executor", "", "carry out steps in words with the runtime `ID`, or endpoint (default: chosen for each task)")
	f.StringVar(&r.trees, "work-trees", "", "put work trees into `DIR` (default: in aisync's state)")
	f.StringArrayVar(&r.show, "show", nil, "let commands of tasks read `PATH`, a file or folder that the sandbox does not show; may be repeated")
	f.BoolVar(&r.trust, "trust", false, "approve what it would carry out, as the files are now")
	f.BoolVar(&r.unsafe, "unsafe-no-sandbox", false, "run commands of tasks with all your permissions; the report says so")
	r.back.in(f)
}

// taskRunner returns the runner for the tasks of q with the settings of f.
func taskRunner(ctx context.Context, a *cli.App, q task.Queue, f runFlags) (task.Runner, error) {
	p, err := a.HostPlaces()
	if err != nil {
		return task.Runner{}, err
	}
	if u, err := url.Parse(f.push); err == nil && u.User != nil && strings.HasPrefix(u.Scheme, "http") {
		return task.Runner{}, cli.Usagef("--push: a URL with a user name or a token would appear in every report; use a remote, and keep the token in git's credential helper")
	}
	home := p.Physical(p.Home)
	r := task.Runner{
		Queue: q, Base: f.base, Push: f.push, Unsafe: f.unsafe, Home: home, Trees: p.Physical(p.State.Join("work-trees")), Out: a.Err,
		Show: sandbox.Toolchains(home),
	}
	cwd, err := a.Cwd()
	if err != nil {
		return r, err
	}
	if f.trees != "" {
		r.Trees = place.Absolute(cwd, f.trees)
	}
	for _, s := range f.show {
		at := place.Absolute(cwd, s)
		if _, err := os.Stat(at); err != nil {
			return r, cli.Usagef("--show: %v", err)
		}
		r.Show = append(r.Show, at)
	}
	if a.Flags.Quiet {
		r.Out = nil
	}
	if r.Network, err = launchcmd.TaskNetwork(ctx, a, q.Dir); err != nil {
		return r, err
	}
	var host *spec.Host
	if r.Executor, host, err = taskExecutor(ctx, a, f.executor, q.Dir); err != nil {
		return r, err
	}
	if host != nil {
		for _, s := range host.TaskShow {
			r.Show = append(r.Show, p.Expand(s.Value))
		}
	}
	hold := a.HoldClaims(q.Dir)
	r.Watch, r.Hold = launchcmd.RecordTasks(ctx, a, q, f.executor), func(t spec.Task) (func(), error) {
		_, release, err := hold(t.ID, t.Write)
		return release, err
	}
	r.After, err = taskAfter(ctx, a, f.back, f.push, q.Dir)
	return r, err
}

func taskRunOnce(a *cli.App) *cobra.Command {
	var (
		p   taskPlace
		f   runFlags
		dry bool
	)
	cmd := &cobra.Command{
		Use:   "run-once",
		Short: "carry out the next task of a queue",
		Long: `Takes the first task of a queue that waits for nothing and carries it out in a
separate git work tree on a new branch, chiffon/<id>/<UTC time>, off a named
base: its steps, its verify commands, and one commit of the changes. After each
step and before the commit it checks the task's limits; a violation fails the
task for good. A step that timed out, or whose endpoint failed, is tried again
as often as the task allows.

A task that may write and changes nothing has failed, unless verify failed
before its steps; verify runs before them, too. A task whose file names nothing
to write and nothing to check stays in its queue.

While it works, the task claims what it may write in the project's ledger, if there
is one. A task that may write what another agent or person claims waits.

Only tasks that you approved on this machine are carried out (aisync task
approve). At a terminal it shows the next one that is not, and asks; --trust
approves it unseen. Otherwise it is passed over.

Commands run in a sandbox: they can write only the work tree, and have no network
unless the task asks for it and the host's spec has tasks: network: true. Besides
the work tree they see the system's programs and libraries, the programs that PATH
names, and what --show, or show under tasks in the host's spec, names. On a
machine without a sandbox they do not run without
--unsafe-no-sandbox.

The report is in tasks/runs/<id>; the task's file moves to done or failed. If a
task failed with changes, its work tree stays and the report names it. Exit code
0: done, or no task; 1: it failed; 4: a task waits for your approval.`,
		Example: `  aisync task run-once --project core --dry-run
  aisync task run-once --project core
  aisync task run-once --project core --push origin --pull-request`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{"effect": "writes"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			q, name, err := taskToRun(a, p)
			if err != nil {
				return err
			}
			r, err := taskRunner(cmd.Context(), a, q, f)
			if err != nil {
				return err
			}
			if dry {
				if f.trust {
					r.Queue.Approvals = anyTask
				}
				return withCommand(p, taskDryRun(cmd.Context(), a, r, name))
			}
			waits, err := nextUnapproved(q, name)
			if err == nil {
				err = allowRun(cmd.Context(), a, q, waits, f.trust)
			}
			if err != nil {
				return err
			}
			report, err := r.Once(cmd.Context(), name)
			if task.Idle(err) {
				return printNothing(a, err)
			}
			if report == nil {
				return withCommand(p, err)
			}
			if err := printReport(a, report); err != nil {
				return err
			}
			if err == nil && !report.OK() {
				return cli.Exit(cli.ExitError)
			}
			return err
		},
	}
	p.inProject(cmd, "the queue `NAME` (default: the only one)")
	f.in(cmd.Flags())
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "print the task with its steps and limits, and do nothing")
	return cmd
}

func taskRun(a *cli.App) *cobra.Command {
	var (
		p     taskPlace
		f     runFlags
		max   int
		until string
	)
	cmd := &cobra.Command{
		Use:   "run",
		Short: "carry out the tasks of a queue, one after the other",
		Long: `Repeats run-once until no task may start, or until --max or --until; it always
finishes a task that it began, and continues after a failed one. Several
processes may work on one queue at once.

At the end it prints the result of each task, and names those that were passed
over because you have not approved them. At a terminal it shows them at the
start, and asks; --trust approves them unseen. Exit code 0: all tasks were done,
or there were none; 1: a task failed; 4: a task waits for your approval.`,
		Example: `  aisync task run --project core --max 5
  aisync task run --project core --until 06:00`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{"effect": "writes"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if max < 0 {
				return cli.Usagef("--max %d: want a number of tasks, 0 for all", max)
			}
			end, err := untilTime(until, time.Now())
			if err != nil {
				return err
			}
			q, name, err := taskToRun(a, p)
			if err != nil {
				return err
			}
			r, err := taskRunner(cmd.Context(), a, q, f)
			if err != nil {
				return err
			}
			waits, err := q.Unapproved(name)
			if err == nil {
				err = allowRun(cmd.Context(), a, q, waits, f.trust)
			}
			if err != nil {
				return err
			}
			all, err := r.Run(cmd.Context(), name, max, end)
			sayKept(cmd.Context(), a, f.trees)
			if len(all) == 0 && err != nil {
				if task.Idle(err) {
					return printNothing(a, err)
				}
				return withCommand(p, err)
			}
			if err := printReports(a, all); err != nil {
				return err
			}
			if !slices.ContainsFunc(all, func(r *task.Report) bool { return !r.OK() }) {
				err = withCommand(p, err) // a failure outranks what waits
			}
			for _, report := range all {
				if err == nil && !report.OK() {
					err = cli.Exit(cli.ExitError)
				}
			}
			return err
		},
	}
	p.inProject(cmd, "the queue `NAME` (default: the only one)")
	f.in(cmd.Flags())
	cmd.Flags().IntVar(&max, "max", 0, "carry out at most `N` tasks (default: all)")
	cmd.Flags().StringVar(&until, "until", "", "start no task after `TIME`: the next 06:00, or 2026-02-02T06:00:00Z")
	return cmd
}

func taskToRun(a *cli.App, p taskPlace) (task.Queue, string, error) {
	q, err := taskQueue(a, p)
	if err != nil {
		return q, "", err
	}
	name, err := oneQueue(q, p.project)
	return q, name, err
}

func printNothing(a *cli.App, why error) error {
	if a.Flags.JSON {
		return a.WriteJSON(runDoc{FormatVersion: cli.ViewVersion, Reports: []*task.Report{}, Why: why.Error()})
	}
	a.Printf("%s\n", termtext.SafeLines(why.Error()))
	return nil
}

// runDoc is task run --json. task run-once --json is one report, or this if there was
// no task.
type runDoc struct {
	FormatVersion string         `json:"format_version"`
	Reports       []*task.Report `json:"reports"`
	Why           string         `json:"why,omitempty"` // why there are none
}

func printReport(a *cli.App, r *task.Report) error {
	if a.Flags.JSON {
		return a.WriteJSON(r)
	}
	a.Printf("%s\n", termtext.Safe(r.Line()))
	if r.Kept != "" {
		a.Hint("kept its work tree: %s", r.Kept)
	}
	a.Hint("read it: aisync task report %s", r.TaskID)
	return nil
}

func printReports(a *cli.App, all []*task.Report) error {
	if a.Flags.JSON {
		return a.WriteJSON(runDoc{FormatVersion: cli.ViewVersion, Reports: append([]*task.Report{}, all...)})
	}
	a.Printf("%s", termtext.SafeLines(task.Summary(all)))
	return nil
}

// taskDryRun prints the task that run-once would take.
func taskDryRun(ctx context.Context, a *cli.App, r task.Runner, queue string) error {
	i, report, err := r.Look(ctx, queue)
	if report == nil {
		if task.Idle(err) {
			return printNothing(a, err)
		}
		return err
	}
	if a.Flags.JSON {
		return errors.Join(err, a.WriteJSON(dryDoc{cli.ViewVersion, i.Task.ID, i.Path, report.Branch, report.Base, report.BaseCommit, report.Sandbox, report.Limits}))
	}
	t := i.Task
	a.Printf("%s  %s\n%s\n\n", t.ID, termtext.Safe(i.Path), cli.OneMessage(strings.TrimSpace(t.Goal)))
	row := func(name, format string, args ...any) {
		a.Printf("%-9s %s\n", name, termtext.Safe(fmt.Sprintf(format, args...)))
	}
	row("branch", "%s", report.Branch)
	row("base", "%s (%s)", report.Base, report.BaseCommit)
	row("sandbox", "%s, network: %s", report.Sandbox, map[bool]string{true: "allowed", false: "none"}[t.Network])
	row("writes", "%s", namesOrNone(t.Write))
	row("reads", "%s", namesOrNone(t.Read))
	row("limits", "%s", limitsText(t))
	row("denied", "%s", namesOrNone(t.Denied))
	for _, s := range t.Steps {
		row("step", "%s: %s %s", s.ID, s.Action, termtext.OneLine(s.File+" "+s.Instructions)+strings.TrimSpace(s.Command))
	}
	for _, v := range t.Verify {
		row("verify", "%s", v)
	}
	if err != nil {
		return fmt.Errorf("task %s would fail at once: %w", t.ID, err)
	}
	return nil
}

type dryDoc struct {
	FormatVersion string      `json:"format_version"`
	TaskID        string      `json:"task_id"`
	File          string      `json:"file"`
	Branch        string      `json:"branch"`
	Base          string      `json:"base"`
	BaseCommit    string      `json:"base_commit"`
	Sandbox       string      `json:"sandbox"`
	Limits        task.Bounds `json:"limits"`
}

func limitsText(t spec.Task) string {
	return fmt.Sprintf("%s, %s of changes, %s a step, retries %d", quantity.Count(t.MaxFiles, "file"), quantity.Bytes(t.MaxDiff), t.Timeout, t.Retries)
}

func namesOrNone(s []string) string {
	if len(s) == 0 {
		return "none"
	}
	return strings.Join(s, ", ")
}

// untilTime parses --until. A time of day means the next one after now.
func untilTime(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	clock, err := time.Parse("15:04", s)
	if err != nil {
		return time.Time{}, cli.Usagef("--until %q: want a time of day such as 06:00, or 2026-02-02T06:00:00Z", s)
	}
	t := time.Date(now.Year(), now.Month(), now.Day(), clock.Hour(), clock.Minute(), 0, 0, now.Location())
	if !t.After(now) {
		t = time.Date(now.Year(), now.Month(), now.Day()+1, clock.Hour(), clock.Minute(), 0, 0, now.Location())
	}
	return t, nil
}
