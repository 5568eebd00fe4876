package edit

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/bundle/lint"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
)

// lintDoc is lint --json; see docs/json.md.
type lintDoc struct {
	FormatVersion string         `json:"format_version"`
	Dir           string         `json:"dir"`
	Findings      []lint.Finding `json:"findings"`
	Errors        int            `json:"errors"`
	Warnings      int            `json:"warnings"`
}

// LintCommand builds the command lint.
func LintCommand(a *cli.App) *cobra.Command {
	strict := false
	cmd := &cobra.Command{
		Use:   "lint [DIR]",
		Short: "check a bundle source before others load it",
		Long: `Reads the bundle source in DIR (this folder) and prints what to mend as
file:line: level: what (check). It needs no spec, no home and no network, and
writes nothing. A line that holds "aisync-lint: ignore" is left alone.

` + checksText() + `
Exit codes: 0 no error was found; 1 something of level error was, or with
--strict of level warning.`,
		Example:     "  $ aisync lint\n  $ aisync lint ../rulesets --json",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.MaxArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return runLint(a, dir, strict)
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "exit 1 for warnings too")
	return cmd
}

// checksText lists the checks for the help.
func checksText() string {
	var b strings.Builder
	for _, c := range lint.Checks {
		fmt.Fprintf(&b, "  %-15s %s\n", c.Name, c.Doc)
	}
	return b.String()
}

func runLint(a *cli.App, dir string, strict bool) error {
	findings, err := lint.Dir(dir)
	if err != nil {
		return err
	}
	doc := lintDoc{FormatVersion: cli.ViewVersion, Dir: dir, Findings: cli.OrEmpty(findings)}
	for _, f := range findings {
		if f.Level == lint.Error {
			doc.Errors++
		} else {
			doc.Warnings++
		}
	}
	if a.Flags.JSON {
		if err := a.WriteJSON(doc); err != nil {
			return err
		}
	} else {
		printFindings(a, doc)
	}
	if doc.Errors > 0 || strict && doc.Warnings > 0 {
		return cli.Exit(cli.ExitError)
	}
	return nil
}

func printFindings(a *cli.App, doc lintDoc) {
	p := a.Paint()
	for _, f := range doc.Findings {
		at := termtext.Safe(filepath.Join(doc.Dir, filepath.FromSlash(f.File)))
		if f.Line > 0 {
			at += fmt.Sprintf(":%d", f.Line)
		}
		level := p.Red(string(f.Level))
		if f.Level == lint.Warning {
			level = p.Yellow(string(f.Level))
		}
		a.Printf("%s: %s: %s %s\n", p.Bold(at), level, termtext.Safe(f.Text), p.Dim("("+f.Check+")"))
	}
	if len(doc.Findings) == 0 {
		a.Printf("Nothing to mend.\n")
		return
	}
	a.Printf("%s, %s.\n", quantity.Count(doc.Errors, "error"), quantity.Count(doc.Warnings, "warning"))
}
