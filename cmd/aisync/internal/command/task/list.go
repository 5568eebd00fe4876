package task

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	sessioncmd "aisync.dev/aisync/cmd/aisync/internal/command/session"
	"aisync.dev/aisync/internal/termtext"
)

// taskView is a task as JSON.
type taskView struct {
	ID        string     `json:"id"`
	Project   string     `json:"project,omitempty"` // "" in the inbox
	State     task.State `json:"state"`
	File      string     `json:"file"`
	Priority  int        `json:"priority,omitempty"`
	CreatedAt string     `json:"created_at,omitempty"`
	Tier      string     `json:"tier,omitempty"`
	Goal      string     `json:"goal,omitempty"`
	Free      bool       `json:"free"` // it may start now
	task.Gate
	By    *claimView `json:"claimed_by,omitempty"`
	Error string     `json:"error,omitempty"` // the file is no task
}

type claimView struct {
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	State task.Life `json:"state"`
}

// taskViews are items as JSON and as lines show them.
func taskViews(q task.Queue, all, shown []task.Item) []taskView {
	g := task.NewGraph(all)
	out := []taskView{}
	for _, i := range shown {
		v := taskView{ID: i.Task.ID, Project: i.Project, State: i.State, File: i.Path}
		if i.Err != nil {
			v.ID, v.Error = i.Name(), i.Err.Error()
			out = append(out, v)
			continue
		}
		v.Priority, v.Tier, v.Goal = i.Task.Priority, i.Task.Tier, i.Task.Goal
		if !i.Task.CreatedAt.IsZero() {
			v.CreatedAt = i.Task.CreatedAt.Format(time.RFC3339)
		}
		if i.State == task.Queued || i.State == task.Inbox {
			v.Gate = g.Gate(i)
			v.Free = i.State == task.Queued && v.Gate.Free()
		}
		if i.State == task.Running {
			v.By = &claimView{i.By.Host, i.By.PID, i.By.Life(q.Self.Host, process.System())}
		}
		out = append(out, v)
	}
	return out
}

// note is what a line says of a task beside its goal.
func (v taskView) note() string {
	switch {
	case v.Error != "":
		return "no task: " + v.Error
	case !v.Gate.Free():
		return v.Gate.Why(v.ID)
	case v.By != nil && v.By.State == task.Gone:
		return fmt.Sprintf("process %d has died; run-once recovers it, or: aisync task retry %s", v.By.PID, v.ID)
	case v.By != nil && v.By.PID > 0:
		return fmt.Sprintf("process %d on %s", v.By.PID, v.By.Host)
	}
	return ""
}

func taskList(a *cli.App) *cobra.Command {
	var p taskPlace
	var states []string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "list the tasks: by state, then priority, date and id",
		Long: `Lists the tasks of all queues, or of one, and those of the inbox: state, queue,
priority, id, and what each is for or waits for. What has no date is oldest. A
file that is no task is listed with what is wrong with it.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			want, err := statesNamed(states)
			if err != nil {
				return err
			}
			q, err := taskQueue(a, p)
			if err != nil {
				return err
			}
			if p.project != "" {
				if _, err := oneQueue(q, p.project); err != nil {
					return err
				}
			}
			all, err := q.List()
			if err != nil {
				return err
			}
			var shown []task.Item
			for _, i := range all {
				if (p.project == "" || i.Project == p.project || i.State == task.Inbox) && (len(want) == 0 || want[i.State]) {
					shown = append(shown, i)
				}
			}
			views := taskViews(q, all, shown)
			if a.Flags.JSON {
				return a.WriteJSON(tasksDoc{cli.ViewVersion, q.Dir, views})
			}
			for _, v := range views {
				a.Printf("%s\n", v.line())
			}
			if len(views) == 0 {
				a.Say("no tasks in %s", termtext.Safe(q.Dir))
			}
			return nil
		},
	}
	p.inProject(cmd, "only those of the queue `NAME`, and the inbox")
	cmd.Flags().StringSliceVar(&states, "state", nil, "only those that are `STATE`: inbox, queued, running, done, failed")
	return cmd
}

// tasksDoc is list --json.
type tasksDoc struct {
	FormatVersion string     `json:"format_version"`
	Repo          string     `json:"repo"`
	Tasks         []taskView `json:"tasks"`
}

func (v taskView) line() string {
	text := firstLine(v.Goal)
	if note := firstLine(v.note()); note != "" {
		text = strings.TrimPrefix(text+"  ["+note+"]", "  ")
	}
	priority := "-"
	if v.Priority > 0 {
		priority = fmt.Sprint(v.Priority)
	}
	return termtext.Safe(sessioncmd.Pad(string(v.State), 8) + sessioncmd.Pad(cmp.Or(v.Project, "-"), 18) + sessioncmd.Pad(priority, 2) + sessioncmd.Pad(v.ID, 24) + " " + text)
}

// firstLine is the first line of a text that has something in it.
func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

func statesNamed(names []string) (map[task.State]bool, error) {
	known := []task.State{task.Inbox, task.Queued, task.Running, task.Done, task.Failed}
	want := map[task.State]bool{}
	for _, n := range names {
		s := task.State(n)
		ok := false
		for _, k := range known {
			ok = ok || s == k
		}
		if !ok {
			return nil, cli.Usagef("--state %q: want inbox, queued, running, done or failed", termtext.Safe(n))
		}
		want[s] = true
	}
	return want, nil
}

func taskNext(a *cli.App) *cobra.Command {
	var p taskPlace
	cmd := &cobra.Command{
		Use:   "next",
		Short: "the task of a queue that run-once would take, and why those before it wait",
		Long: `Prints the id and the file of the task that is to be done first: of those that
are queued and wait for nothing, by priority, date and id. Where none may start
it says why: exit code 0 where tasks only wait for others, 1 where one can never
start as things are (what it needs failed, is unknown, or waits for it).`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := taskQueue(a, p)
			if err != nil {
				return err
			}
			name, err := oneQueue(q, p.project)
			if err != nil {
				return err
			}
			i, err := q.Next(name)
			if err != nil && !errors.Is(err, task.ErrNone) {
				return err
			}
			if a.Flags.JSON {
				doc := nextDoc{FormatVersion: cli.ViewVersion, Project: name}
				if err == nil {
					doc.Task = &taskViews(q, []task.Item{i}, []task.Item{i})[0]
					doc.Task.Gate, doc.Task.Free = task.Gate{}, true
				} else {
					doc.Why = err.Error()
				}
				return a.WriteJSON(doc)
			}
			if err != nil {
				a.Printf("%s\n", termtext.SafeLines(err.Error()))
				return nil
			}
			a.Printf("%s  %s\n", i.Task.ID, termtext.Safe(i.Path))
			return nil
		},
	}
	p.inProject(cmd, "the queue `NAME` (default: the only one)")
	return cmd
}

// nextDoc is next --json.
type nextDoc struct {
	FormatVersion string    `json:"format_version"`
	Project       string    `json:"project"`
	Task          *taskView `json:"task"` // null: none
	Why           string    `json:"why,omitempty"`
}
