package gitea

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"aisync.dev/aisync/internal/termtext"
)

// Source returns the source of an issue's task, as in the task's file.
func (i Issue) Source() string { return fmt.Sprintf("gitea:%s:%d", i.Repo, i.Number) }

// ParseSource parses Source's result; ok is false for other tasks.
func ParseSource(source string) (repo Repo, number int64, ok bool) {
	rest, ok := strings.CutPrefix(source, "gitea:")
	at := strings.LastIndexByte(rest, ':')
	if !ok || at < 0 {
		return Repo{}, 0, false
	}
	repo, number, err := ParseIssue(rest[:at] + "#" + rest[at+1:])
	return repo, number, err == nil
}

// ID returns the id of the issue's task.
func (i Issue) ID() string { return fmt.Sprintf("task-%d", i.Number) }

// The fields of a task file, in reading order.
type (
	file struct {
		Version     string   `yaml:"version"`
		Metadata    metadata `yaml:"metadata"`
		Goal        string   `yaml:"goal"`
		Scope       scope    `yaml:"scope"`
		Constraints struct{} `yaml:"constraints"`
		Steps       []step   `yaml:"steps"`
		Verify      []string `yaml:"verify"`
		Assumptions []string `yaml:"assumptions,omitempty"`
	}
	metadata struct {
		ID        string `yaml:"id"`
		Source    string `yaml:"source"`
		CreatedBy string `yaml:"created_by,omitempty"`
		CreatedAt string `yaml:"created_at,omitempty"`
		Priority  int    `yaml:"priority"`
	}
	scope struct {
		Write []string `yaml:"allowed_write_globs"`
		Read  []string `yaml:"allowed_read_globs"`
	}
	step struct {
		ID           string `yaml:"id"`
		Action       string `yaml:"action"`
		File         string `yaml:"file,omitempty"`
		Instructions string `yaml:"instructions,omitempty"`
		Command      string `yaml:"command,omitempty"`
	}
)

// Task returns a task file for an issue, from the sections of its text, which
// are headings of any depth:
//
//	## Goal                 what it is for; without it the title is
//	## Tasks                a list: "`path`: what to change" edits that file, "run: command"
//	                        (or "Run `command`") runs one; others edit the file named last
//	## Acceptance Criteria  a list, for the executor's eyes
//	## Verify               commands, as a list or in a block of code
//	## Files                a list of globs that may be written; without it the files of Tasks
//	## Read                 a list of globs that may be read besides
//
// An issue's author decides nothing: the task waits in the inbox until a person
// has read it.
func (i Issue) Task() ([]byte, error) {
	s := sections(i.Body)
	t := file{Version: "1", Goal: i.goal(s), Verify: commands(s["verify"])}
	t.Metadata = metadata{ID: i.ID(), Source: i.Source(), CreatedBy: i.Author, Priority: i.priority()}
	if !i.Created.IsZero() {
		t.Metadata.CreatedAt = i.Created.UTC().Format(time.RFC3339)
	}
	files, err := t.readSteps(s["tasks"])
	if err != nil {
		return nil, fmt.Errorf("%s#%d: %w", i.Repo, i.Number, err)
	}
	for _, c := range items(s["acceptance criteria"]) {
		t.Assumptions = append(t.Assumptions, "Done means: "+c)
	}
	t.Scope.Write = withoutBackquotes(items(s["files"]))
	if len(t.Scope.Write) == 0 {
		t.Scope.Write = files
	}
	t.Scope.Read = slices.Clone(t.Scope.Write)
	for _, glob := range withoutBackquotes(items(s["read"])) {
		if !slices.Contains(t.Scope.Read, glob) {
			t.Scope.Read = append(t.Scope.Read, glob)
		}
	}
	if t.Verify == nil {
		t.Verify = []string{}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Of issue %s#%d: %s\n# Read it before you approve it: any author of issues may have written this.\n", i.Repo, i.Number, termtext.Safe(termtext.OneLine(i.Title)))
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(t); err != nil {
		return nil, err
	}
	return b.Bytes(), enc.Close()
}

func (i Issue) goal(s map[string]string) string {
	goal := strings.TrimSpace(s["goal"])
	if goal == "" {
		goal = strings.TrimSpace(i.Title)
	}
	return goal + "\n"
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

var (
	heading = regexp.MustCompile(`^#{1,6}[ \t]+(.*?)[ \t#]*$`)
	fence   = regexp.MustCompile("^[ \t]*(```+|~~~+)")
	item    = regexp.MustCompile(`^[ \t]{0,3}(?:[-*+]|[0-9]+[.)])[ \t]+(?:\[([ xX])\][ \t]+)?(.*)$`)
	quoted  = regexp.MustCompile("`([^`]+)`")
	runs    = regexp.MustCompile("^(?i:run)(?::[ \t]*(.+)|[ \t]+`([^`]+)`.*)$")
)

// sections splits Markdown at its headings; names are in lower case. Headings in
// a code block do not count.
func sections(body string) map[string]string {
	out := map[string]string{}
	name, fenced := "", ""
	for line := range strings.Lines(strings.ReplaceAll(body, "\r\n", "\n")) {
		trimmed := strings.TrimRight(line, "\n")
		if f := fence.FindStringSubmatch(trimmed); f != nil {
			switch {
			case fenced == "":
				fenced = f[1]
			case strings.HasPrefix(f[1], fenced):
				fenced = ""
			}
		} else if h := heading.FindStringSubmatch(trimmed); h != nil && fenced == "" {
			name = strings.ToLower(strings.TrimSpace(strings.TrimSuffix(h[1], ":")))
			continue
		}
		out[name] += line
	}
	return out
}

// items returns the items of a list; indented lines below one belong to it. A
// ticked box is done already and left out.
func items(text string) (out []string) {
	open := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\n")
		m := item.FindStringSubmatch(line)
		switch {
		case m != nil:
			open = !strings.EqualFold(m[1], "x") && m[2] != ""
			if open {
				out = append(out, strings.TrimSpace(m[2]))
			}
		case line == "":
		case open && (line[0] == ' ' || line[0] == '\t'):
			out[len(out)-1] += "\n" + strings.TrimSpace(line)
		default:
			open = false
		}
	}
	return out
}

// commands returns the commands of Verify: the lines of its code blocks, or,
// without one, the items of its list.
func commands(text string) (out []string) {
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if fence.MatchString(line) {
			fenced = !fenced
		} else if fenced && line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, strings.TrimPrefix(line, "$ "))
		}
	}
	if out == nil {
		out = withoutBackquotes(items(text))
	}
	return out
}

// withoutBackquotes removes the backquotes around items.
func withoutBackquotes(items []string) (out []string) {
	for _, i := range items {
		if m := quoted.FindStringSubmatch(i); m != nil && strings.HasPrefix(i, "`") {
			i = m[1]
		}
		out = append(out, strings.TrimSpace(i))
	}
	return out
}

// readSteps turns the list of tasks into steps, and returns the files that they
// edit.
func (t *file) readSteps(text string) (files []string, err error) {
	list := items(text)
	if len(list) == 0 {
		return nil, fmt.Errorf("it has no list of steps under a heading Tasks")
	}
	at := ""
	for n, i := range list {
		s := step{ID: fmt.Sprintf("step-%d", n+1)}
		if m := runs.FindStringSubmatch(i); m != nil {
			s.Action, s.Command = "run", strings.Trim(m[1]+m[2], "` ")
		} else {
			if named := firstFile(i); named != "" {
				at = named
			}
			if at == "" {
				return nil, fmt.Errorf("its first task names no file: write \"`path/of/file`: %s\"", termtext.OneLine(i))
			}
			if !slices.Contains(files, at) {
				files = append(files, at)
			}
			s.Action, s.File, s.Instructions = "edit", at, i
		}
		t.Steps = append(t.Steps, s)
	}
	return files, nil
}

// firstFile returns the first text in backquotes that looks like a file.
func firstFile(s string) string {
	for _, m := range quoted.FindAllStringSubmatch(s, -1) {
		p := m[1]
		if !strings.ContainsAny(p, " \t*?[]{}()<>\\:;,\"'|&$=") && (strings.Contains(p, "/") || path.Ext(p) != "" || p == strings.ToUpper(p)) && !strings.HasSuffix(p, "/") {
			return p
		}
	}
	return ""
}
