package task

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	sessioncmd "aisync.dev/aisync/cmd/aisync/internal/command/session"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

func taskShow(a *cli.App) *cobra.Command {
	var p taskPlace
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "print a task: its state, its limits with the defaults filled in, its steps",
		Long: `Prints where a task is in its life and what it says, with the limits that hold
where its file says nothing. With --json all of it.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.ExactArgs(1, "the id of a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := taskQueue(a, p)
			if err != nil {
				return err
			}
			i, err := findTask(q, args[0])
			if err != nil {
				return err
			}
			if i.Err != nil {
				return i.Err
			}
			all, err := q.List()
			if err != nil {
				return err
			}
			v := taskViews(q, all, []task.Item{i})[0]
			if a.Flags.JSON {
				return a.WriteJSON(showTaskDoc{cli.ViewVersion, v, limitsOf(i.Task), i.Task.Requires, i.Task.Blocks, stepViews(i.Task), i.Task.Verify, i.Task.Assumptions, i.Task.Source})
			}
			showTask(a, q, i, v)
			return nil
		},
	}
	p.inRepo(cmd)
	return cmd
}

// findTask is Find with what to do where there is none.
func findTask(q task.Queue, id string) (task.Item, error) {
	i, err := q.Find(id)
	if errors.Is(err, task.ErrUnknown) {
		err = advice.Command(err, "aisync task list")
	}
	return i, err
}

// showTaskDoc is show --json.
type showTaskDoc struct {
	FormatVersion string `json:"format_version"`
	taskView
	Limits      limitsView `json:"limits"`
	Requires    []string   `json:"requires_completed,omitempty"`
	Blocks      []string   `json:"blocks,omitempty"`
	Steps       []stepView `json:"steps"`
	Verify      []string   `json:"verify"`
	Assumptions []string   `json:"assumptions,omitempty"`
	Source      string     `json:"source,omitempty"`
}

type limitsView struct {
	Write    []string `json:"allowed_write_globs"`
	Read     []string `json:"allowed_read_globs"`
	MaxFiles int      `json:"max_files_changed"`
	MaxDiff  int64    `json:"max_diff_bytes"`
	Seconds  int      `json:"timeout_seconds"`
	Retries  int      `json:"retries"`
	Network  bool     `json:"network"`
	Denied   []string `json:"denylisted_commands"`
}

func limitsOf(t spec.Task) limitsView {
	return limitsView{cli.OrEmpty(t.Write), cli.OrEmpty(t.Read), t.MaxFiles, t.MaxDiff, int(t.Timeout.Seconds()), t.Retries, t.Network, cli.OrEmpty(t.Denied)}
}

type stepView struct {
	ID           string `json:"id"`
	Action       string `json:"action"`
	File         string `json:"file,omitempty"`
	Text         string `json:"text,omitempty"`
	Instructions string `json:"instructions,omitempty"`
	Command      string `json:"command,omitempty"`
	Description  string `json:"description,omitempty"`
}

func stepViews(t spec.Task) []stepView {
	out := []stepView{}
	for _, s := range t.Steps {
		out = append(out, stepView{s.ID, s.Action, s.File, s.Text, s.Instructions, s.Command, s.Description})
	}
	return out
}

func showTask(a *cli.App, q task.Queue, i task.Item, v taskView) {
	t := i.Task
	line := func(name, format string, args ...any) {
		a.Printf("%s%s\n", sessioncmd.Pad(name, 12), termtext.Safe(fmt.Sprintf(format, args...)))
	}
	list := func(name string, all []string) {
		for _, s := range all {
			line(name, "%s", s)
			name = ""
		}
	}
	line("task", "%s", t.ID)
	line("state", "%s", cmp.Or(v.note(), string(v.State)))
	if i.Project != "" {
		line("queue", "%s", i.Project)
	}
	line("file", "%s", i.Path)
	line("priority", "%d", t.Priority)
	if t.Source != "" {
		line("source", "%s", t.Source)
	}
	if v.CreatedAt != "" || t.CreatedBy != "" {
		line("created", "%s", cmp.Or(v.CreatedAt+prefixed(" by ", t.CreatedBy), t.CreatedBy))
	}
	if t.Tier != "" || len(t.Capabilities) > 0 {
		line("needs", "%s%s", t.Tier, prefixed(" ", fmt.Sprint(cli.OrEmpty(t.Capabilities))))
	}
	list("after", t.Requires)
	list("before", t.Blocks)
	list("may write", t.Write)
	if len(t.Write) == 0 {
		line("may write", "nothing")
	}
	list("may read", t.Read)
	network := "no network"
	if t.Network {
		network = "network"
	}
	line("limits", "%s, %s of changes, %s a step, %s, retries %d", quantity.Count(t.MaxFiles, "file"), quantity.Bytes(t.MaxDiff), t.Timeout, network, t.Retries)
	list("never runs", t.Denied)
	a.Printf("\n%s\n", cli.OneMessage(strings.TrimSpace(t.Goal)))
	// All of what a step says: nobody approves what he was not shown.
	below := func(text string) string {
		return strings.ReplaceAll(termtext.SafeLines(strings.TrimSpace(text)), "\n", "\n   ")
	}
	for n, s := range t.Steps {
		a.Printf("\n%d. %s: %s %s\n", n+1, termtext.Safe(s.ID), s.Action, below(cmp.Or(s.File, s.Command)))
		for _, text := range []string{s.Description, s.Instructions} {
			if text != "" {
				a.Printf("   %s\n", below(text))
			}
		}
	}
	a.Printf("\n")
	list("verify", t.Verify)
	list("assumes", t.Assumptions)
	if _, err := os.Stat(q.Runs(t.ID)); err == nil {
		a.Hint("it has run: aisync task report %s", t.ID)
	}
}

func prefixed(prefix, s string) string {
	if s == "" || s == "[]" {
		return ""
	}
	return prefix + s
}

func taskReport(a *cli.App) *cobra.Command {
	var p taskPlace
	var log bool
	cmd := &cobra.Command{
		Use:   "report ID",
		Short: "print the report of a task's last run",
		Long: `Prints tasks/runs/<id>/report.md, with --json report.json, with --log run.log:
every command that ran, and what it wrote. branch-name.txt beside them holds the
branch.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.ExactArgs(1, "the id of a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !task.ValidID(args[0]) {
				return cli.Usagef("%q cannot be the id of a task", termtext.Safe(args[0]))
			}
			q, err := taskQueue(a, p)
			if err != nil {
				return err
			}
			name := "report.md"
			switch {
			case log:
				name = "run.log"
			case a.Flags.JSON:
				name = "report.json"
			}
			text, err := os.ReadFile(filepath.Join(q.Runs(args[0]), name))
			if errors.Is(err, fs.ErrNotExist) {
				i, err := findTask(q, args[0])
				if err != nil {
					return err
				}
				return advice.Command(fmt.Errorf("task %s is %s and has no %s in %s", args[0], i.State.Text(), name, q.Runs(args[0])), "aisync task show "+args[0])
			}
			if err != nil {
				return fmt.Errorf("read the report: %w", err)
			}
			if name == "report.json" && !json.Valid(text) {
				return fmt.Errorf("%s is not whole", filepath.Join(q.Runs(args[0]), name))
			}
			a.Printf("%s\n", termtext.SafeLines(string(bytes.TrimRight(text, "\n"))))
			return nil
		},
	}
	p.inRepo(cmd)
	cmd.Flags().BoolVar(&log, "log", false, "the whole log instead")
	return cmd
}
