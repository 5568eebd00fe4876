// Package drift finds what is no longer as it was made, in one project or in all
// of a host. It writes and prints nothing. Call Of.
package drift

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Report is what drift reports. Its JSON is documented in docs/json.md.
type Report struct {
	FormatVersion string            `json:"format_version"`
	Drift         []Difference      `json:"drift"`
	Pending       []Difference      `json:"pending"`
	Unknown       []Difference      `json:"unknown"`
	Ignored       int               `json:"ignored"`
	Checked       int               `json:"checked"`               // resources looked at
	NotSetUp      int               `json:"not_set_up"`            // what git does not carry and no apply made here
	NotChecked    string            `json:"not_checked,omitempty"` // why pending could not be told
	Owners        []reconcile.Owner `json:"owners"`
	Notes         []reconcile.Note  `json:"notes"`

	Prefix    string   `json:"-"` // of the project in its repository: "" or "tools/x/"
	Unmatched []string `json:"-"` // patterns of what to leave out that match nothing which differs
}

// Difference is a resource that is not as it should be, with the place in it.
type Difference struct {
	reconcile.ChangeDoc
	File string `json:"file"` // relative to the project, or with ~ in the host's home
	Line int    `json:"line"` // of the first place; 0 where there is none
	// Places are the parts of the file that differ.
	Places []Place `json:"places,omitempty"`

	Stray bool `json:"-"` // nobody asked for it
}

// Place is one owned part of a file, and what is wrong there.
type Place struct {
	Key  reconcile.LeafKey `json:"key"`
	Line int               `json:"line"`
	Text string            `json:"text"`
}

// InOrder reports whether nothing is to be said of v but notes.
func (v *Report) InOrder() bool { return len(v.Drift)+len(v.Pending)+len(v.Unknown) == 0 }

// Options say how drift is looked for.
type Options struct {
	Ignore        []string // addresses and patterns that are left out
	VerifySources bool     // fetch pinned sources anew, and compare them with their pins
	Repository    bool     // name files as the project's repository does
}

// PatternError is a pattern of Ignore that no address can match.
type PatternError struct{ error }

// Of compares what is there with what was made and with what the specs ask
// for now. It declares what they ask for; where a source is not on this machine,
// what was recorded stands in for it, and the report says so.
func Of(ctx context.Context, w *stack.View, o Options) (*Report, error) {
	notChecked, err := declareOrRecall(ctx, w)
	if err != nil {
		return nil, err
	}
	if o.VerifySources {
		if err := verifySources(ctx, w); err != nil {
			return nil, err
		}
	}
	w.Bundles = nil // with the texts of all rules, which are not needed any more
	p, err := w.Plan(ctx, stack.Request{Scope: w.Scope, Strays: true})
	if err != nil {
		return nil, err
	}
	v, err := compare(ctx, w, p, o.Ignore)
	if err != nil {
		return nil, err
	}
	if notChecked != nil {
		v.NotChecked = strings.ReplaceAll(notChecked.Error(), "\n", "; ")
	}
	if o.Repository && w.Places.Project != "" {
		v.Prefix = w.Repository(ctx).Prefix()
	}
	return v, nil
}

// declareOrRecall declares what the specs ask for. Without the sources, what was
// recorded takes its place, and notChecked says why; where nothing was recorded
// there is nothing to go on with.
func declareOrRecall(ctx context.Context, w *stack.View) (notChecked, err error) {
	boundMemory(w)
	err = w.Declare(ctx, w.Resolver(pin.Look))
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
func boundMemory(w *stack.View) {
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
func compare(ctx context.Context, w *stack.View, p *reconcile.Plan, ignore []string) (*Report, error) {
	v := &Report{Drift: []Difference{}, Pending: []Difference{}, Unknown: []Difference{}, Owners: p.Owners, Notes: append([]reconcile.Note{}, p.Notes...)}
	explain := w.Explain(ctx)
	matched := make([]bool, len(ignore))
	docs := map[reconcile.Address]reconcile.ChangeDoc{}
	for _, d := range p.Doc(reconcile.PlanMeta{}, nil).Changes {
		docs[d.Address] = d
	}
	local := notSetUp(ctx, w, p)
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
		doc.Meaning = stack.Meaning(c)
		f := Difference{ChangeDoc: doc, File: doc.Address.Name(), Places: where(ctx, w, c), Stray: c.Target.Stray}
		if len(f.Places) > 0 {
			f.Line = f.Places[0].Line
		}
		switch {
		case c.Action == reconcile.Unclear:
			v.Unknown = append(v.Unknown, f)
			continue
		case c.Drift():
			f.Lines = since(ctx, w, c)
			v.Drift = append(v.Drift, f)
		}
		if c.Pending() {
			f.Lines = explain(c)
			v.Pending = append(v.Pending, f)
		}
	}
	for i, pattern := range ignore {
		if _, err := reconcile.ParseAddress(pattern); err != nil && !strings.ContainsAny(pattern, "*?[") {
			return nil, PatternError{err}
		}
		if !matched[i] {
			v.Unmatched = append(v.Unmatched, pattern)
		}
	}
	return v, nil
}

// notSetUp names what git does not carry and no apply has made here yet. In a
// fresh checkout that is so by nature: neither drift nor pending.
func notSetUp(ctx context.Context, w *stack.View, p *reconcile.Plan) map[reconcile.Address]bool {
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
func since(ctx context.Context, w *stack.View, c reconcile.Change) []reconcile.Line {
	for _, p := range w.Engine.Providers {
		if h, ok := p.(reconcile.Historian); ok && p.Kind() == c.Target.Resource.Address.Kind() {
			return h.Since(ctx, w.ReadEnv(), c)
		}
	}
	return w.Explain(ctx)(c)
}

// where says which lines of a target are not as they should be.
func where(ctx context.Context, w *stack.View, c reconcile.Change) []Place {
	var out []Place
	for _, p := range w.Engine.Providers {
		if pl, ok := p.(reconcile.Locator); ok && p.Kind() == c.Target.Resource.Address.Kind() {
			for _, x := range pl.Where(ctx, w.ReadEnv(), c) {
				out = append(out, Place{x.Key, x.Line, x.Text})
			}
		}
	}
	return out
}

// verifySources fetches every pinned source anew and compares.
func verifySources(ctx context.Context, w *stack.View) error {
	if w.Offline {
		return fmt.Errorf("drift --verify-sources %w", reconcile.ErrOffline)
	}
	network := w.Network()
	var errs []error
	for _, l := range []*pin.File{w.HostLock, w.ProjectLock} {
		if l == nil || l == w.HostLock && !w.Has(reconcile.HostOwner) || l == w.ProjectLock && w.Scope == stack.ScopeHost {
			continue
		}
		for _, p := range l.Lock.Pins() {
			if p.Kind != "bundle" {
				continue
			}
			err := network.VerifySource(ctx, l, p)
			if err == nil {
				w.Notify("bundle source %s is what %s pins", termtext.Safe(p.Name), stack.LockName)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
