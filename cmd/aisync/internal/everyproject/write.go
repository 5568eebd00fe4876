package everyproject

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"aisync.dev/aisync/app/projects"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/quantity"
)

// Result is what became of a command in one project.
type Result struct {
	Answer
	Name   string
	Failed string // why it failed, or did only a part
	Commit *Commit
}

// Confirm asks a question about all projects. With --json nothing was shown that a
// person could say yes to, so that --yes is required.
func (r *Run) Confirm(yes bool, question string) error {
	if !yes && r.App.Flags.JSON {
		return advice.Command(errors.New("confirmation required, but --json shows nothing before it"), "the same command with --yes")
	}
	return r.App.Confirm(yes, question)
}

// Ask runs args in each project of list, in several at a time if they only look, and
// returns the results. A usage error of the command is returned as one.
func (r *Run) Ask(ctx context.Context, list []projects.Project, n int, args func(projects.Project) []string) ([]*Result, error) {
	var out []*Result
	for _, a := range r.Each(ctx, list, n, args, nil) {
		if a.Code == cli.ExitUsage {
			return nil, &cli.UsageError{Text: a.Error()}
		}
		out = append(out, &Result{Answer: a, Name: r.Name(a.Dir), Failed: a.Error(), Commit: &Commit{}})
	}
	return out, ctx.Err()
}

// Write runs args, a command that writes files, in each project of list, one after the
// other, and commits what it wrote as c asks.
func (r *Run) Write(ctx context.Context, list []projects.Project, c Commits, files func(projects.Project) []string, args func(projects.Project) []string) ([]*Result, error) {
	written := map[string][]string{}
	for _, p := range list {
		written[p.Dir] = files(p)
	}
	commits := c.Before(ctx, written)
	results, err := r.Ask(ctx, list, 1, args)
	for _, x := range results {
		x.Commit = commits[x.Dir]
		if x.Code == cli.ExitOK || x.Code == cli.ExitPartial {
			c.After(context.WithoutCancel(ctx), x.Commit)
		}
	}
	return results, err
}

// Print prints a line for each result that failed, that text has words for, or that
// has a commit, and the last line: in how many projects done, a verb in the past, was
// done. With --json it prints the documents.
func (r *Run) Print(results []*Result, done string, text func(*Result) string) error {
	a := r.App
	failed, counted := 0, 0
	var rows []Row
	for _, x := range results {
		row := Row{Project: x.Name, Failed: x.Failed != ""}
		if x.Failed == "" {
			row.Text = text(x)
		}
		switch {
		case x.Failed != "":
			failed++
			row.Text = "failed: " + cli.OneMessage(x.Failed)
		case row.Text != "":
			counted++
		}
		if row.Text += x.Commit.Text(); row.Text != "" {
			rows = append(rows, row)
		}
	}
	if a.Flags.JSON {
		return r.printDocs(results, counted, failed)
	}
	r.Gap()
	r.PrintRows(rows)
	line := fmt.Sprintf("%s in %s", done, quantity.Count(counted, "project"))
	if counted == 0 {
		line = done + " in no project"
	}
	if failed > 0 {
		line += fmt.Sprintf(", %d failed", failed)
	}
	a.Printf("%s.\n", line)
	return nil
}

func (r *Run) printDocs(results []*Result, changed, failed int) error {
	list := []json.RawMessage{}
	for _, x := range results {
		fields, err := Fields(x.Name, x.Failed, x.Out)
		if err != nil {
			return fmt.Errorf("%s: %w", x.Name, err)
		}
		list = append(list, fields)
	}
	return r.App.WriteJSON(struct {
		FormatVersion string            `json:"format_version"`
		Projects      []json.RawMessage `json:"projects"`
		WithoutSpec   []WithoutSpec     `json:"without_spec"`
		Summary       map[string]int    `json:"summary"`
	}{cli.ViewVersion, list, r.WithoutSpec(), map[string]int{"projects": len(results), "changed": changed, "failed": failed}})
}

// Exit returns the exit code for results, as an error.
func Exit(results []*Result) error {
	var codes []int
	for _, x := range results {
		codes = append(codes, x.Code)
		if x.Failed != "" && x.Code == cli.ExitOK {
			codes = append(codes, cli.ExitError)
		}
		if x.Commit.Why != "" {
			codes = append(codes, cli.ExitPartial)
		}
	}
	return ExitFor(codes)
}
