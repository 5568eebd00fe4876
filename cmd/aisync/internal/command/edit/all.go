package edit

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/projects"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/everyproject"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// registerAll adds --all to cmd, which edits the specs of all projects after one
// question.
func registerAll(cmd *cobra.Command, a *cli.App) {
	var yes bool
	var commit everyproject.CommitFlags
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "with --all: do not ask")
	commit.Register(cmd)
	everyproject.Register(cmd, a, func(ctx context.Context, r *everyproject.Run) error { return editAll(ctx, r, commit, yes) })
}

// editAll shows how the specs of all projects would change, asks, and changes them.
func editAll(ctx context.Context, r *everyproject.Run, f everyproject.CommitFlags, yes bool) error {
	commits, err := r.Commits(f)
	if err != nil {
		return err
	}
	look := r.Command([]string{"dry-run"}, r.Args, "--json", "--scope=project", "--dry-run")
	shown, err := r.Ask(ctx, r.List, 1, func(p projects.Project) []string { return from(r.Cwd(), p.Dir, look) })
	if err != nil {
		return err
	}
	a := r.App
	docs := map[string]editDoc{}
	var groups everyproject.Groups
	var todo []projects.Project
	var rest []*everyproject.Result // that failed, or that need no change
	forgiveAbsent(shown)
	for _, x := range shown {
		var doc editDoc
		if x.Failed == "" && x.Out != "" {
			if err := everyproject.Decode(x.Answer, &doc); err != nil {
				x.Failed = err.Error()
			}
		}
		docs[x.Dir] = doc
		for _, file := range doc.Files {
			groups.Add(x.Name, everyproject.Change{Word: "~", What: file.File, Lines: view.DiffLinesOf(file.Diff)})
		}
		for _, note := range doc.Notes {
			groups.Add(x.Name, everyproject.Change{Word: " ", What: note})
		}
		if len(doc.Files) > 0 {
			todo = append(todo, x.Project)
		} else {
			rest = append(rest, x)
		}
	}
	if !a.Flags.JSON {
		groups.Print(r, "What changes in the specs", len(shown), cli.DiffFull, everyproject.Sign)
	}
	if dry := r.Flag("dry-run"); dry == "true" {
		if err := r.Print(shown, "To be changed", func(x *everyproject.Result) string { return changes(docs[x.Dir]) }); err != nil {
			return err
		}
		return everyproject.Exit(shown)
	}
	if len(todo) > 0 {
		if err := r.Confirm(yes, "Change the specs of "+quantity.Count(len(todo), "project")+"?"); err != nil {
			return err
		}
	}
	write := r.Command(nil, r.Args, "--json", "--scope=project")
	results, err := r.Write(ctx, todo, commits, func(p projects.Project) []string {
		files := []string{place.SpecFile}
		for _, f := range docs[p.Dir].Files {
			files = append(files, f.File)
		}
		return files
	}, func(p projects.Project) []string { return from(r.Cwd(), p.Dir, write) })
	if err != nil {
		return err
	}
	results = append(results, rest...)
	slices.SortFunc(results, func(x, y *everyproject.Result) int { return strings.Compare(x.Dir, y.Dir) })
	if err := r.Print(results, "Changed", func(x *everyproject.Result) string { return changes(docs[x.Dir]) }); err != nil {
		return err
	}
	if len(todo) > 0 {
		a.Hint("next: aisync plan --all")
	}
	return everyproject.Exit(results)
}

// forgiveAbsent clears the failures of specs that lack the entry to remove, if another
// spec has it.
func forgiveAbsent(results []*everyproject.Result) {
	absent := func(x *everyproject.Result) bool {
		return strings.HasPrefix(x.Failed, fmt.Sprintf(notThere, "project"))
	}
	if !slices.ContainsFunc(results, func(x *everyproject.Result) bool { return x.Failed == "" }) {
		return
	}
	for _, x := range results {
		if absent(x) {
			x.Failed, x.Code = "", cli.ExitOK
		}
	}
}

// from returns words, a command that was typed in cwd, as it is typed in dir: the paths
// of sources are other ones there. What an MCP server runs is meant from its project.
func from(cwd, dir string, words []string) []string {
	if slices.Contains(words[:2], "mcp") {
		return words
	}
	out := slices.Clone(words)
	for i, word := range words {
		flag, path := "", word
		if rest, ok := strings.CutPrefix(word, "--source="); ok {
			flag, path = "--source=", rest
		}
		if !strings.HasPrefix(path, "./") && !strings.HasPrefix(path, "../") {
			continue
		}
		folder, part, inside := strings.Cut(path, "//")
		rel, err := filepath.Rel(dir, filepath.Join(cwd, folder))
		if err != nil {
			continue
		}
		if rel = filepath.ToSlash(rel); !strings.HasPrefix(rel, ".") {
			rel = "./" + rel
		}
		if inside {
			rel += "//" + part
		}
		out[i] = flag + rel
	}
	return out
}

// changes says in a line which files of a spec change; "" for none.
func changes(doc editDoc) string {
	switch n := len(doc.Files); n {
	case 0:
		return ""
	case 1:
		return termtext.Safe(doc.Files[0].File)
	default:
		return fmt.Sprintf("%d files", n)
	}
}
