package runtimes

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// matrixVersion is the format_version of runtimes matrix and show: in 1 the levels
// had other names.
const matrixVersion = "2.1"

// matrixDoc is runtimes matrix --json; see docs/json.md.
type matrixDoc struct {
	FormatVersion string      `json:"format_version"`
	Parts         []string    `json:"parts"`
	Runtimes      []matrixRow `json:"runtimes"`
}

type matrixRow struct {
	ID      string                   `json:"id"`
	Version string                   `json:"run_version,omitempty"` // of the program that was run
	Date    string                   `json:"run_date,omitempty"`
	User    map[string]catalog.Level `json:"user"`
	Project map[string]catalog.Level `json:"project"`
}

func runtimesMatrixCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "matrix",
		Short: "print which part of a spec reaches which runtime, and how it was tested",
		Long: `Prints a table of runtimes and parts of a spec. run: seen with the program, in
the version that --json names; parsed: its own parser takes it; documented: aisync
writes it as the program's documentation says; manual: you must do it yourself.
Where host and project differ, the host's comes first.`,
		Example:     "  $ aisync runtimes matrix",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k, err := listRuntimes(cmd.Context(), a)
			if err != nil {
				return err
			}
			if a.Flags.JSON {
				return a.WriteJSON(matrixOf(k.index.Runtimes()))
			}
			if n := a.Columns(); n > 0 && n < matrixWidth {
				return printNarrow(a, k.index.Runtimes())
			}
			t := a.Table()
			fmt.Fprint(t, "RUNTIME")
			for _, p := range catalog.Parts() {
				fmt.Fprintf(t, "\t%s", p.Name)
			}
			fmt.Fprintln(t)
			for _, r := range k.index.Runtimes() {
				fmt.Fprint(t, termtext.Safe(r.ID))
				for _, p := range catalog.Parts() {
					fmt.Fprintf(t, "\t%s", Cell(p, r))
				}
				fmt.Fprintln(t)
			}
			return t.Flush()
		},
	}
}

// matrixWidth is how many columns the table takes.
const matrixWidth = 206

// printNarrow prints the matrix as a list: what was run for a runtime, what is
// documented, and so on.
func printNarrow(a *cli.App, runtimes []spec.Runtime) error {
	t := a.Table()
	for _, r := range runtimes {
		var levels []string
		parts := map[string][]string{}
		for _, p := range catalog.Parts() {
			level := Cell(p, r)
			if parts[level] == nil {
				levels = append(levels, level)
			}
			parts[level] = append(parts[level], p.Name)
		}
		for i, level := range levels {
			name := ""
			if i == 0 {
				name = termtext.Safe(r.ID)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\n", name, level, strings.Join(parts[level], ", "))
		}
	}
	return t.Flush()
}

// Cell returns the level of p for r, or the levels of host and project if they differ.
func Cell(p catalog.Part, r spec.Runtime) string {
	user, _ := p.User(r)
	project, _ := p.Project(r)
	if user == project || p.UserOnly {
		return string(user)
	}
	return string(user) + "/" + string(project)
}

func matrixOf(runtimes []spec.Runtime) matrixDoc {
	doc := matrixDoc{FormatVersion: matrixVersion, Parts: []string{}, Runtimes: []matrixRow{}}
	for _, p := range catalog.Parts() {
		doc.Parts = append(doc.Parts, p.Name)
	}
	for _, r := range runtimes {
		proof, _ := catalog.ProofOf(r.ID)
		row := matrixRow{r.ID, proof.Version, proof.Date, map[string]catalog.Level{}, map[string]catalog.Level{}}
		for _, p := range catalog.Parts() {
			row.User[p.Name], _ = p.User(r)
			if !p.UserOnly {
				row.Project[p.Name], _ = p.Project(r)
			}
		}
		doc.Runtimes = append(doc.Runtimes, row)
	}
	return doc
}
