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
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

func taskImport(a *cli.App) *cobra.Command {
	var p taskPlace
	cmd := &cobra.Command{
		Use:   "import FILE…",
		Short: "put task files into the inbox, where they wait for approval",
		Long: `Checks task files, of either form, and copies them into tasks/inbox under their
ids; - reads one from stdin. It skips invalid files and known ids with an error,
and copies the others.`,
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
	printPath(a, i)
	a.Hint("read it, then: aisync task approve %s", i.Task.ID)
	return nil
}

// readTaskFile reads a file, or stdin for -, up to the size limit of a task.
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

// printPath prints the new path of a task, and warns if its own limits would fail it.
func printPath(a *cli.App, i task.Item) {
	a.Printf("%s\n", termtext.Safe(i.Path))
	for _, f := range task.Foresee(i.Task) {
		a.Say("%s", termtext.Safe("it would fail: "+f.Error()))
	}
}

// queueFor returns the queue for a task of the inbox. Naming a queue creates it,
// unless its name looks like a mistyped one.
func queueFor(q task.Queue, name, id string) (string, error) {
	all, err := q.Projects()
	if err != nil {
		return "", err
	}
	if name == "" {
		if i, err := q.Find(id); err == nil {
			if rest, ok := strings.CutPrefix(i.Task.Source, "gitea:"); ok {
				if from, _, _ := strings.Cut(rest, ":"); slices.Contains(all, path.Base(from)) {
					return path.Base(from), nil // the repository of OWNER/REPO
				}
			}
		}
	}
	if name == "" || slices.Contains(all, name) {
		return oneQueue(q, name)
	}
	if near := nearest.Name(name, all); near != "" {
		dir := q.Folder(name, task.Queued)
		return "", advice.New(fmt.Errorf("queue directory not found: %s", dir), fmt.Sprintf("did you mean %s? %s; to create it: mkdir %s", near, existing(all), shellquote.Terminal(dir)))
	}
	return name, nil
}

func taskRetry(a *cli.App) *cobra.Command {
	var p taskPlace
	var gone bool
	cmd := &cobra.Command{
		Use:   "retry ID…",
		Short: "move failed tasks, or tasks of a dead executor, back into their queue",
		Long: `Moves a task from failed back into its queue, and keeps the results of its
earlier runs in tasks/runs. It refuses a running task; a task that another
machine claimed needs --gone. If a task violated its limits, change it first:
another try fails again.`,
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
	cmd.Flags().BoolVar(&gone, "gone", false, "you have checked that its executor no longer runs")
	return cmd
}
