package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

// driftFlags are what drift alone takes.
type driftFlags struct {
	format, failOn, diff string
	ignore               []string
	verifySources, all   bool
}

func driftCommand(a *app) *cobra.Command {
	s := ScopeProject
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
		Args:        noArgs,
		RunE:        func(cmd *cobra.Command, _ []string) error { return a.drift(cmd.Context(), s, f) },
	}
	s.flag(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.format, "format", "text", "`FORM` of the report: text, json, sarif, github, junit")
	fs.StringVar(&f.failOn, "fail-on", "both", "exit 2 for `WHICH`: drift, pending, both")
	fs.StringVar(&f.diff, "diff", string(diffShort), "`HOW` much of differences: short, full, none")
	fs.StringArrayVar(&f.ignore, "ignore", nil, "leave out this `ADDRESS` or pattern; may be repeated")
	fs.BoolVar(&f.all, "all", false, "look at every project below the host's roots")
	fs.BoolVar(&f.verifySources, "verify-sources", false, "fetch pinned sources anew and compare them with their pins")
	return cmd
}

func (a *app) drift(ctx context.Context, s Scope, f driftFlags) error {
	mode, err := parseDiffMode(f.diff)
	if err != nil {
		return err
	}
	if a.g.json && f.format == "text" {
		f.format = "json"
	}
	switch f.format {
	case "text", "json", "sarif", "github", "junit":
	default:
		return usagef("--format %q: want text, json, sarif, github or junit", f.format)
	}
	switch f.failOn {
	case "drift", "pending", "both":
	default:
		return usagef("--fail-on %q: want drift, pending or both", f.failOn)
	}
	if f.all {
		return a.driftAll(ctx, s, f, mode)
	}
	v, err := a.lookForDrift(ctx, s, f)
	if err != nil {
		return err
	}
	if err := a.printDrift(v, f.format, mode); err != nil {
		return err
	}
	return f.verdict(v)
}

// verdict is the exit code for what was found.
func (f driftFlags) verdict(views ...*driftView) error {
	code := exitOK
	for _, v := range views {
		switch {
		case len(v.Unknown) > 0:
			return exit(exitError)
		case len(v.Drift) > 0 && f.failOn != "pending", len(v.Pending) > 0 && f.failOn != "drift":
			code = exitDiff
		}
	}
	if code == exitOK {
		return nil
	}
	return exit(code)
}

// lookForDrift compares one project, or what s says. A project alone needs no
// home.
func (a *app) lookForDrift(ctx context.Context, s Scope, f driftFlags) (*driftView, error) {
	a.homeless = s == ScopeProject
	w, err := a.loaded(ctx, s, Look)
	if err != nil {
		return nil, err
	}
	v, err := w.driftOf(ctx, driftOptions{Ignore: f.ignore, VerifySources: f.verifySources, Repository: f.format != "text" && f.format != "json"})
	var pattern patternError
	switch {
	case errors.As(err, &pattern):
		return nil, usagef("--ignore %v", pattern)
	case err != nil:
		return nil, inputHint(err)
	}
	v.FormatVersion = viewVersion
	for _, p := range v.unmatched {
		a.say("aisync: --ignore %s: names nothing that differs", termtext.Safe(p))
	}
	return v, nil
}

func (a *app) printDrift(v *driftView, format string, mode diffMode) error {
	switch format {
	case "json":
		return a.writeJSON(v)
	case "sarif":
		return a.writeJSON(sarif(versionText(), v))
	case "github":
		v.github(a.out)
	case "junit":
		return junit(a.out, v.junitSuite("aisync drift"))
	default:
		v.text(a.out, a.paint(), mode)
		a.sayWhatHelps(v)
	}
	return nil
}

// sayWhatHelps names the commands that settle what v found.
func (a *app) sayWhatHelps(v *driftView) {
	edited := slices.IndexFunc(v.Drift, func(f difference) bool { return !f.stray })
	stray := slices.IndexFunc(v.Drift, func(f difference) bool { return f.stray })
	if edited >= 0 {
		a.hint("\nTo put it back: aisync apply --restore. To keep one as it is: aisync adopt %s", shellquote.Terminal(string(v.Drift[edited].Address)))
	}
	if stray >= 0 {
		a.hint("\nTo take strays away: aisync apply --restore (a backup is kept). To leave one: move it to a folder of yours, or --ignore %s", shellquote.Terminal(string(v.Drift[stray].Address)))
	}
}
