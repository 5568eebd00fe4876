package task

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
)

func taskImport(a *cli.App) *cobra.Command {
	var p taskPlace
	cmd := &cobra.Command{
		Use:   "import FILE…",
		Short: "put task files into the inbox, where they wait for approval",
		Long: `Checks task files, of either form, and copies them into tasks/inbox under their
ids; - reads one from the input. One that is not right, or whose id is known, is
not copied; the others are.`,
		Example:     "  $ aisync task import ~/Downloads/task-123.yaml",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(1, "a task file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := taskQueue(a, p)
			if err != nil {
				return err
			}
			var errs []error
			for _, name := range args {
				errs = append(errs, importTask(a, q, name))
			}
			return errors.Join(errs...)
		},
	}
	p.inRepo(cmd)
	cmd.AddCommand(taskImportGitea(a))
	return cmd
}

func importTask(a *cli.App, q task.Queue, name string) error {
	text, err := readTaskFile(a, name)
	if err != nil {
		return err
	}
	i, err := q.Add(name, text)
	if err != nil {
		return err
	}
	sayWhere(a, i)
	a.Hint("look at it, then: aisync task approve %s", i.Task.ID)
	return nil
}

// readTaskFile reads a file, or - the input, as far as a task may be long.
func readTaskFile(a *cli.App, name string) ([]byte, error) {
	in := a.Input()
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read task: %w", err)
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, task.MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read task %s: %w", name, err)
	}
	return text, nil
}

func taskApprove(a *cli.App) *cobra.Command {
	var p taskPlace
	cmd := &cobra.Command{
		Use:   "approve ID…",
		Short: "put tasks of the inbox into a queue: you have read them",
		Long: `Moves tasks from tasks/inbox into tasks/queue/<project>, in the order given. The
queue is --project, else the one called like the project or repository in the
task's source ("gitea:<project>:42"), else the only one there is. A task that
could never start is refused: one that waits for itself, or for what nobody knows.`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(1, "the id of a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := taskQueue(a, p)
			if err != nil {
				return err
			}
			var errs []error
			for _, id := range args {
				errs = append(errs, approveTask(a, q, p.project, id))
			}
			return errors.Join(errs...)
		},
	}
	p.inProject(cmd, "the queue `NAME`")
	return cmd
}

func approveTask(a *cli.App, q task.Queue, project, id string) error {
	name, err := queueFor(q, project, id)
	if err != nil {
		return err
	}
	i, err := q.Approve(id, name)
	if err != nil {
		return err
	}
	sayWhere(a, i)
	return nil
}

// sayWhere prints where a task lies now, and warns of one that its own limits
// will fail.
func sayWhere(a *cli.App, i task.Item) {
	a.Printf("%s\n", termtext.Safe(i.Path))
	for _, f := range task.Foresee(i.Task) {
		a.Say("%s", termtext.Safe("it would fail: "+f.Error()))
	}
}

// queueFor is the queue that a task of the inbox goes to. The first queue of a
// repository is made by naming it.
func queueFor(q task.Queue, name, id string) (string, error) {
	all, err := q.Projects()
	if err != nil {
		return "", err
	}
	if name == "" {
		if i, err := q.Find(id); err == nil {
			if rest, ok := strings.CutPrefix(i.Task.Source, "gitea:"); ok {
				if from, _, _ := strings.Cut(rest, ":"); slices.Contains(all, path.Base(from)) {
					return path.Base(from), nil // of OWNER/REPO, as an import has it, the repository
				}
			}
		}
	}
	if name != "" && len(all) == 0 {
		return name, nil
	}
	return oneQueue(q, name)
}

func taskRetry(a *cli.App) *cobra.Command {
	var p taskPlace
	var gone bool
	cmd := &cobra.Command{
		Use:   "retry ID…",
		Short: "put tasks that failed, or whose executor died, into their queue again",
		Long: `Moves a task from failed back into its queue; what its earlier runs left in
tasks/runs stays. One that is being done is refused; one that another machine
claimed, only with --gone. A violation of its limits is not healed by trying
again: change the task first.`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(1, "the id of a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := taskQueue(a, p)
			if err != nil {
				return err
			}
			var errs []error
			for _, id := range args {
				i, err := q.Retry(id, gone, process.System())
				if errors.Is(err, task.ErrMayLive) {
					err = advice.New(err, "make sure that it is not, then add --gone")
				}
				if err == nil {
					a.Printf("%s\n", termtext.Safe(i.Path))
				}
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		},
	}
	p.inRepo(cmd)
	cmd.Flags().BoolVar(&gone, "gone", false, "somebody has made sure that its executor runs no more")
	return cmd
}
