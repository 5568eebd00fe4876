package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// driftView is what drift reports. Its JSON is documented in docs/json.md.
type driftView struct {
	FormatVersion string            `json:"format_version"`
	Drift         []difference      `json:"drift"`
	Pending       []difference      `json:"pending"`
	Unknown       []difference      `json:"unknown"`
	Ignored       int               `json:"ignored"`
	Checked       int               `json:"checked"`               // resources looked at
	NotSetUp      int               `json:"not_set_up"`            // what git does not carry and no apply made here
	NotChecked    string            `json:"not_checked,omitempty"` // why pending could not be told
	Owners        []reconcile.Owner `json:"owners"`
	Notes         []reconcile.Note  `json:"notes"`

	prefix    string   // of the project in its repository: "" or "tools/x/"
	unmatched []string // patterns of what to leave out that match nothing which differs
}

// difference is a resource that is not as it should be, with the place in it.
type difference struct {
	reconcile.ChangeDoc
	File string `json:"file"` // relative to the project, or with ~ in the host's home
	Line int    `json:"line"` // of the first place; 0 where there is none
	// Places are the parts of the file that differ.
	Places []spot `json:"places,omitempty"`

	stray bool // nobody asked for it
}

// spot is one owned part of a file, and what is wrong there.
type spot struct {
	Key  reconcile.LeafKey `json:"key"`
	Line int               `json:"line"`
	Text string            `json:"text"`
}

// inOrder reports whether nothing is to be said of v but notes.
func (v *driftView) inOrder() bool { return len(v.Drift)+len(v.Pending)+len(v.Unknown) == 0 }

// driftOptions say how drift is looked for.
type driftOptions struct {
	Ignore        []string // addresses and patterns that are left out
	VerifySources bool     // fetch pinned sources anew, and compare them with their pins
	Repository    bool     // name files as the project's repository does
}

// patternError is a pattern of Ignore that no address can match.
type patternError struct{ error }

// driftOf compares what is there with what was made and with what the specs ask
// for now. It declares what they ask for; where a source is not on this machine,
// what was recorded stands in for it, and the report says so.
func (w *View) driftOf(ctx context.Context, o driftOptions) (*driftView, error) {
	notChecked, err := w.declareOrRecall(ctx)
	if err != nil {
		return nil, err
	}
	if o.VerifySources {
		if err := w.verifySources(ctx); err != nil {
			return nil, err
		}
	}
	w.Bundles = nil // with the texts of all rules, which are not needed any more
	p, err := w.Plan(ctx, Request{Scope: w.Scope, Strays: true})
	if err != nil {
		return nil, err
	}
	v, err := w.compare(ctx, p, o.Ignore)
	if err != nil {
		return nil, err
	}
	if notChecked != nil {
		v.NotChecked = strings.ReplaceAll(notChecked.Error(), "\n", "; ")
	}
	if o.Repository && w.Places.Project != "" {
		v.prefix = w.Repository(ctx).Prefix()
	}
	return v, nil
}

// declareOrRecall declares what the specs ask for. Without the sources, what was
// recorded takes its place, and notChecked says why; where nothing was recorded
// there is nothing to go on with.
func (w *View) declareOrRecall(ctx context.Context) (notChecked, err error) {
	w.boundMemory()
	err = w.declare(ctx, w.resolver(pin.Look))
	if err == nil || slices.ContainsFunc(advice.Split(err), func(e error) bool { return !notHere(e) }) {
		return nil, err
	}
	known := adapter.Decls{Notes: w.Declared.Notes}
	for _, o := range w.Owners {
		known.Declarations = append(known.Declarations, w.Store.Declarations(o)...)
	}
	if len(known.Declarations) == 0 {
		return nil, err
	}
	w.Declared = known
	return err, nil
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

// compare sorts what is not in order.
func (w *View) compare(ctx context.Context, p *reconcile.Plan, ignore []string) (*driftView, error) {
	v := &driftView{Drift: []difference{}, Pending: []difference{}, Unknown: []difference{}, Owners: p.Owners, Notes: append([]reconcile.Note{}, p.Notes...)}
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
			return nil, patternError{err}
		}
		if !matched[i] {
			v.unmatched = append(v.unmatched, pattern)
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
				w.Notify("bundle source %s is what %s pins", termtext.Safe(p.Name), lockName)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
