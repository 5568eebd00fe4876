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
	Free      bool       `json:"free"`               // may start now
	Approved  *bool      `json:"approved,omitempty"` // of a queued task
	task.Gate
	By    *claimView `json:"claimed_by,omitempty"`
	Error string     `json:"error,omitempty"` // why the file is not a task
}

type claimView struct {
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	State task.Life `json:"state"`
}

// taskViews converts shown, which are among all, for JSON and for lines.
func taskViews(q task.Queue, all, shown []task.Item) []taskView {
	g := task.NewGraph(all)
	approved, err := q.Approvals()
	if err != nil { // the commands that run tasks report it
		approved = func(string) bool { return false }
	}
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
			if i.State == task.Queued {
				yes := approved(i.Digest)
				v.Free, v.Approved = yes && v.Gate.Free(), &yes
			}
		}
		if i.State == task.Running {
			v.By = &claimView{i.By.Host, i.By.PID, i.By.Life(q.Self.Host, process.System())}
		}
		out = append(out, v)
	}
	return out
}

// note returns what a line shows beside the goal: an error, what the task waits for,
// or its executor.
func (v taskView) note() string {
	switch {
	case v.Error != "":
		return "invalid: " + v.Error
	case v.Approved != nil && !*v.Approved:
		return "not approved on this machine: aisync task approve " + v.ID
	case !v.Gate.Free():
		return v.Gate.Why(v.ID)
	case v.By != nil && v.By.State == task.Gone:
		return fmt.Sprintf("process %d died; run: aisync task run-once, or: aisync task retry %s", v.By.PID, v.ID)
	case v.By != nil && v.By.PID > 0:
		return fmt.Sprintf("process %d on %s", v.By.PID, v.By.Host)
	}
	return ""
}

func taskList(a *cli.App) *cobra.Command {
	var p taskPlace
	var states []string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "list the tasks by state, priority, date and id",
		Long: `Lists the tasks of all queues, or of one, and those of the inbox: state, queue,
priority, id, and the goal or what the task waits for. Tasks without a date
count as oldest. It lists invalid files with their errors.`,
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
	p.inProject(cmd, "list only the queue `NAME` and the inbox")
	cmd.Flags().StringSliceVar(&states, "state", nil, "list only tasks in `STATE`: inbox, queued, running, done, failed")
	return cmd
}

// tasksDoc is task list --json.
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

// firstLine returns the first line of s that is not blank.
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
		Short: "print the task of a queue that run-once would take",
		Long: `Prints the id and the file of the next task: the first of those that are queued
and wait for nothing, by priority, date and id. If none may start, it prints why
and exits with 0 if tasks only wait for others, 1 if a task can never start
(what it needs failed, is unknown, or waits for it).`,
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
				return withCommand(p, err)
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

// nextDoc is task next --json.
type nextDoc struct {
	FormatVersion string    `json:"format_version"`
	Project       string    `json:"project"`
	Task          *taskView `json:"task"` // null: none
	Why           string    `json:"why,omitempty"`
}
