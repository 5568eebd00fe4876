package task

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/agents/task/sandbox"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	launchcmd "aisync.dev/aisync/cmd/aisync/internal/command/launch"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// runFlags are how tasks are carried out.
type runFlags struct {
	base, push, trees, executor string
	show                        []string
	unsafe                      bool
	back                        backFlags
}

func (r *runFlags) in(f *pflag.FlagSet) {
	f.StringVar(&r.base, "base", "", "the `BRANCH` or commit to begin from (default: the one that origin names, else main or master)")
	f.StringVar(&r.push, "push", "", "push the branch of a task that is done to this `REMOTE`")
	f.StringVar(&r.executor, "executor", "", "who does steps in words: a runtime's `ID`, or endpoint (default: whoever fits the task)")
	f.StringVar(&r.trees, "work-trees", "", "the folder for work trees `DIR` (default: in aisync's state)")
	f.StringArrayVar(&r.show, "show", nil, "a file or folder of your home that commands of tasks may read `PATH`; may be given again")
	f.BoolVar(&r.unsafe, "unsafe-no-sandbox", false, "run commands of tasks with all that you may do yourself; the report says so")
	r.back.in(f)
}

// taskRunner carries out the tasks of q as the flags say.
func taskRunner(ctx context.Context, a *cli.App, q task.Queue, f runFlags) (task.Runner, error) {
	p, err := a.HostPlaces()
	if err != nil {
		return task.Runner{}, err
	}
	if u, err := url.Parse(f.push); err == nil && u.User != nil && strings.HasPrefix(u.Scheme, "http") {
		return task.Runner{}, cli.Usagef("--push: an address that holds a name or a token would stand in every report; name a remote, and have git's credential helper know the token")
	}
	home := p.Physical(p.Home)
	r := task.Runner{
		Queue: q, Base: f.base, Push: f.push, Unsafe: f.unsafe, Home: home, Trees: p.Physical(p.State.Join("work-trees")), Out: a.Err,
		Show: sandbox.Toolchains(home, a.Env.Get("PATH")),
	}
	cwd, err := a.Cwd()
	if err != nil {
		return r, err
	}
	if f.trees != "" {
		r.Trees = place.Absolute(cwd, f.trees)
	}
	for _, s := range f.show {
		r.Show = append(r.Show, place.Absolute(cwd, s))
	}
	if a.Flags.Quiet {
		r.Out = nil
	}
	if r.Executor, err = taskExecutor(ctx, a, f.executor, q.Dir); err != nil {
		return r, err
	}
	r.Watch = launchcmd.RecordTasks(ctx, a, q, f.executor)
	r.After, err = taskAfter(ctx, a, f.back, f.push)
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
		Short: "carry out the task that is to be done first",
		Long: `Takes the first task of a queue that waits for nothing, and carries it out in a
git work tree of its own, outside of yours, on a new branch chiffon/<id>/<UTC
time> off a named base: its steps, then its verify commands, then one commit of
what the steps changed. After every step and before the commit it is compared
with its limits; what goes beyond them fails the task and is not tried again. A
step that took too long, or whose endpoint failed, is tried again as often as
the task says.

Commands run in a sandbox: they write nothing but the work tree, do not see
your home, and have no network unless the task says so. Where a machine has no
sandbox nothing runs, unless you say --unsafe-no-sandbox.

The report is in tasks/runs/<id>, and the task's file moves to done or failed.
Where a task failed with changes, its work tree is kept, and the report says
where. Exit code 0: done, or nothing to do; 1: it failed.`,
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
				return taskDryRun(cmd.Context(), a, r, name)
			}
			report, err := r.Once(cmd.Context(), name)
			if task.Idle(err) {
				return printNothing(a, err)
			}
			if report == nil {
				return err
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
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say which task it would be, its steps and its limits, and do nothing")
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
		Long: `Does what run-once does, until nothing is left that may be done, or as far as
--max and --until say; a task that has begun is brought to its end. One that
fails does not keep it from the next. Any number of these may work on one queue
at once.

At the end it says what came of each. Exit code 0: all were done, or there was
nothing to do; 1: one failed.`,
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
			all, err := r.Run(cmd.Context(), name, max, end)
			if len(all) == 0 && err != nil {
				if task.Idle(err) {
					return printNothing(a, err)
				}
				return err
			}
			if err := printReports(a, all); err != nil {
				return err
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
	cmd.Flags().IntVar(&max, "max", 0, "at most so many tasks `N` (default: all)")
	cmd.Flags().StringVar(&until, "until", "", "begin none after this `TIME`: 06:00, the next one, or 2026-02-02T06:00:00Z")
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

// runDoc is run --json; run-once --json is one report, or this if there was
// nothing to do.
type runDoc struct {
	FormatVersion string         `json:"format_version"`
	Reports       []*task.Report `json:"reports"`
	Why           string         `json:"why,omitempty"` // there are none
}

func printReport(a *cli.App, r *task.Report) error {
	if a.Flags.JSON {
		return a.WriteJSON(r)
	}
	a.Printf("%s\n", termtext.Safe(r.Line()))
	if r.Kept != "" {
		a.Hint("its work tree is kept: %s", r.Kept)
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

// taskDryRun prints what run-once would do.
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
	row("limits", "%s, %s of changes, %s a step, retries %d", quantity.Count(t.MaxFiles, "file"), quantity.Bytes(t.MaxDiff), t.Timeout, t.Retries)
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

func namesOrNone(s []string) string {
	if len(s) == 0 {
		return "none"
	}
	return strings.Join(s, ", ")
}

// untilTime reads --until: a time of day means the next one.
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
