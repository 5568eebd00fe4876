package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
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

// lookForDrift compares one project, or what s says. Of a project alone it
// needs nobody's home.
func (a *app) lookForDrift(ctx context.Context, s Scope, f driftFlags) (*driftView, error) {
	a.homeless = s == ScopeProject
	w, notChecked, err := a.setupDrift(ctx, s)
	if err != nil {
		return nil, err
	}
	if f.verifySources {
		if err := w.verifySources(ctx); err != nil {
			return nil, err
		}
	}
	w.Bundles = nil // with the texts of all rules, which nobody needs any more
	p, err := w.Plan(ctx, Request{Scope: s, Strays: true})
	if err != nil {
		return nil, err
	}
	v, err := w.driftView(ctx, p, f.ignore)
	if err != nil {
		return nil, err
	}
	if notChecked != nil {
		v.NotChecked = strings.ReplaceAll(notChecked.Error(), "\n", "; ")
	}
	if f.format != "text" && f.format != "json" && w.Places.Project != "" {
		v.prefix = w.Repository(ctx).Prefix()
	}
	return v, nil
}

// setupDrift is setup that goes on without the sources: then what was recorded
// takes the place of what is wanted, and notChecked says why. Where nothing was
// recorded there is nothing to go on with.
func (a *app) setupDrift(ctx context.Context, s Scope) (w *View, notChecked error, err error) {
	w, err = a.loaded(ctx, s, Look)
	if err != nil {
		return nil, nil, err
	}
	w.boundMemory()
	err = w.declare(ctx, w.resolver(pin.Look))
	if err == nil || slices.ContainsFunc(parts(err), func(e error) bool { return !notHere(e) }) {
		return w, nil, err
	}
	known := adapter.Decls{Notes: w.Declared.Notes}
	for _, o := range w.Owners {
		known.Declarations = append(known.Declarations, w.Store.Declarations(o)...)
	}
	if len(known.Declarations) == 0 {
		return w, nil, err
	}
	w.Declared = known
	return w, err, nil
}

// boundMemory has garbage collected before it is much more than what lives:
// a look at thousands of files leaves a lot of it behind. What lives is about
// 3 kB for each file that is on record.
func (w *View) boundMemory() {
	records := 0
	for _, o := range w.Owners {
		records += len(w.Store.Records(o))
	}
	debug.SetMemoryLimit(max(60<<20, 30<<20+int64(records)*3<<10))
}

// notHere reports whether err says that a source is not on this machine, as
// against one that is wrong.
func notHere(err error) bool {
	var missing *bundle.MissingError
	return errors.Is(err, pin.ErrNotFetched) || errors.As(err, &missing)
}

// driftView sorts what is not in order.
func (w *View) driftView(ctx context.Context, p *reconcile.Plan, ignore []string) (*driftView, error) {
	v := &driftView{FormatVersion: viewVersion, Drift: []difference{}, Pending: []difference{}, Unknown: []difference{}, Owners: p.Owners, Notes: orEmpty(p.Notes)}
	explain := w.Explain(ctx)
	matched := make([]bool, len(ignore))
	docs := map[reconcile.Address]reconcile.ChangeDoc{}
	for _, d := range p.Doc(reconcile.PlanMeta{}, nil).Changes {
		docs[d.Address] = d
	}
	local := w.notSetUp(ctx, p)
	for _, c := range p.Changes {
		if local[c.Target.Resource.Address] {
			v.NotSetUp++
			continue
		}
		if !c.Target.Stray {
			v.Checked++
		}
		doc, ok := docs[c.Target.Resource.Address]
		if !ok {
			continue
		}
		skip := false
		for i, pattern := range ignore {
			if c.Target.Resource.Address.Match(pattern) {
				matched[i], skip = true, true
			}
		}
		if skip {
			v.Ignored++
			continue
		}
		doc.Meaning = meaning(c)
		f := difference{ChangeDoc: doc, File: doc.Address.Name(), Places: w.where(ctx, c), stray: c.Target.Stray}
		if len(f.Places) > 0 {
			f.Line = f.Places[0].Line
		}
		switch {
		case c.Action == reconcile.Unclear:
			v.Unknown = append(v.Unknown, f)
			continue
		case c.Drift():
			f.Lines = w.since(ctx, c)
			v.Drift = append(v.Drift, f)
		}
		if c.Pending() {
			f.Lines = explain(c)
			v.Pending = append(v.Pending, f)
		}
	}
	for i, pattern := range ignore {
		if _, err := reconcile.ParseAddress(pattern); err != nil && !strings.ContainsAny(pattern, "*?[") {
			return nil, usagef("--ignore %v", err)
		}
		if !matched[i] {
			w.Notify("aisync: --ignore %s: names nothing that differs", safe(pattern))
		}
	}
	return v, nil
}

// notSetUp names what git does not carry and no apply has made here yet. In a
// fresh checkout that is so by nature: neither drift nor pending.
func (w *View) notSetUp(ctx context.Context, p *reconcile.Plan) map[reconcile.Address]bool {
	out := map[reconcile.Address]bool{}
	var paths []fsys.LogicalPath
	byPath := map[fsys.LogicalPath]reconcile.Address{}
	for _, c := range p.Changes {
		r := c.Target.Resource
		switch {
		case len(c.Target.Last) > 0:
		case r.Local && (c.Action == reconcile.Create || c.Action == reconcile.Unclear):
			out[r.Address] = true
		case c.Action == reconcile.Create && r.Address.InProject():
			paths = append(paths, r.Address.Path(w.Places.Home))
			byPath[r.Address.Path(w.Places.Home)] = r.Address
		}
	}
	if len(paths) > 0 {
		for path, yes := range w.Ignored(ctx, paths) {
			if yes {
				out[byPath[path]] = true
			}
		}
	}
	return out
}

// since shows the way from what aisync made (-) to what is there now (+).
func (w *View) since(ctx context.Context, c reconcile.Change) []reconcile.Line {
	for _, p := range w.Engine.Providers {
		if h, ok := p.(reconcile.Historian); ok && p.Kind() == c.Target.Resource.Address.Kind() {
			return h.Since(ctx, w.ReadEnv(), c)
		}
	}
	return w.Explain(ctx)(c)
}

// where says which lines of a target are not as they should be.
func (w *View) where(ctx context.Context, c reconcile.Change) []spot {
	var out []spot
	for _, p := range w.Engine.Providers {
		if pl, ok := p.(reconcile.Locator); ok && p.Kind() == c.Target.Resource.Address.Kind() {
			for _, x := range pl.Where(ctx, w.ReadEnv(), c) {
				out = append(out, spot{x.Key, x.Line, x.Text})
			}
		}
	}
	return out
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
		a.hint("\nTo put it back: aisync apply --restore. To keep one as it is: aisync adopt %s", shellQuote(string(v.Drift[edited].Address)))
	}
	if stray >= 0 {
		a.hint("\nTo take strays away: aisync apply --restore (a backup is kept). To leave one: move it to a folder of yours, or --ignore %s", shellQuote(string(v.Drift[stray].Address)))
	}
}

// verifySources fetches every pinned source anew and compares.
func (w *View) verifySources(ctx context.Context) error {
	if w.Offline {
		return fmt.Errorf("drift --verify-sources %w", reconcile.ErrOffline)
	}
	network := w.network()
	var errs []error
	for _, l := range []*pin.File{w.HostLock, w.ProjectLock} {
		if l == nil || l == w.HostLock && !w.Has(reconcile.HostOwner) || l == w.ProjectLock && w.Scope == ScopeHost {
			continue
		}
		for _, p := range l.Lock.Pins() {
			if p.Kind != "bundle" {
				continue
			}
			err := network.VerifySource(ctx, l, p)
			if err == nil {
				w.Notify("bundle source %s is what %s pins", safe(p.Name), lockName)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
