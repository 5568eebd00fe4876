package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"aisync.dev/aisync/app/projects"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/everyproject"
	"aisync.dev/aisync/internal/quantity"
)

// allPlans is plan --all --json; see docs/json.md.
type allPlans struct {
	FormatVersion string                     `json:"format_version"`
	Projects      []json.RawMessage          `json:"projects"`
	Groups        []everyproject.GroupDoc    `json:"groups"`
	WithoutSpec   []everyproject.WithoutSpec `json:"without_spec"`
	Summary       allSummary                 `json:"summary"`
}

// allSummary counts projects.
type allSummary struct {
	Projects int `json:"projects"`
	InOrder  int `json:"in_order"`
	Changing int `json:"changing"`
	Waiting  int `json:"waiting"` // for a person: undecided, unknown, effects, flagged
	Failed   int `json:"failed"`
}

// summarizeAll counts plans; one that changes and waits counts in both.
func summarizeAll(plans []*everyproject.Planned) allSummary {
	s := allSummary{Projects: len(plans)}
	for _, p := range plans {
		switch {
		case p.Failed != "":
			s.Failed++
			continue
		case p.InOrder():
			s.InOrder++
			continue
		case p.Changing() > 0:
			s.Changing++
		}
		if waits(p) != "" {
			s.Waiting++
		}
	}
	return s
}

func (s allSummary) String() string {
	return fmt.Sprintf("%s: %d to change, %d in order, %d waiting for you, %d failed.", quantity.Count(s.Projects, "project"), s.Changing, s.InOrder, s.Waiting, s.Failed)
}

// planAll shows the plans of all projects.
func planAll(ctx context.Context, r *everyproject.Run, diff string, detailed bool) error {
	mode, err := cli.ParseDiffMode(diff)
	if err != nil {
		return err
	}
	args := r.Command([]string{"detailed-exitcode"}, nil, "--json", "--scope=project")
	answers := r.Each(ctx, r.List, everyproject.Parallel(), func(projects.Project) []string { return args }, nil)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	plans := r.Plans(answers)
	if err := wrongForAll(plans); err != nil {
		return err
	}
	s := summarizeAll(plans)
	if r.App.Flags.JSON {
		if err := printPlans(r, plans); err != nil {
			return err
		}
	} else {
		r.PrintPlans(plans, "What would change", mode)
		r.PrintWithoutSpec()
		r.Gap()
		r.App.Printf("%s\n", s)
		if s.Changing > 0 {
			r.App.Hint("\nTo apply this: aisync apply --all")
		}
	}
	var codes []int
	for _, p := range plans {
		switch {
		case p.Failed != "" || p.Summary.Unknown > 0:
			codes = append(codes, cli.ExitError)
		case detailed && !p.InOrder():
			codes = append(codes, cli.ExitDiff)
		}
	}
	return everyproject.ExitFor(codes)
}

// printPlans prints plans as JSON.
func printPlans(r *everyproject.Run, plans []*everyproject.Planned) error {
	doc := allPlans{cli.ViewVersion, []json.RawMessage{}, everyproject.Show(plans).Changes.Docs(), r.WithoutSpec(), summarizeAll(plans)}
	for _, p := range plans {
		fields, err := everyproject.Fields(p.Name, p.Failed, p.Out)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		doc.Projects = append(doc.Projects, fields)
	}
	return r.App.WriteJSON(doc)
}

// wrongForAll returns the error of a command line that is wrong in every project.
func wrongForAll(plans []*everyproject.Planned) error {
	none := len(plans) > 0
	for _, p := range plans {
		if p.Code == cli.ExitUsage {
			return &cli.UsageError{Text: p.Failed}
		}
		none = none && p.NoPart != ""
	}
	if none {
		return errors.New(plans[0].NoPart)
	}
	return nil
}

// waits says what of a plan waits for a person; "" if nothing does.
func waits(p *everyproject.Planned) string {
	n := p.Summary.Conflict + p.Summary.Unknown
	switch {
	case n > 0:
		return countAre(n, "resource") + " undecided"
	case len(p.Undecided) > 0:
		return countAre(len(p.Undecided), "effect") + " waiting for your yes"
	case len(p.Flagged) > 0:
		return countAre(len(p.Flagged), "text") + " flagged"
	}
	return ""
}
