package gitea

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"aisync.dev/aisync/internal/termtext"
)

// ID returns the id of the issue's task.
func (i Issue) ID() string { return taskID(i.Number) }

func taskID(number int64) string { return fmt.Sprintf("task-%d", number) }

// The fields of a task file, in reading order.
type (
	file struct {
		Version      string       `yaml:"version"`
		Metadata     metadata     `yaml:"metadata"`
		Dependencies dependencies `yaml:"dependencies,omitempty"`
		Goal         string       `yaml:"goal"`
		Scope        scope        `yaml:"scope"`
		Constraints  constraints  `yaml:"constraints"`
		Steps        []step       `yaml:"steps"`
		Verify       []string     `yaml:"verify"`
		Assumptions  []string     `yaml:"assumptions,omitempty"`
	}
	metadata struct {
		ID        string `yaml:"id"`
		Source    string `yaml:"source"`
		CreatedBy string `yaml:"created_by,omitempty"`
		CreatedAt string `yaml:"created_at,omitempty"`
		Priority  int    `yaml:"priority"`
	}
	dependencies struct {
		Requires []string `yaml:"requires_completed,omitempty"`
		Blocks   []string `yaml:"blocks,omitempty"`
	}
	scope struct {
		Write []string `yaml:"allowed_write_globs"`
		Read  []string `yaml:"allowed_read_globs"`
	}
	constraints struct {
		Files   *int     `yaml:"max_files_changed,omitempty"`
		Diff    *int     `yaml:"max_diff_bytes,omitempty"`
		Seconds *int     `yaml:"timeout_seconds,omitempty"`
		Retries *int     `yaml:"retries,omitempty"`
		Denied  []string `yaml:"denylisted_commands,omitempty"`
	}
	step struct {
		ID           string `yaml:"id"`
		Action       string `yaml:"action"`
		File         string `yaml:"file,omitempty"`
		Instructions string `yaml:"instructions,omitempty"`
		Command      string `yaml:"command,omitempty"`
	}
)

// Draft is the task that an issue becomes.
type Draft struct {
	Text  []byte   // of the task's file, with Notes as comments
	Notes []string // what of the issue is not in it, one heading or item each
}

// part is what a heading of an issue is read as.
type part int

const (
	unknown part = iota
	goal
	tasks
	acceptance
	verify
	assumptions
	bounds // limits; those without a name are of the field of the heading
)

// headings are the headings of an issue, in lower case. Those of limits are
// fields, too.
var headings = map[string]part{
	"goal": goal, "tasks": tasks, "steps": tasks,
	"acceptance criteria": acceptance, "acceptance": acceptance, "done when": acceptance,
	"verify": verify, "verification": verify, "assumptions": assumptions,
	"scope": bounds, "constraints": bounds, "limits": bounds,
}

// reading is an issue while it is read.
type reading struct {
	issue  Issue
	task   file
	limits limits
	steps  string   // the text of Tasks
	prose  []string // the texts of no known heading, and of Goal
	unread []string // headings and their text, of no known heading
	notes  []string
	idOf   func(int64) string
}

// Draft returns the task of an issue, from the sections of its text; docs/tasks.md
// has the table of headings. An issue without a list of tasks becomes one step,
// with all of its text, for the file that it names.
//
// idOf returns the id of an issue's task in the queue, "" for none; it may be nil.
//
// An issue's author decides nothing: the task waits in the inbox until a person
// has read it. No limit is read as less than what is written, and Notes have what
// is not read.
func (i Issue) Draft(idOf func(int64) string) (Draft, error) {
	r := reading{issue: i, idOf: func(n int64) string {
		if idOf != nil {
			if id := idOf(n); id != "" {
				return id
			}
		}
		return taskID(n)
	}}
	r.task = file{Version: "1", Goal: strings.TrimSpace(i.Title) + "\n", Verify: []string{}}
	r.task.Metadata = metadata{ID: i.ID(), Source: i.Source(), CreatedBy: i.Author, Priority: i.priority()}
	if !i.Created.IsZero() {
		r.task.Metadata.CreatedAt = i.Created.UTC().Format(time.RFC3339)
	}
	for _, s := range sections(i.Body) {
		r.read(s)
	}
	if err := r.setSteps(); err != nil {
		return Draft{}, fmt.Errorf("%s#%d: %w", i.Repo, i.Number, err)
	}
	return r.draft()
}

// leave notes texts that are not in the task.
func (r *reading) leave(where string, rest []string) {
	for _, text := range rest {
		r.notes = append(r.notes, where+": "+shown(text))
	}
}

// read reads one section.
func (r *reading) read(s section) {
	name := fieldName(s.name)
	field := fields[name]
	is := headings[name]
	if field != "" {
		is = bounds
	} else if name == "scope" {
		field = "write"
	}
	var list, rest []string
	switch is {
	case goal:
		if text := strings.TrimSpace(s.text); text != "" {
			r.task.Goal = text + "\n"
			r.prose = append(r.prose, text)
		}
	case tasks:
		r.steps += s.text
	case acceptance, assumptions:
		list, rest = items(s.text)
		for _, c := range list {
			if is == acceptance {
				c = "Done means: " + c
			}
			r.task.Assumptions = append(r.task.Assumptions, c)
		}
	case verify:
		var partly []string
		list, rest, partly = commands(s.text)
		r.task.Verify = append(r.task.Verify, list...)
		for _, i := range partly {
			r.notes = append(r.notes, termtext.OneLine(s.name)+": "+onlyCommand(i))
		}
	case bounds:
		rest = r.limits.readSection(s.text, field, r.issue.Repo, r.idOf)
	default:
		if text := strings.TrimSpace(s.text); text != "" || s.name != "" {
			r.prose = append(r.prose, text)
			where := "heading " + termtext.OneLine(s.name)
			if s.name == "" {
				where = "before the first heading"
			}
			r.unread = append(r.unread, where+": "+shown(text))
		}
	}
	r.leave(termtext.OneLine(s.name), rest)
}

// draft returns the task's file.
func (r *reading) draft() (Draft, error) {
	t, l := &r.task, r.limits
	t.Scope.Read = appendNew(slices.Clone(t.Scope.Write), l.read...)
	t.Constraints = constraints{l.files, l.diff, l.seconds, l.retries, l.denied}
	t.Dependencies = dependencies{l.requires, l.blocks}
	var b bytes.Buffer
	line := func(format string, args ...any) {
		b.WriteString(termtext.Safe("# "+fmt.Sprintf(format, args...)) + "\n")
	}
	line("Of issue %s#%d: %s", r.issue.Repo, r.issue.Number, termtext.OneLine(r.issue.Title))
	line("Read it before you approve it: any author of issues may have written this.")
	if len(r.notes) > 0 {
		line("Of the issue, this is not in the task:")
	}
	for _, n := range r.notes {
		line("- %s", n)
	}
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(t); err != nil {
		return Draft{}, err
	}
	return Draft{b.Bytes(), r.notes}, enc.Close()
}

// priorities are those of the labels that Gitea offers for a new repository.
// https://github.com/go-gitea/gitea/blob/main/options/label/Advanced.yaml
var priorities = map[string]int{"critical": 1, "high": 2, "medium": 3, "normal": 3, "low": 4}

func (i Issue) priority() int {
	for _, l := range i.Labels {
		if word, ok := strings.CutPrefix(strings.ToLower(l), "priority/"); ok && priorities[word] > 0 {
			return priorities[word]
		}
	}
	return 3
}
