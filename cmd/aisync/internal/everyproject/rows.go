package everyproject

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"aisync.dev/aisync/app/projects"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

// Row is the line of one project.
type Row struct {
	Project string
	Text    string
	Failed  bool // in the colour of what needs a person
}

// PrintRows prints a line for each project, with the texts in a column. Where more than
// three failed for the same reason, one line has all of them.
func (r *Run) PrintRows(rows []Row) {
	a := r.App
	rows, same := folded(rows)
	p, width := a.Paint(), 0
	for _, row := range rows {
		width = max(width, min(len(row.Project), 50))
	}
	for _, row := range rows {
		r.printed = true
		text := termtext.Safe(row.Text)
		if row.Failed {
			text = p.Red(text)
		}
		name := fmt.Sprintf("%-*s", width, termtext.Safe(row.Project))
		a.Printf("%s\n", a.Hang(p.Bold(name)+"  ", text))
		if names := same[row.Text]; row.Failed && len(names) > few {
			a.Printf("%s\n", a.Hang("    ", p.Dim(termtext.Safe(strings.Join(names, ", ")))))
		}
	}
}

// Gap prints an empty line after what was printed already.
func (r *Run) Gap() {
	if r.printed {
		r.App.Printf("\n")
	}
	r.printed = true
}

// longText is the length of a text from which on it is shown once.
const longText = 40

// folded returns rows with equal long failures as one, and the projects of each.
func folded(rows []Row) ([]Row, map[string][]string) {
	same := map[string][]string{}
	for _, r := range rows {
		if r.Failed && len(r.Text) > longText {
			same[r.Text] = append(same[r.Text], r.Project)
		}
	}
	var out []Row
	for _, r := range rows {
		switch names := same[r.Text]; {
		case !r.Failed || len(names) <= few:
			out = append(out, r)
		case names[0] == r.Project:
			out = append(out, Row{Project: quantity.Count(len(names), "project"), Text: r.Text, Failed: true})
		}
	}
	return out, same
}

// WithoutSpec is a repository that programs have files in and no spec describes.
type WithoutSpec struct {
	Project string   `json:"project"`
	Has     []string `json:"has"`     // as import --from has them; or aisync.lock
	Command string   `json:"command"` // that gives it a spec
}

// WithoutSpec returns the repositories that have no spec.
func (r *Run) WithoutSpec() []WithoutSpec {
	out := []WithoutSpec{}
	for _, u := range r.Found.Unmanaged {
		name := r.Name(u.Dir)
		out = append(out, WithoutSpec{name, u.Has, takeIn(u, name)})
	}
	return out
}

// takeIn is the command that gives a repository a spec.
func takeIn(u projects.Unmanaged, name string) string {
	typed := shellquote.Terminal(name)
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		typed = "~/" + shellquote.Terminal(rest)
	}
	if len(u.Has) == 1 && u.Has[0] == "aisync.lock" {
		return "cd " + typed + " && aisync init --here"
	}
	return "aisync import " + typed
}

// mostWithout is how many repositories without a spec are named without --verbose.
const mostWithout = 10

// PrintWithoutSpec names the repositories that have no spec.
func (r *Run) PrintWithoutSpec() {
	list := r.WithoutSpec()
	if len(list) == 0 {
		return
	}
	r.Gap()
	r.App.Printf("%s\n", r.App.Paint().Bold("Without a spec, but with files of agent programs: to take one in"))
	left := 0
	if len(list) > mostWithout && !r.App.Flags.Verbose {
		list, left = list[:mostWithout], len(list)-mostWithout
	}
	var rows []Row
	for _, w := range list {
		rows = append(rows, Row{Project: "  " + w.Project, Text: w.Command + "  (" + strings.Join(w.Has, ", ") + ")"})
	}
	r.PrintRows(rows)
	if left > 0 {
		r.App.Printf("  … %s (--verbose)\n", quantity.Count(left, "more folder"))
	}
}

// Decode reads the document that a command printed.
func Decode(a Answer, to any) error {
	if err := json.Unmarshal([]byte(a.Out), to); err != nil {
		return fmt.Errorf("read what the command printed: %w", err)
	}
	return nil
}

// Fields returns a JSON object with the field project, an error if there is one, and
// the fields of doc, an object; doc may be empty.
func Fields(project, failed string, doc string) (json.RawMessage, error) {
	head, err := json.Marshal(struct {
		Project string `json:"project"`
		Error   string `json:"error,omitempty"`
	}{project, failed})
	if err != nil {
		return nil, err
	}
	doc = strings.TrimSpace(doc)
	switch {
	case doc == "" || doc == "{}":
		return head, nil
	case !strings.HasPrefix(doc, "{") || !json.Valid([]byte(doc)):
		return nil, errors.New("the command printed no object")
	}
	return json.RawMessage(string(head[:len(head)-1]) + "," + doc[1:]), nil
}

// worst orders exit codes: what a caller must know first.
var worst = []int{interrupted, cli.ExitError, cli.ExitPartial, cli.ExitConflict, cli.ExitDiff}

// ExitFor returns the exit code for codes, as an error: the gravest of them.
// A code that is none of these counts as an error, but --all in itself is no usage.
func ExitFor(codes []int) error {
	found := map[int]bool{}
	for _, c := range codes {
		switch c {
		case cli.ExitOK, cli.ExitPartial, cli.ExitConflict, cli.ExitDiff, interrupted:
			found[c] = true
		default:
			found[cli.ExitError] = true
		}
	}
	for _, c := range worst {
		if found[c] {
			return cli.Exit(c)
		}
	}
	return nil
}
