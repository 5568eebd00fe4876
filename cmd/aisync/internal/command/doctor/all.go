package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"aisync.dev/aisync/app/doctor"
	"aisync.dev/aisync/app/projects"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/everyproject"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/shellquote"
)

// examined is what doctor found in one project.
type examined struct {
	name   string
	dir    string
	failed string // why it was not examined
	doc    string // as the command printed it
	OK     bool   `json:"ok"`
	Checks []doctor.Result
}

// doctorAll runs the checks of all projects. Those of the machine are the same for
// each, and left out.
func doctorAll(ctx context.Context, r *everyproject.Run, start bool) error {
	if start {
		return cli.Usagef("--start-servers is for one project: leave out --all")
	}
	args := r.Command(nil, nil, "--json", "--scope=project")
	var found []examined
	for _, answer := range r.Each(ctx, r.List, everyproject.Parallel(), func(projects.Project) []string { return args }, nil) {
		if answer.Code == cli.ExitUsage {
			return &cli.UsageError{Text: answer.Error()}
		}
		x := examined{name: r.Name(answer.Dir), dir: answer.Dir, doc: answer.Out}
		if answer.Out == "" {
			x.failed = answer.Error()
		} else if err := everyproject.Decode(answer, &x); err != nil {
			x.failed, x.doc = err.Error(), ""
		}
		found = append(found, x)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	bad := 0
	for _, x := range found {
		if x.failed != "" || !x.OK {
			bad++
		}
	}
	if err := printAll(r, found, bad); err != nil {
		return err
	}
	if bad > 0 {
		return cli.Exit(cli.ExitError)
	}
	return nil
}

// mostFindings is how many findings of one check in one project are shown without
// --verbose.
const mostFindings = 4

func printAll(r *everyproject.Run, found []examined, bad int) error {
	a := r.App
	if a.Flags.JSON {
		list := []json.RawMessage{}
		for _, x := range found {
			fields, err := everyproject.Fields(x.name, x.failed, x.doc)
			if err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
			list = append(list, fields)
		}
		return a.WriteJSON(struct {
			FormatVersion string                     `json:"format_version"`
			OK            bool                       `json:"ok"`
			Projects      []json.RawMessage          `json:"projects"`
			WithoutSpec   []everyproject.WithoutSpec `json:"without_spec"`
		}{cli.ViewVersion, bad == 0, list, r.WithoutSpec()})
	}
	var rows []everyproject.Row
	groups := everyproject.Groups{Order: []string{"fail", "warn", "skip"}}
	for _, x := range found {
		count := map[string]int{}
		for _, check := range x.Checks {
			shown := 0
			for _, f := range check.Findings {
				count[f.Level]++
				switch {
				case f.Level == "ok" || f.Level == "skip" && !a.Flags.Verbose:
				case shown < mostFindings || a.Flags.Verbose:
					groups.Add(x.name, changeOf(x.dir, check, f))
					shown++
				case shown == mostFindings:
					groups.Add(x.name, everyproject.Change{Word: f.Level, What: check.Name, Why: fmt.Sprintf("and %d more; aisync doctor there lists them", len(check.Findings)-shown)})
					shown++
				}
			}
		}
		row := everyproject.Row{Project: x.name, Text: text(count), Failed: x.failed != "" || !x.OK}
		if x.failed != "" {
			row.Text = "not checked: " + cli.OneMessage(x.failed)
		}
		if row.Failed || count["warn"] > 0 || a.Flags.Verbose {
			rows = append(rows, row)
		}
	}
	r.PrintRows(rows)
	groups.Print(r, "Findings, each with a fix to be run in the project", len(found), cli.DiffNone, paintLevel)
	r.PrintWithoutSpec()
	r.Gap()
	a.Printf("%s: %d in order, %d with failures.\n", quantity.Count(len(found), "project"), len(found)-bad, bad)
	a.Hint("For the machine itself: aisync doctor --scope host")
	return nil
}

// text counts findings by level, in words.
func text(count map[string]int) string {
	var words []string
	if n := count["fail"]; n > 0 {
		words = append(words, quantity.Count(n, "failure"))
	}
	if n := count["warn"]; n > 0 {
		words = append(words, quantity.Count(n, "warning"))
	}
	if len(words) == 0 {
		return "in order"
	}
	return strings.Join(words, ", ")
}

// changeOf returns a finding in the project in dir as one that others may have: paths
// are relative to dir.
func changeOf(dir string, check doctor.Result, f doctor.Finding) everyproject.Change {
	why := strings.ReplaceAll(strings.ReplaceAll(f.What, ":\n", ": "), "\n", "; ")
	if f.Fix != "" {
		why += "; fix: " + strings.ReplaceAll(f.Fix, "\n", "; ")
	}
	why = strings.ReplaceAll(why, "cd "+shellquote.Terminal(dir)+" && ", "")
	return everyproject.Change{Word: f.Level, What: check.Name, Why: strings.ReplaceAll(why, dir+"/", "")}
}

func paintLevel(p cli.Painter, level string) string {
	switch level {
	case "fail":
		return p.Red(level)
	case "warn":
		return p.Yellow(level)
	}
	return p.Dim(level)
}
