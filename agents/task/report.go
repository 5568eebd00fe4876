package task

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aisync.dev/aisync/agents/task/policy"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// Report is the result of a task: tasks/runs/<id>/report.json. The first six
// fields have an older program's format.
type Report struct {
	TaskID        string   `json:"task_id"`
	Goal          string   `json:"goal"`
	Branch        string   `json:"branch"`
	CommitHash    string   `json:"commit_hash"`
	Timestamp     string   `json:"timestamp"`
	VerifyResults []Result `json:"verify_results"`

	VerifyBefore  []Before        `json:"verify_before,omitempty"` // verify before the steps, up to the first failure
	FormatVersion int             `json:"format_version"`
	Status        string          `json:"status"`           // done, failed
	Kind          string          `json:"kind,omitempty"`   // why it failed: violation, timeout, step, executor, verify, unchanged, git, push, crash, sandbox
	Reason        string          `json:"reason,omitempty"` // in words
	Project       string          `json:"project"`
	Source        string          `json:"source,omitempty"`
	Issue         int             `json:"issue,omitempty"`
	Base          string          `json:"base"`
	BaseCommit    string          `json:"base_commit"`
	Attempt       int             `json:"attempt"` // number of crashes before it, plus one
	Sandbox       string          `json:"sandbox"` // namespaces, bwrap, or none (--unsafe-no-sandbox)
	Network       bool            `json:"network"`
	Steps         []StepResult    `json:"steps"`
	Changed       []policy.Change `json:"changed"`
	DiffBytes     int64           `json:"diff_bytes"`
	Diff          string          `json:"diff,omitempty"` // its beginning
	Limits        Bounds          `json:"limits"`
	Tokens        int             `json:"tokens,omitempty"`
	Pushed        string          `json:"pushed,omitempty"`       // the remote
	PullRequest   string          `json:"pull_request,omitempty"` // its address
	Kept          string          `json:"kept,omitempty"`         // the work tree, if it was kept
	Left          []Leftover      `json:"left,omitempty"`         // of runs that died
	Notes         []string        `json:"notes,omitempty"`
	Started       time.Time       `json:"started"`
	Finished      time.Time       `json:"finished"`
}

// Result is how one command ended.
type Result struct {
	Cmd      string `json:"cmd"`
	ExitCode int    `json:"exit_code"` // -1: timeout
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
}

// StepResult is how one step ended.
type StepResult struct {
	ID       string   `json:"id"`
	Action   string   `json:"action"`
	File     string   `json:"file,omitempty"`
	Command  *Result  `json:"command,omitempty"`
	Executor string   `json:"executor,omitempty"`
	Tokens   int      `json:"tokens,omitempty"`
	Summary  string   `json:"summary,omitempty"`
	Seconds  float64  `json:"seconds"`
	Failed   []string `json:"failed,omitempty"` // why each failed try failed
	Done     bool     `json:"done"`
}

// Bounds are the limits of a task.
type Bounds struct {
	Write    []string `json:"allowed_write_globs"`
	Read     []string `json:"allowed_read_globs"`
	MaxFiles int      `json:"max_files_changed"`
	MaxDiff  int64    `json:"max_diff_bytes"`
	Seconds  float64  `json:"timeout_seconds"`
	Denied   []string `json:"denylisted_commands"`
	Retries  int      `json:"retries"`
}

func newReport(i Item, p readiness, now time.Time) *Report {
	t := i.Task
	way := string(p.way)
	if way == "none" {
		way = "none (--unsafe-no-sandbox)"
	}
	return &Report{
		TaskID: t.ID, Goal: t.Goal, Timestamp: now.Format(time.RFC3339), VerifyResults: []Result{}, FormatVersion: 1, Project: i.Project, Source: t.Source, Issue: t.Issue,
		Base: p.base, BaseCommit: p.commit, Attempt: 1, Sandbox: way, Network: t.Network, Steps: []StepResult{}, Changed: []policy.Change{}, Started: now,
		Limits: BoundsOf(t),
	}
}

// BoundsOf returns the limits of a task.
func BoundsOf(t spec.Task) Bounds {
	return Bounds{some(t.Write), some(t.Read), t.MaxFiles, t.MaxDiff, t.Timeout.Seconds(), some(t.Denied), t.Retries}
}

func some(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// reportFiles are the files of a run in tasks/runs/<id>, besides its journal.
var reportFiles = []string{"report.md", "report.json", "branch-name.txt", "run.log"}

// archiveReport moves the report of an earlier run into a folder named for its time.
func archiveReport(dir string) error {
	var there []string
	when := time.Time{}
	for _, name := range reportFiles {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			there = append(there, name)
			if info.ModTime().After(when) {
				when = info.ModTime()
			}
		}
	}
	if len(there) == 0 {
		return nil
	}
	to := filepath.Join(dir, when.UTC().Format("20060102-150405"))
	for n := 2; ; n++ {
		err := os.Mkdir(to, 0o755)
		if err == nil {
			break
		}
		if !os.IsExist(err) || n > 1000 {
			return fmt.Errorf("move the earlier report aside: %w", err)
		}
		to = filepath.Join(dir, fmt.Sprintf("%s-%d", when.UTC().Format("20060102-150405"), n))
	}
	for _, name := range there {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(to, name)); err != nil {
			return fmt.Errorf("move the earlier report aside: %w", err)
		}
	}
	return nil
}

// write writes the report into the folder of its task, each file in one step,
// the machine-readable one last.
func (r *Report) write(dir string) error {
	if r.Branch != "" {
		if err := writeFile(dir, "branch-name.txt", []byte(r.Branch+"\n")); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "run.log")); os.IsNotExist(err) {
		if err := writeFile(dir, "run.log", []byte(r.Reason+"\n")); err != nil {
			return err
		}
	}
	if err := writeFile(dir, "report.md", []byte(r.Markdown())); err != nil {
		return err
	}
	return writeJSON(dir, "report.json", r)
}

// why returns why the task failed, for its events.
func (r *Report) why() string { return r.Kind + ": " + termtext.Clip(sentence(r.Reason), 2001) }

// OK reports whether the task is done.
func (r *Report) OK() bool { return r.Status == string(Done) }

// Line returns the report in one line.
func (r *Report) Line() string {
	if !r.OK() {
		return fmt.Sprintf("%s: failed (%s): %s", r.TaskID, r.Kind, sentence(r.Reason))
	}
	if r.CommitHash == "" {
		if r.checked() {
			return r.TaskID + ": done; it only checks"
		}
		return r.TaskID + ": done; nothing to commit, but verify failed before the steps and passes now"
	}
	files := "1 file"
	if n := r.committed(); n != 1 {
		files = fmt.Sprintf("%d files", n)
	}
	return fmt.Sprintf("%s: done on %s (%s, %d bytes of diff)", r.TaskID, r.Branch, files, r.DiffBytes)
}

// checked reports whether the task's limits allowed no change.
func (r *Report) checked() bool {
	return len(r.Limits.Write) == 0 || r.Limits.MaxFiles == 0 || r.Limits.MaxDiff == 0
}

func (r *Report) committed() int {
	n := 0
	for _, c := range r.Changed {
		if !c.Ignored {
			n++
		}
	}
	return n
}

// Summary returns the results of many tasks, for a person in the morning.
func Summary(all []*Report) string {
	var b strings.Builder
	done := 0
	for _, r := range all {
		if r.OK() {
			done++
		}
	}
	fmt.Fprintf(&b, "%d done, %d failed\n", done, len(all)-done)
	for _, r := range all {
		fmt.Fprintf(&b, "  %s\n", r.Line())
		for _, n := range r.Notes {
			fmt.Fprintf(&b, "    %s\n", sentence(n))
		}
	}
	return b.String()
}
