// Package drift is the command drift.
package drift

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/drift"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

// driftFlags are what drift alone takes.
type driftFlags struct {
	format, failOn, diff string
	ignore               []string
	verifySources, all   bool
}

// Command builds the command drift.
func Command(a *cli.App) *cobra.Command {
	s := stack.ScopeProject
	var f driftFlags
	cmd := &cobra.Command{
		Use:   "drift",
		Short: "tell what is no longer as it was made, for people and for CI",
		Long: `Compares what is there with what aisync.lock says was made (drift), and, where
the sources of the bundles are at hand, with what the spec asks for now
(pending). The two are never mixed up. Where a source is not on this machine,
pending is "not checked", with the reason, and the drift alone sets the code. It
looks at the project, unless --scope says otherwise, and writes nothing.

A fresh checkout will do: no state, no home, no network. What was made is shown
as it was when aisync.lock was last committed, if git has that commit. Lines may
end as .gitattributes says, and of modes only the bit that executes counts. What
others keep beside ours in one file is theirs. A file that nobody asked for is
drift where an apply made its folder, and git carried nothing else there when
the lock was committed; apply --restore takes it away and keeps a backup.

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
	fs.StringVar(&f.diff, "diff", string(cli.DiffShort), "`HOW` much of differences: short, full, none")
	fs.StringArrayVar(&f.ignore, "ignore", nil, "leave out this `ADDRESS` or pattern; may be repeated")
	fs.BoolVar(&f.all, "all", false, "look at every project below the host's roots")
	fs.BoolVar(&f.verifySources, "verify-sources", false, "fetch pinned sources anew and compare them with their pins")
	return cmd
}

func runDrift(ctx context.Context, a *cli.App, s stack.Scope, f driftFlags) error {
	mode, err := cli.ParseDiffMode(f.diff)
	if err != nil {
		return err
	}
	if a.Flags.JSON && f.format == "text" {
		f.format = "json"
	}
	switch f.format {
	case "text", "json", "sarif", "github", "junit":
	default:
		return cli.Usagef("--format %q: want text, json, sarif, github or junit", f.format)
	}
	switch f.failOn {
	case "drift", "pending", "both":
	default:
		return cli.Usagef("--fail-on %q: want drift, pending or both", f.failOn)
	}
	if f.all {
		return driftAll(ctx, a, s, f, mode)
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

// verdict is the exit code for what was found.
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

// lookForDrift compares one project, or what s says. A project alone needs no
// home.
func lookForDrift(ctx context.Context, a *cli.App, s stack.Scope, f driftFlags) (*drift.Report, error) {
	a.Homeless = s == stack.ScopeProject
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
		a.Say("aisync: --ignore %s: names nothing that differs", termtext.Safe(p))
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
		sayWhatHelps(a, v)
	}
	return nil
}

// sayWhatHelps names the commands that settle what v found.
func sayWhatHelps(a *cli.App, v *drift.Report) {
	edited := slices.IndexFunc(v.Drift, func(f drift.Difference) bool { return !f.Stray })
	stray := slices.IndexFunc(v.Drift, func(f drift.Difference) bool { return f.Stray })
	if edited >= 0 {
		a.Hint("\nTo put it back: aisync apply --restore. To keep one as it is: aisync adopt %s", shellquote.Terminal(string(v.Drift[edited].Address)))
	}
	if stray >= 0 {
		a.Hint("\nTo take strays away: aisync apply --restore (a backup is kept). To leave one: move it to a folder of yours, or --ignore %s", shellquote.Terminal(string(v.Drift[stray].Address)))
	}
}
