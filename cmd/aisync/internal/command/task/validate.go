package task

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/command/start"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// taskVerdict is task validate --json.
type taskVerdict struct {
	FormatVersion string         `json:"format_version"`
	Valid         bool           `json:"valid"`
	Files         []string       `json:"files"`
	Errors        []start.Defect `json:"errors"`
	Blocked       []taskView     `json:"blocked"` // tasks that can never start
}

func taskValidate(a *cli.App) *cobra.Command {
	var p taskPlace
	cmd := &cobra.Command{
		Use:   "validate [FILE|ID]…",
		Short: "check task files and their dependencies",
		Long: `Checks files, or tasks by their ids; without arguments, all tasks in the inbox
and the queues. It prints errors as file:line:col: message: wrong fields, and
steps that the task's own limits forbid. It also lists queued tasks that can
never start: they wait for a failed task, an unknown task or themselves, or two
tasks have the same id.

Exit code 0: all tasks are valid; 1: they are not.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := taskQueue(a, p)
			if err != nil {
				return err
			}
			all, err := q.List()
			if err != nil {
				return err
			}
			v := taskVerdict{FormatVersion: cli.ViewVersion, Files: []string{}, Errors: []start.Defect{}, Blocked: []taskView{}}
			look := all
			if len(args) > 0 {
				if look, err = itemsNamed(a, q, args); err != nil {
					return err
				}
			}
			for _, i := range look {
				if i.State == task.Done || i.State == task.Failed {
					continue
				}
				v.Files = append(v.Files, i.Path)
				if i.Err == nil {
					for _, f := range task.Foresee(i.Task) {
						v.Errors = append(v.Errors, start.Defect{Position: f.Pos, Message: f.Text})
					}
					continue
				}
				found := start.Defects(i.Err)
				if len(found) == 0 {
					found = []start.Defect{{Message: i.Err.Error()}}
				}
				v.Errors = append(v.Errors, found...)
			}
			for _, t := range taskViews(q, task.WithGiven(all, look), look) {
				if len(t.Never) > 0 {
					v.Blocked = append(v.Blocked, t)
				}
			}
			v.Valid = len(v.Errors) == 0 && len(v.Blocked) == 0
			return reportTasks(a, v)
		},
	}
	p.inRepo(cmd)
	return cmd
}

// itemsNamed returns the tasks of args, which are files or ids.
func itemsNamed(a *cli.App, q task.Queue, args []string) ([]task.Item, error) {
	var out []task.Item
	for _, arg := range args {
		if _, err := os.Stat(arg); arg != "-" && errors.Is(err, fs.ErrNotExist) && task.ValidID(strings.TrimSuffix(arg, ".yaml")) {
			i, err := findTask(q, arg)
			if err != nil {
				return nil, err
			}
			out = append(out, i)
			continue
		}
		text, err := readTaskFile(a, arg)
		if err != nil {
			return nil, err
		}
		i := task.Item{State: task.Inbox, Path: arg}
		i.Task, i.Err = q.Load(arg, text)
		out = append(out, i)
	}
	return out, nil
}

// reportTasks prints v and returns the exit code as an error.
func reportTasks(a *cli.App, v taskVerdict) error {
	if a.Flags.JSON {
		if err := a.WriteJSON(v); err != nil {
			return err
		}
	} else {
		for _, e := range v.Errors {
			a.Printf("%s\n", termtext.Safe(e.Text()))
		}
		for _, t := range v.Blocked {
			a.Printf("%s\n", termtext.Safe(t.File+": "+t.ID+" can never start: "+task.Gate{Never: t.Never}.Why(t.ID)))
		}
		if v.Valid {
			a.Printf("%s valid\n", quantity.Count(len(v.Files), "task"))
		}
	}
	if !v.Valid {
		return cli.Exit(cli.ExitError)
	}
	return nil
}
