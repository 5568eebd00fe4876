package update

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/app/flagged"
	"aisync.dev/aisync/app/newer"
	"aisync.dev/aisync/app/projects"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/everyproject"
	"aisync.dev/aisync/internal/quantity"
)

// shared is the same move in several projects.
type shared struct {
	*move
	in []*everyproject.Result
}

// updateAll reviews what is newer than the pins of all projects, each move once, asks,
// and moves the pins to what was reviewed.
func updateAll(ctx context.Context, r *everyproject.Run, f flags, commit everyproject.CommitFlags) error {
	mode, err := cli.ParseDiffMode(f.diff)
	if err != nil {
		return err
	}
	commits, err := r.Commits(commit)
	if err != nil {
		return err
	}
	if len(r.Args) > 1 {
		return cli.Usagef("update --all takes one name; run it for each")
	}
	look := r.Command([]string{"dry-run", "accept", "diff"}, r.Args, "--json", "--scope=project", "--dry-run")
	shown, err := r.Ask(ctx, r.List, 1, func(projects.Project) []string { return look })
	if err != nil {
		return err
	}
	if len(r.Args) > 0 {
		forgiveUnknown(shown)
	}
	moves := sharedMoves(shown)
	a := r.App
	if !a.Flags.JSON {
		for _, m := range moves {
			m.printAs(a, mode, where(m.in), "aisync update --all")
		}
	}
	if f.dryRun {
		return conclusion(r, shown, moves, "To be moved")
	}
	chosen, open, err := chooseMoves(r, f, moves)
	if err != nil {
		return err
	}
	words := map[string][]string{}
	var todo []projects.Project
	for _, m := range chosen {
		for _, x := range m.in {
			if words[x.Dir] == nil {
				todo = append(todo, x.Project)
			}
			words[x.Dir] = append(words[x.Dir], m.Name)
		}
	}
	results, err := r.Write(ctx, todo, commits, func(projects.Project) []string { return []string{place.SpecFile} }, func(p projects.Project) []string {
		more := []string{"--json", "--scope=project", "--yes"}
		for _, m := range chosen {
			if slices.Contains(words[p.Dir], m.Name) {
				more = append(more, "--to="+m.Name+"="+m.To)
			}
		}
		return r.Command([]string{"diff", "to"}, words[p.Dir], append(more, accepts(chosen)...)...)
	})
	if err != nil {
		return err
	}
	for _, x := range shown {
		if words[x.Dir] == nil {
			results = append(results, x)
		}
	}
	slices.SortFunc(results, func(x, y *everyproject.Result) int { return strings.Compare(x.Dir, y.Dir) })
	if err := conclusion(r, results, chosen, "Moved"); err != nil {
		return err
	}
	if open > 0 {
		return waits(flagged.Waiting(open) + " for your yes (listed above); what has it was not moved; --accept ID is a yes")
	}
	return nil
}

// forgiveUnknown clears the failures of projects that lack the named source, if another
// project has it.
func forgiveUnknown(results []*everyproject.Result) {
	if !slices.ContainsFunc(results, func(x *everyproject.Result) bool { return x.Failed == "" }) {
		return
	}
	for _, x := range results {
		if strings.Contains(x.Failed, unknownName) {
			x.Failed, x.Code = "", cli.ExitOK
		}
	}
}

// sharedMoves returns the moves that results have, each once, in the order in which
// they come first.
func sharedMoves(results []*everyproject.Result) []*shared {
	var out []*shared
	known := map[string]*shared{}
	for _, x := range results {
		var doc updateDoc
		if x.Out == "" {
			continue
		}
		if err := everyproject.Decode(x.Answer, &doc); err != nil {
			x.Failed = err.Error()
			continue
		}
		for _, m := range doc.Updates {
			m.row = &newer.Row{Address: m.Address}
			key, _ := json.Marshal(m) // texts: cannot fail
			if known[string(key)] == nil {
				known[string(key)] = &shared{move: m}
				out = append(out, known[string(key)])
			}
			known[string(key)].in = append(known[string(key)].in, x)
		}
	}
	return out
}

// where names the projects of a move.
func where(in []*everyproject.Result) string {
	if len(in) > 3 {
		return "in " + quantity.Count(len(in), "project")
	}
	var names []string
	for _, x := range in {
		names = append(names, x.Name)
	}
	return "in " + strings.Join(names, ", ")
}

// chooseMoves asks once about all moves, and returns those to make, and how many
// flagged texts have no yes.
func chooseMoves(r *everyproject.Run, f flags, moves []*shared) (chosen []*shared, open int, err error) {
	count := 0
	for _, m := range moves {
		waiting := 0
		for _, t := range m.Review.Flagged {
			if !slices.Contains(f.accept, t.ID) {
				waiting++
			}
		}
		if open += waiting; waiting == 0 {
			chosen = append(chosen, m)
			count += len(m.in)
		}
	}
	if len(chosen) == 0 {
		return nil, open, nil
	}
	return chosen, open, r.Confirm(f.yes, fmt.Sprintf("Move %s of these projects to what is shown?", quantity.Count(count, "pin")))
}

// accepts is a yes to the flagged texts of moves, which were shown.
func accepts(moves []*shared) []string {
	var out []string
	for _, m := range moves {
		for _, t := range m.Review.Flagged {
			out = append(out, "--accept="+t.ID)
		}
	}
	return out
}

// conclusion prints the results of moves, and returns the exit code as an error.
func conclusion(r *everyproject.Run, results []*everyproject.Result, moves []*shared, done string) error {
	names := map[string][]string{}
	for _, m := range moves {
		for _, x := range m.in {
			names[x.Dir] = append(names[x.Dir], m.Name)
		}
	}
	if len(moves) == 0 && !r.App.Flags.JSON && !slices.ContainsFunc(results, func(x *everyproject.Result) bool { return x.Failed != "" }) {
		r.App.Printf("Everything is current in %s.\n", quantity.Count(len(results), "project"))
		return nil
	}
	if err := r.Print(results, done, func(x *everyproject.Result) string { return strings.Join(names[x.Dir], ", ") }); err != nil {
		return err
	}
	if done == "Moved" && len(moves) > 0 {
		r.App.Hint("next: aisync plan --all")
	}
	return everyproject.Exit(results)
}
