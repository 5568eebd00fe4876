// Package task is the command task and those below it.
package task

import (
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

// taskCommands are what can be done with tasks, in the order of a task's life.
func taskCommands() []func(*cli.App) *cobra.Command {
	return []func(*cli.App) *cobra.Command{
		taskNew, taskImport, taskApprove, taskValidate, taskList, taskShow, taskNext, taskRunOnce, taskRun, taskNightly, taskRetry, taskReport, taskGraph,
	}
}

// Command builds the command task.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "task",
		Short: "a queue of bounded work that a local model does by itself, within limits that are enforced",
		Long: `Tasks are files: tasks/inbox holds those that wait for a person's word,
tasks/queue/<project> those that may be done, and tasks/runs what came of each.
One says what it is for, which files may be written and read, how much may
change, the steps, and the commands that prove it done. It is carried out in a
git work tree of its own, on a branch of its own, and what goes beyond its
limits fails it.

  aisync task new fix-docs --goal "…" --file README.md --verify "make lint"
  aisync task approve fix-docs --project core
  aisync task run-once --project core

Of these commands, --project names a queue and --repo the folder that holds
tasks; docs/tasks.md has the file format and what is enforced how.`,
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

// taskPlace is where the tasks of one invocation are: --repo and --project.
type taskPlace struct{ repo, project string }

// inRepo and inProject add the flags. --project means a queue here, and stands
// before the global one, which names a folder.
func (p *taskPlace) inRepo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.repo, "repo", "", "the folder that holds tasks `DIR` (default: the project's that you are in)")
}

func (p *taskPlace) inProject(cmd *cobra.Command, usage string) {
	p.inRepo(cmd)
	cmd.Flags().StringVar(&p.project, "project", "", usage)
}

// taskQueue opens the tasks of a repository: --repo, or the project that the
// caller is in, or the top of its git work tree.
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
	} else if dir, err = place.Project(cwd, a.Flags.Project); err == nil && dir == "" {
		dir, err = project.Root(cwd)
	}
	if err != nil {
		return task.Queue{}, cli.PlaceHint(err)
	}
	reader, err := schema.NewTaskReader(cwd)
	return task.Queue{Dir: dir, Self: task.Here(), Load: reader.Read}, err
}

// oneQueue is the queue that --project names, or the only one there is.
func oneQueue(q task.Queue, name string) (string, error) {
	all, err := q.Projects()
	switch {
	case err != nil:
		return "", err
	case name != "" && slices.Contains(all, name):
		return name, nil
	case name != "":
		return "", advice.New(fmt.Errorf("queue directory not found: %s", q.Folder(name, task.Queued)), there(all))
	case len(all) == 1:
		return all[0], nil
	}
	u := cli.Usagef("which queue? say it with --project NAME")
	u.Advice = there(all)
	return "", u
}

func there(queues []string) string {
	if len(queues) == 0 {
		return "there is none yet: aisync task approve ID --project NAME makes it, and so does aisync apply where " + place.SpecFile + " says agents: tasks: true"
	}
	return "there are " + strings.Join(queues, ", ")
}
