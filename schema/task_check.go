package schema

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"aisync.dev/aisync/schema/spec"
)

// Upper bounds of a task file: a larger task is several.
const (
	maxSteps  = 100
	maxVerify = 50
	maxGlobs  = 200
	maxNeeds  = 200
)

// checkTask checks what the definitions cannot: the fields of each action,
// paths, patterns, dates and numbers.
func (n node) checkTask(t *spec.Task) {
	n.checkSteps(t)
	scope := n.get("scope")
	for _, list := range []string{"allowed_write_globs", "allowed_read_globs"} {
		scope.get(list).checkMax(maxGlobs, "globs")
		for _, g := range scope.get(list).elements() {
			switch why := badPath(g.str()); {
			case why != "":
				g.problem(why, "a glob is relative to the repository, as in src/**/*.go")
			case g.str() != "" && path.Clean(g.str()) != strings.TrimSuffix(g.str(), "/"):
				g.problem(fmt.Sprintf("%q has an empty element, or one that is a dot", g.str()), "want "+path.Clean(g.str()))
			case !doublestar.ValidatePattern(g.str()):
				g.problem(fmt.Sprintf("invalid glob %q: unbalanced bracket, brace or trailing backslash", g.str()), "")
			}
		}
	}
	n.get("constraints").get("denylisted_commands").checkMax(maxGlobs, "patterns")
	for _, d := range n.get("constraints").get("denylisted_commands").elements() {
		if _, err := regexp.Compile(d.str()); err != nil {
			d.problem("invalid regular expression: "+err.Error(), "the syntax is https://golang.org/s/re2syntax")
		}
	}
	n.get("verify").checkMax(maxVerify, "commands")
	needs := n.get("dependencies")
	for _, list := range []string{"requires_completed", "blocks"} {
		needs.get(list).checkMax(maxNeeds, "ids")
		for i, e := range needs.get(list).elements() {
			switch {
			case e.str() != "" && e.str() == t.ID:
				e.problem("the task itself", "")
			case slices.Contains(needs.get(list).strings()[:i], e.str()):
				e.problem("named twice", "")
			case list == "blocks" && slices.Contains(t.Requires, e.str()):
				e.problem("it is also in requires_completed: the two would wait for each other", "")
			}
		}
	}
	if t.Issue == 0 {
		t.Issue = issueOf(t.Source)
	}
}

func (n node) checkSteps(t *spec.Task) {
	list := n.get("steps")
	if t.Form == "flat" {
		list = n.get("edits")
	} else if list.exists() && len(t.Steps) == 0 {
		list.problem("no step", "a step creates a file (file, text), edits one (file, instructions) or runs a command")
	}
	list.checkMax(maxSteps, "steps")
	seen := map[string]bool{}
	for i, s := range list.elements() {
		if id := t.Steps[i].ID; id != "" && seen[id] {
			s.get("id").problem("duplicate id", "")
		}
		seen[t.Steps[i].ID] = true
		s.checkFields(t.Steps[i].Action)
		if f := s.get("file"); f.exists() && f.str() != "" {
			if why := badPath(f.str()); why != "" {
				f.problem(why, "a file is named from the top of the repository, as in src/main.go")
			} else if strings.HasSuffix(f.str(), "/") {
				f.problem("a folder", "name the file in it")
			}
			t.Steps[i].File = path.Clean(f.str())
		}
	}
}

// stepFields are the required and allowed fields of a step, by its action.
var stepFields = map[string][]string{
	"create": {"file", "text"},
	"edit":   {"file", "instructions"},
	"run":    {"command"},
}

// checkFields checks that a step has the fields of its action, and no others.
func (n node) checkFields(action string) {
	want, ok := stepFields[action]
	if !ok {
		return
	}
	for _, f := range want {
		if !n.get(f).exists() {
			n.doc.add(Problem{Pos: n.labelPos(), Path: pathText(n.path), Message: f + " is missing", Hint: fmt.Sprintf("a step that does %q has %s", action, strings.Join(want, " and "))})
		}
	}
	for _, f := range []string{"file", "text", "instructions", "command"} {
		if n.get(f).exists() && !slices.Contains(want, f) {
			at := n.get(f)
			n.doc.add(Problem{Pos: at.labelPos(), Path: pathText(at.path), Message: fmt.Sprintf("not allowed in a step that does %q", action), Hint: "it has " + strings.Join(want, " and ")})
		}
	}
}

// badPath returns why p is not a path that a task may touch in a work tree; ""
// if it is.
func badPath(p string) string {
	parts := strings.Split(p, "/")
	switch {
	case strings.HasPrefix(p, "/"), strings.HasPrefix(p, "~"):
		return "want a path below the repository, got " + strconv.Quote(p)
	case slices.Contains(parts, ".."):
		return strconv.Quote(p) + " leads out of the repository"
	case strings.Contains(p, `\`) && strings.Contains(p, `..\`):
		return strconv.Quote(p) + " leads out of the repository"
	case slices.ContainsFunc(parts, func(s string) bool { return strings.EqualFold(s, ".git") }):
		return strconv.Quote(p) + " is git's own"
	case path.Clean(p) == ".":
		return "want a path below the repository, got " + strconv.Quote(p)
	}
	return ""
}

// checkMax reports a list that is too long.
func (n node) checkMax(most int, what string) {
	if got := len(n.elements()); got > most {
		n.problem(fmt.Sprintf("%d %s, more than %d", got, what, most), "make several tasks of it")
	}
}

// issueOf returns the number in "gitea:<project>:<number>", 0 without one.
func issueOf(source string) int {
	rest, ok := strings.CutPrefix(source, "gitea:")
	if !ok {
		return 0
	}
	number, err := strconv.Atoi(rest[strings.LastIndexByte(rest, ':')+1:])
	if err != nil || number < 0 {
		return 0
	}
	return number
}

// timeForms are the accepted forms of a time; without a zone it is UTC.
var timeForms = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02"}

func (n node) time() time.Time {
	s := n.str()
	for _, form := range timeForms {
		if at, err := time.Parse(form, s); err == nil {
			return at
		}
	}
	if regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ]|$)`).MatchString(s) { // otherwise the definition has reported it
		n.problem(fmt.Sprintf("want a time such as 2026-02-02T10:00:00Z, got %q", s), "")
	}
	return time.Time{}
}

// intOr reads an optional int.
func (n node) intOr(otherwise int) int {
	if !n.exists() {
		return otherwise
	}
	return int(n.int())
}

func (n node) seconds(otherwise time.Duration) time.Duration {
	if !n.exists() {
		return otherwise
	}
	return time.Duration(n.int()) * time.Second
}
