package recipes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// recipe is one section of CONTRIBUTING.md.
type recipe struct {
	title string
	steps []step
	proof string // the commands that fail before the steps and pass after them
}

// step is a file to write, or an edit of one that is there.
type step struct {
	line int // of the document
	file string
	edit bool // text is lines that begin with a blank, - or +
	text string
}

// proves reports whether s is a test, rather than what the test is about.
func (s step) proves() bool {
	return strings.HasSuffix(s.file, "_test.go") || strings.Contains(s.file, "/testdata/")
}

var fence = regexp.MustCompile("^```([a-z]*)(?: (.+))?$")

// parse reads the sections of third level below "## Recipes". A block is a step
// where its fence says file=NAME, an edit where it is also a diff, and the proof
// where it says run. Each other block is for the reader alone.
func parse(doc string) ([]recipe, error) {
	head, doc, ok := strings.Cut(doc, "\n## Recipes\n")
	if !ok {
		return nil, errors.New(`no section "Recipes"`)
	}
	var all []recipe
	var block *step // that is open
	kind, text := "", []string{}
	first := strings.Count(head, "\n") + 3 // the line below the heading
	for i, line := range strings.Split(doc, "\n") {
		m := fence.FindStringSubmatch(line)
		title, heading := strings.CutPrefix(line, "### ")
		switch {
		case block != nil && line == "```":
			r := &all[len(all)-1]
			block.text = strings.Join(text, "\n") + "\n"
			switch {
			case r.proof != "":
				return nil, fmt.Errorf("%s: a block after the proof", r.title)
			case kind == "run":
				r.proof = block.text
			case block.file != "":
				r.steps = append(r.steps, *block)
			}
			block = nil
		case block != nil:
			text = append(text, line)
		case strings.HasPrefix(line, "## "):
			return all, nil
		case heading:
			all = append(all, recipe{title: title})
		case m != nil && len(all) == 0:
			return nil, errors.New("a block before the first recipe")
		case m != nil:
			block, kind, text = &step{line: first + i, edit: m[1] == "diff"}, m[2], nil
			if name, ok := strings.CutPrefix(kind, "file="); ok {
				block.file = name
			} else if kind != "" && kind != "run" {
				return nil, fmt.Errorf("%s: unknown block %q", all[len(all)-1].title, line)
			}
		}
	}
	if block != nil {
		return nil, errors.New("the last block has no end")
	}
	return all, nil
}

// apply does s below dir.
func (s step) apply(dir string) error {
	name := filepath.Join(dir, filepath.FromSlash(s.file))
	text, err := os.ReadFile(name)
	switch {
	case !s.edit && err == nil:
		return fmt.Errorf("%s is there already", s.file)
	case !s.edit && !errors.Is(err, fs.ErrNotExist), s.edit && err != nil:
		return err
	case !s.edit:
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return os.WriteFile(name, []byte(s.text), 0o644)
	}
	next, err := patch(string(text), s.text)
	if err != nil {
		return fmt.Errorf("%s: %w", s.file, err)
	}
	return os.WriteFile(name, []byte(next), 0o644)
}

// patch replaces the lines of diff that begin with a blank or - by those that
// begin with a blank or +. They must be in text once.
func patch(text, diff string) (string, error) {
	var before, after strings.Builder
	for line := range strings.Lines(diff) {
		op, rest := line[0], line[1:]
		if op == '\n' {
			op, rest = ' ', line
		}
		if !strings.ContainsRune(" -+", rune(op)) {
			return "", fmt.Errorf("the line %q of a diff begins with none of blank, - and +", line)
		}
		if op != '+' {
			before.WriteString(rest)
		}
		if op != '-' {
			after.WriteString(rest)
		}
	}
	text, old := "\n"+text, "\n"+before.String()
	at := strings.Index(text, old)
	if before.Len() == 0 || at < 0 || strings.LastIndex(text, old) != at {
		return "", fmt.Errorf("these lines are not there, or more than once:\n%s", before.String())
	}
	return text[1:at+1] + after.String() + text[at+len(old):], nil
}

func TestParse(t *testing.T) {
	const doc = "# C\n\n```sh\nmake\n```\n\n## Recipes\n\nWords.\n\n### A thing\n\n1. Write\n\n```go file=a/b.go\npackage a\n\n// x\n```\n\n2. List\n\n" +
		"```diff file=l.txt\n a\n+b\n```\n\n```sh\nfor the reader\n```\n\n```sh run\ngo test\n```\n\n### Words only\n\nSee there.\n\n## More\n\n### Not this\n"
	all, err := parse(doc)
	if err != nil || len(all) != 2 || len(all[0].steps) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	a, b := all[0].steps[0], all[0].steps[1]
	if a.file != "a/b.go" || a.line != 15 || a.edit || a.text != "package a\n\n// x\n" || b.file != "l.txt" || !b.edit || all[0].proof != "go test\n" || all[1].proof != "" {
		t.Errorf("%+v", all)
	}
	for name, bad := range map[string]string{
		"no recipes":     "# C\n",
		"no end":         "\n## Recipes\n### A\n```sh run\ngo test\n",
		"after a proof":  "\n## Recipes\n### A\n```sh run\ngo test\n```\n```go file=a.go\npackage a\n```\n",
		"before a title": "\n## Recipes\n```sh run\n```\n",
		"a misspelling":  "\n## Recipes\n### A\n```go flie=a.go\n```\n",
	} {
		if all, err := parse(bad); err == nil {
			t.Errorf("%s: %+v", name, all)
		}
	}
}

func TestPatch(t *testing.T) {
	for name, c := range map[string]struct{ text, diff, want string }{
		"added":          {"a\nb\nc\n", " a\n+x\n b\n", "a\nx\nb\nc\n"},
		"replaced":       {"a\nb\nc\n", "-b\n+x\n", "a\nx\nc\n"},
		"indented":       {"f {\n\ta\n}\n", " \ta\n+\tb\n", "f {\n\ta\n\tb\n}\n"},
		"an empty line":  {"a\n\nb\n", " a\n\n+x\n", "a\n\nx\nb\n"},
		"part of a line": {"xa\n", " a\n+b\n", ""},
		"twice":          {"a\na\n", " a\n+b\n", ""},
		"not there":      {"a\n", " b\n+c\n", ""},
		"no context":     {"a\n", "+b\n", ""},
		"no diff":        {"a\n", "a\n+b\n", ""},
	} {
		got, err := patch(c.text, c.diff)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
