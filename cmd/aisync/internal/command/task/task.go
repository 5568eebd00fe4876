// Package task provides the command task and its subcommands.
package task

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/schema"
)

// taskCommands returns the subcommands in the order of a task's life.
func taskCommands() []func(*cli.App) *cobra.Command {
	return []func(*cli.App) *cobra.Command{
		taskNew, taskImport, taskApprove, taskValidate, taskList, taskShow, taskNext, taskRunOnce, taskRun, taskNightly, taskRetry, taskReport, taskGraph, taskTrees,
	}
}

// Command builds the command task.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "task",
		Short: "queue bounded work for local models, and carry it out in a sandbox",
		Long: `Tasks are files: tasks/inbox contains new ones, tasks/queue/<project> those to
do, of which those run that you approved on this machine, and tasks/runs the
results. A task
names its goal, the files that may be written and read, how much may change, the
steps, and the commands that verify the result. It runs in a separate git work
tree on a new branch; exceeding its limits fails it.

  aisync task new fix-docs --goal "…" --file README.md --verify "make lint"
  aisync task approve fix-docs --project core
  aisync task run-once --project core

In these commands --project names a queue, and --repo the folder that contains
tasks. docs/tasks.md describes the file format and how the limits are enforced.`,
		SuggestionsMinimumDistance: 2,
		Args:                       cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	for _, command := range taskCommands() {
		cmd.AddCommand(command(a))
	}
	return cmd
}

// taskPlace holds --repo and --project: the folder and the queue of the tasks.
type taskPlace struct{ repo, project string }

// inRepo adds --repo.
func (p *taskPlace) inRepo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.repo, "repo", "", "use the tasks of the project in `DIR` (default: the project of the working folder)")
}

// inProject adds --repo and --project. Here --project names a queue and hides the
// global flag, which names a folder.
func (p *taskPlace) inProject(cmd *cobra.Command, usage string) {
	p.inRepo(cmd)
	cmd.Flags().StringVar(&p.project, "project", "", usage)
}

// taskQueue opens the tasks of --repo, else of the caller's project, else of its git
// work tree.
func taskQueue(a *cli.App, p taskPlace) (task.Queue, error) {
	cwd, err := a.Cwd()
	if err != nil {
		return task.Queue{}, err
	}
	dir := ""
	if p.repo != "" {
		if dir, err = place.ExistingFolder(cwd, p.repo); err != nil {
			return task.Queue{}, fmt.Errorf("--repo: %w", err)
		}
	} else if dir, _, err = place.Project(cwd, a.Flags.Project); err == nil && dir == "" {
		dir, err = project.Root(cwd)
	}
	if err != nil {
		return task.Queue{}, cli.PlaceHint(err)
	}
	reader, err := schema.NewTaskReader(cwd)
	return task.Queue{
		Dir: dir, Self: task.Here(), Load: reader.Read, Approvals: approvals(a, dir),
		EndApproval: func(ctx context.Context, digest string) error {
			return a.EndApproval(ctx, "aisync task run", dir, digest)
		},
	}, err
}

// oneQueue returns the queue that --project names, or the only one.
func oneQueue(q task.Queue, name string) (string, error) {
	all, err := q.Projects()
	switch {
	case err != nil:
		return "", err
	case name != "" && slices.Contains(all, name):
		return name, nil
	case name != "":
		return "", advice.New(fmt.Errorf("queue directory not found: %s", q.Folder(name, task.Queued)), existing(all))
	case len(all) == 1:
		return all[0], nil
	}
	u := cli.Usagef("missing --project NAME: there is not exactly one queue")
	u.Advice = existing(all)
	return "", u
}

// existing lists the queues, or tells how to create the first one.
func existing(queues []string) string {
	if len(queues) == 0 {
		return "there is none yet: create one with aisync task approve ID --project NAME, or with agents: tasks: true in " + place.SpecFile + " and aisync apply"
	}
	return "there are " + strings.Join(queues, ", ")
}
