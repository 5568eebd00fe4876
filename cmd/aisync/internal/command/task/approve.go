package task

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	launchcmd "aisync.dev/aisync/cmd/aisync/internal/command/launch"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

func taskApprove(a *cli.App) *cobra.Command {
	var p taskPlace
	var all, yes bool
	cmd := &cobra.Command{
		Use:   "approve ID…",
		Short: "approve tasks that you have read, and move them from the inbox into a queue",
		Long: `Prints what tasks want to do (goal, files, network, commands), asks, and records
on this machine, outside of the repository, that you approved them. Only approved
tasks are carried out. An approval is of the content of a file in this project:
it lasts until the task is done, also where it fails and is tried again, and ends
with any change.

A task of the inbox moves into tasks/queue/<project>, in the order given. The
queue is --project, which may be a new one, else the one named like the project
or repository in the task's source ("gitea:<project>:42"), else the only queue.
It refuses a task that could never start: one that waits for itself or for an
unknown task. A task that lies in a queue already, from a clone or put there by
hand, stays there; --all approves all of those, and none of the inbox.

Without a terminal an ID is the answer; --all needs --yes.`,
		Example: `  aisync task approve fix-docs
  aisync task approve --all --project core`,
		Annotations: map[string]string{"effect": "writes"},
		Args: func(cmd *cobra.Command, args []string) error {
			if all {
				return cli.NoArgs(cmd, args)
			}
			return cli.MinArgs(1, "the id of a task, or --all")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := taskQueue(a, p)
			if err != nil {
				return err
			}
			var items []task.Item
			var errs []error
			if all {
				if p.project != "" {
					if _, err := oneQueue(q, p.project); err != nil {
						return err
					}
				}
				if items, err = q.Unapproved(p.project); err != nil {
					return err
				}
				if len(items) == 0 {
					a.Say("every task of the queues is approved")
					return nil
				}
			}
			for _, id := range args {
				i, err := q.Approvable(id)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				items = append(items, i)
			}
			return errors.Join(append(errs, approveTasks(cmd.Context(), a, q, p.project, items, yes || !all && !a.Terminal()))...)
		},
	}
	p.inProject(cmd, "move them into the queue `NAME`; with --all, approve only those in it")
	cmd.Flags().BoolVar(&all, "all", false, "approve every task that lies in a queue")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// approveTasks shows items and asks, unless yes answers. It moves those of the inbox
// into their queues, and records the approval of what was shown.
func approveTasks(ctx context.Context, a *cli.App, q task.Queue, project string, items []task.Item, yes bool) error {
	if len(items) == 0 {
		return nil
	}
	host, _ := launchcmd.TaskNetwork(ctx, a, q.Dir) // of a broken spec none; the commands that run tasks report it
	for _, i := range items {
		if text := presented(i, host); yes {
			a.Say("%s", text)
		} else {
			fmt.Fprintf(a.Err, "%s\n", text) // with --quiet too: it is what is asked about
		}
	}
	waits := slices.ContainsFunc(items, func(i task.Item) bool { return i.State == task.Inbox })
	if queues, err := q.Projects(); err == nil && waits && project != "" && !slices.Contains(queues, project) {
		if _, err := queueFor(q, project, ""); err != nil {
			return err
		}
		a.Say("queue     %s, which is new", termtext.Safe(project))
	}
	question := "Approve this task?"
	if len(items) > 1 {
		question = "Approve these " + quantity.Count(len(items), "task") + "?"
	}
	if err := a.Confirm(yes, question); err != nil {
		return err
	}
	var errs []error
	var agreed []task.Item
	for _, i := range items {
		if i.State == task.Inbox {
			shown := i.Digest
			name, err := queueFor(q, project, i.Task.ID)
			if err == nil {
				i, err = q.Enqueue(i.Task.ID, name)
			}
			if err == nil && i.Digest != shown {
				err = advice.Command(fmt.Errorf("task %s changed after it was shown, and is not approved: %s", i.Task.ID, i.Path), "aisync task approve "+i.Task.ID)
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
		}
		agreed = append(agreed, i)
	}
	if err := agree(ctx, a, q, agreed); err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, i := range agreed {
		printPath(a, i)
	}
	return errors.Join(errs...)
}

// agree records that the person approved items as they were read.
func agree(ctx context.Context, a *cli.App, q task.Queue, items []task.Item) error {
	if len(items) == 0 {
		return nil
	}
	var digests []string
	for _, i := range items {
		digests = append(digests, i.Digest)
	}
	return a.Approve(ctx, "aisync task approve", q.Dir, digests)
}

// approvals reads the approvals of this machine for the tasks in dir.
func approvals(a *cli.App, dir string) task.Approvals {
	return func() (func(string) bool, error) { return a.Approved(dir) }
}

// presented is all of a task that a person approves.
func presented(i task.Item, host task.Network) string {
	t := i.Task
	var b strings.Builder
	row := func(name, text string) {
		text = strings.ReplaceAll(termtext.SafeLines(strings.TrimSpace(text)), "\n", "\n          ")
		fmt.Fprintf(&b, "%-9s %s\n", name, text)
	}
	row("task", t.ID+" ("+i.Path+")")
	row("goal", t.Goal)
	row("writes", namesOrNone(t.Write))
	row("reads", namesOrNone(t.Read))
	network := "none"
	if t.Network {
		network = "all of this machine's, loopback too"
		if !host.Allowed {
			network += "; refused until the host's spec has tasks: network: true"
		}
	}
	row("network", network)
	row("limits", limitsText(t))
	row("denied", namesOrNone(t.Denied))
	for _, s := range t.Steps {
		row("step", s.ID+": "+s.Action+" "+cmp.Or(s.File, s.Command))
		for _, text := range []string{s.Description, s.Instructions, s.Text} {
			if text != "" {
				row("", text)
			}
		}
	}
	for _, v := range t.Verify {
		row("verify", v)
	}
	for _, s := range t.Assumptions {
		row("assumes", s)
	}
	return b.String()
}

// allowRun approves what a command that runs tasks was told to: with trust all of
// items; at a terminal those that the person says yes to.
func allowRun(ctx context.Context, a *cli.App, q task.Queue, items []task.Item, trust bool) error {
	if len(items) == 0 {
		return nil
	}
	if trust {
		return agree(ctx, a, q, items)
	}
	if !a.Terminal() || a.Flags.JSON {
		return nil // the runner names them
	}
	err := approveTasks(ctx, a, q, "", items, false)
	if errors.Is(err, cli.ErrCancelled) {
		return nil
	}
	return err
}

// undecided is the error of tasks that wait for an approval.
type undecided struct{ error }

func (u undecided) Unwrap() error        { return u.error }
func (u undecided) Is(target error) bool { return target == reconcile.ErrUndecided }

// withCommand adds to err, where it is about tasks that are not approved, the exit
// code for that, and the command for --repo.
func withCommand(p taskPlace, err error) error {
	n := (*task.NotApproved)(nil)
	if !errors.As(err, &n) {
		return err
	}
	if p.repo != "" {
		err = advice.New(err, "read them, then run: "+n.Command(p.repo))
	}
	return undecided{err}
}

// anyTask approves every task, to find out what would be carried out.
func anyTask() (func(string) bool, error) { return func(string) bool { return true }, nil }

// nextUnapproved returns what run-once would take if all were approved, where it is not.
func nextUnapproved(q task.Queue, name string) ([]task.Item, error) {
	waits, err := q.Unapproved(name)
	if err != nil || len(waits) == 0 {
		return nil, err
	}
	q.Approvals = anyTask
	next, err := q.Next(name)
	if err != nil {
		return nil, nil // the runner says why
	}
	return slices.DeleteFunc(waits, func(i task.Item) bool { return i.Path != next.Path }), nil
}
