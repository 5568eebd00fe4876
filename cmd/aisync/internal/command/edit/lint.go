package edit

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
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
	strict, format := false, "text"
	cmd := &cobra.Command{
		Use:   "lint [DIR]",
		Short: "check a bundle source, or what agents read in a project",
		Long: `Reads the bundle source in DIR (default: this folder) and prints problems as
file:line: level: what (check). It needs no spec, no home and no network, and
writes nothing. It skips lines that contain "aisync-lint: ignore".

The checks from hidden-text on look for text that attacks the agent that reads
it. In a project they look at what agents read there: rules, notes, skills,
hooks, servers, commands and subagents; the other checks are for sources.

` + checksText() + `
Exit codes: 0 no errors; 1 errors, or with --strict warnings.`,
		Example:     "  $ aisync lint\n  $ aisync lint ../rulesets --json\n  $ aisync lint --format sarif > lint.sarif",
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.MaxArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return runLint(a, dir, format, strict)
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "`FORM` of the report: text, json, sarif")
	cmd.Flags().BoolVar(&strict, "strict", false, "exit 1 for warnings too")
	return cmd
}

// checksText returns the list of checks for the help.
func checksText() string {
	var b strings.Builder
	for _, c := range lint.Checks {
		fmt.Fprintf(&b, "  %-22s %s\n", c.Name, c.Doc)
	}
	return b.String()
}

func runLint(a *cli.App, dir, format string, strict bool) error {
	switch format {
	case "text", "json", "sarif":
	default:
		return cli.Usagef("--format %q: want text, json or sarif", format)
	}
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
	switch {
	case format == "sarif":
		if err := a.WriteJSON(view.LintSARIF(cli.VersionText(), dir, findings)); err != nil {
			return err
		}
	case a.Flags.JSON || format == "json":
		if err := a.WriteJSON(doc); err != nil {
			return err
		}
	default:
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
		a.Printf("No problems found.\n")
		return
	}
	a.Printf("%s, %s.\n", quantity.Count(doc.Errors, "error"), quantity.Count(doc.Warnings, "warning"))
}
