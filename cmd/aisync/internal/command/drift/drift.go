// Package drift provides the command drift, which reports what app/drift finds.
package drift

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/drift"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/everyproject"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

// driftFlags holds the flags of drift.
type driftFlags struct {
	format, failOn, diff string
	ignore               []string
	verifySources        bool
}

// Command builds the command drift.
func Command(a *cli.App) *cobra.Command {
	s := stack.ScopeProject
	var f driftFlags
	cmd := &cobra.Command{
		Use:   "drift",
		Short: "report what was edited since the last apply, for people and CI",
		Long: `Compares what is there with what aisync.lock recorded (drift), and, where the
sources of the bundles are on this machine, with what the spec asks for now
(pending). The two are reported apart. Where a source is missing, pending is
"not checked", with the reason, and drift alone sets the exit code. It checks
the project, unless --scope names another part, and writes nothing.

A fresh checkout is enough: drift needs no state, no home and no network. It
shows the recorded text as of the last commit of aisync.lock, if git has that
commit. Line endings may be as .gitattributes says; of file modes only the
executable bit counts. In a shared file only aisync's own parts count. An extra
file is drift in a folder that an apply made, if git had no other files there
when the lock was committed; apply --restore removes it and keeps a backup.

Exit codes: 0 in order; 2 differences of the kind that --fail-on names; 1 an
error, or something that cannot be observed.`,
		Example: `  $ aisync drift
  $ aisync drift --format github --fail-on drift
  $ aisync drift --all
  $ aisync drift --scope all --ignore 'file:~/.claude/settings.json'`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE:        func(cmd *cobra.Command, _ []string) error { return runDrift(cmd.Context(), a, s, f) },
	}
	cli.ScopeFlag(&s, cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.format, "format", "text", "`FORM` of the report: text, json, sarif, github, junit")
	fs.StringVar(&f.failOn, "fail-on", "both", "exit 2 for `WHICH`: drift, pending, both")
	fs.StringVar(&f.diff, "diff", string(cli.DiffShort), "`HOW` much of each difference to show: short, full, none")
	fs.StringArrayVar(&f.ignore, "ignore", nil, "leave out this `ADDRESS` or pattern; may be repeated")
	fs.BoolVar(&f.verifySources, "verify-sources", false, "fetch pinned sources again and compare them with their pins")
	everyproject.Register(cmd, a, func(ctx context.Context, r *everyproject.Run) error { return driftAll(ctx, r, f) })
	return cmd
}

// check returns how much of each difference to show, or a usage error. It sets the
// format that --json asks for.
func (f *driftFlags) check(a *cli.App) (cli.DiffMode, error) {
	mode, err := cli.ParseDiffMode(f.diff)
	if err != nil {
		return mode, err
	}
	if a.Flags.JSON && f.format == "text" {
		f.format = "json"
	}
	switch f.format {
	case "text", "json", "sarif", "github", "junit":
	default:
		return mode, cli.Usagef("--format %q: want text, json, sarif, github or junit", f.format)
	}
	switch f.failOn {
	case "drift", "pending", "both":
	default:
		return mode, cli.Usagef("--fail-on %q: want drift, pending or both", f.failOn)
	}
	return mode, nil
}

func runDrift(ctx context.Context, a *cli.App, s stack.Scope, f driftFlags) error {
	mode, err := f.check(a)
	if err != nil {
		return err
	}
	v, err := lookForDrift(ctx, a, s, f)
	if err != nil {
		return err
	}
	if err := printDrift(a, v, f.format, mode); err != nil {
		return err
	}
	return f.verdict(v)
}

// verdict returns the exit code for reports as an error.
func (f driftFlags) verdict(views ...*drift.Report) error {
	code := cli.ExitOK
	for _, v := range views {
		switch {
		case len(v.Unknown) > 0:
			return cli.Exit(cli.ExitError)
		case len(v.Drift) > 0 && f.failOn != "pending", len(v.Pending) > 0 && f.failOn != "drift":
			code = cli.ExitDiff
		}
	}
	if code == cli.ExitOK {
		return nil
	}
	return cli.Exit(code)
}

// lookForDrift checks the scope s of one project. A project alone needs no home.
func lookForDrift(ctx context.Context, a *cli.App, s stack.Scope, f driftFlags) (*drift.Report, error) {
	a.NoHome = s == stack.ScopeProject
	w, err := a.Loaded(ctx, s, stack.Look)
	if err != nil {
		return nil, err
	}
	v, err := drift.Of(ctx, w, drift.Options{Ignore: f.ignore, VerifySources: f.verifySources, Repository: f.format != "text" && f.format != "json"})
	var pattern drift.PatternError
	switch {
	case errors.As(err, &pattern):
		return nil, cli.Usagef("--ignore %v", pattern)
	case err != nil:
		return nil, cli.InputHint(err)
	}
	v.FormatVersion = cli.ViewVersion
	for _, p := range v.Unmatched {
		a.Say("aisync: --ignore %s: matches no difference", termtext.Safe(p))
	}
	return v, nil
}

func printDrift(a *cli.App, v *drift.Report, format string, mode cli.DiffMode) error {
	switch format {
	case "json":
		return a.WriteJSON(v)
	case "sarif":
		return a.WriteJSON(view.SARIF(cli.VersionText(), v))
	case "github":
		view.GitHub(v, a.Out)
	case "junit":
		return view.Junit(a.Out, view.SuiteOf(v, "aisync drift"))
	default:
		view.DriftText(v, a.Out, a.Paint(), mode)
		suggest(a, v)
	}
	return nil
}

// suggest names the commands that resolve the drift of v.
func suggest(a *cli.App, v *drift.Report) {
	edited := slices.IndexFunc(v.Drift, func(f drift.Difference) bool { return !f.Untracked })
	stray := slices.IndexFunc(v.Drift, func(f drift.Difference) bool { return f.Untracked })
	if edited >= 0 {
		a.Hint("\nTo undo the edits: aisync apply --restore. To keep one: aisync adopt %s", shellquote.Terminal(string(v.Drift[edited].Address)))
	}
	if stray >= 0 {
		a.Hint("\nTo remove extra files: aisync apply --restore (a backup is kept). To keep one: move it to another folder, or use --ignore %s", shellquote.Terminal(string(v.Drift[stray].Address)))
	}
}
