// Package drift reports what differs from what aisync made and from what the specs
// ask for, in one project or in all of a host. It writes and prints nothing. Call Of.
package drift

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/meaning"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Report is what differs on a machine. Its JSON is documented in docs/json.md.
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
	cwd, dir  string   // from which the origins are named, and of the project
	Unmatched []string `json:"-"` // patterns of what to leave out that match nothing which differs
}

// Difference is a resource that differs, with the places in it.
type Difference struct {
	reconcile.ChangeDoc
	File string `json:"file"` // relative to the project, or with ~ in the host's home
	Line int    `json:"line"` // of the first place; 0 where there is none
	// Places are the parts of the file that differ.
	Places []Place `json:"places,omitempty"`

	Untracked bool `json:"-"` // a file that no spec asks for
}

// Place is one owned part of a file, with what differs there.
type Place struct {
	Key  reconcile.LeafKey `json:"key"`
	Line int               `json:"line"`
	Text string            `json:"text"`
}

// InOrder reports whether r has nothing but notes.
func (r *Report) InOrder() bool { return len(r.Drift)+len(r.Pending)+len(r.Unknown) == 0 }

// Options say what Of compares.
type Options struct {
	Ignore        []string // addresses and patterns to leave out
	VerifySources bool     // fetch pinned sources again, and compare them with their pins
	Repository    bool     // name files from the top of the project's repository
}

// PatternError is a pattern of Ignore that no address can match.
type PatternError struct{ error }

// Of compares what is there with what was made, and with what the specs ask for
// now. It declares what they ask for, and may be called once for a View. Where a
// source is not on this machine, the records replace the declarations, and
// Report.NotChecked says so.
func Of(ctx context.Context, v *stack.View, o Options) (*Report, error) {
	notChecked, err := declareOrRecall(ctx, v)
	if err != nil {
		return nil, err
	}
	if o.VerifySources {
		if err := verifySources(ctx, v); err != nil {
			return nil, err
		}
	}
	v.Bundles = nil // holds the texts of all rules, which are not needed any more
	p, err := v.Plan(ctx, stack.Request{Scope: v.Scope, Untracked: true})
	if err != nil {
		return nil, err
	}
	r, err := compare(ctx, v, p, o.Ignore)
	if err != nil {
		return nil, err
	}
	if notChecked != nil {
		r.NotChecked = strings.ReplaceAll(notChecked.Error(), "\n", "; ")
	}
	if o.Repository && v.Places.Project != "" {
		r.Prefix = v.Repository().Prefix()
	}
	r.cwd, r.dir = v.Cwd, v.Places.Project
	return r, nil
}

// declareOrRecall declares what the specs ask for. Where only sources are missing,
// the records replace it, and notChecked says why. Without records that is an error.
func declareOrRecall(ctx context.Context, v *stack.View) (notChecked, err error) {
	boundMemory(v)
	err = v.Declare(ctx, v.Resolver(pin.Look))
	if err == nil || slices.ContainsFunc(advice.Split(err), func(e error) bool { return !isMissingSource(e) }) {
		return nil, err
	}
	known := adapter.Decls{Notes: v.Declared.Notes}
	for _, o := range v.Owners {
		known.Declarations = append(known.Declarations, v.Store.Declarations(o)...)
	}
	if len(known.Declarations) == 0 {
		return nil, err
	}
	v.Declared = known
	return err, nil
}

// boundMemory sets a memory limit near what is in use, about 3 kB for each file
// on record: reading thousands of files leaves much garbage.
func boundMemory(v *stack.View) {
	records := 0
	for _, o := range v.Owners {
		records += len(v.Store.Records(o))
	}
	debug.SetMemoryLimit(max(60<<20, 30<<20+int64(records)*3<<10))
}

// isMissingSource reports whether err says that a source is not on this machine,
// rather than that it is wrong.
func isMissingSource(err error) bool {
	var missing *bundle.MissingError
	return errors.Is(err, pin.ErrNotFetched) || errors.As(err, &missing)
}

// compare returns the report of p.
func compare(ctx context.Context, v *stack.View, p *reconcile.Plan, ignore []string) (*Report, error) {
	r := &Report{Drift: []Difference{}, Pending: []Difference{}, Unknown: []Difference{}, Owners: p.Owners, Notes: append([]reconcile.Note{}, p.Notes...)}
	explain := v.Explain(ctx)
	matched := make([]bool, len(ignore))
	docs := map[reconcile.Address]reconcile.ChangeDoc{}
	for _, d := range p.Doc(reconcile.PlanMeta{}, nil).Changes {
		docs[d.Address] = d
	}
	ignored := func(a reconcile.Address) bool {
		skip := false
		for i, pattern := range ignore {
			if a.Match(pattern) {
				matched[i], skip = true, true
			}
		}
		if skip {
			r.Ignored++
		}
		return skip
	}
	for _, c := range p.Conflicts {
		if !ignored(c.Address) {
			r.Pending = append(r.Pending, contradiction(c))
		}
	}
	local := notSetUp(ctx, v, p)
	skill := meaning.Skills(p)
	for _, c := range p.Changes {
		if local[c.Target.Resource.Address] {
			r.NotSetUp++
			continue
		}
		if !c.Target.Stray {
			r.Checked++
		}
		doc, ok := docs[c.Target.Resource.Address]
		if !ok {
			continue
		}
		if ignored(doc.Address) {
			continue
		}
		doc.Meaning, doc.Skill = meaning.Of(c), skill(doc.Address)
		d := Difference{ChangeDoc: doc, File: doc.Address.Name(), Places: placesOf(ctx, v, c), Untracked: c.Target.Stray}
		if len(d.Places) > 0 {
			d.Line = d.Places[0].Line
		}
		switch {
		case c.Action == reconcile.Unclear:
			r.Unknown = append(r.Unknown, d)
			continue
		case c.Drift():
			d.Lines = since(ctx, v, c)
			r.Drift = append(r.Drift, d)
		}
		if c.Pending() {
			d.Lines = explain(c)
			r.Pending = append(r.Pending, d)
		}
	}
	for i, pattern := range ignore {
		if _, err := reconcile.ParseAddress(pattern); err != nil && !strings.ContainsAny(pattern, "*?[") {
			return nil, PatternError{err}
		}
		if !matched[i] {
			r.Unmatched = append(r.Unmatched, pattern)
		}
	}
	return r, nil
}

// contradiction returns what is pending where a spec contradicts itself: no apply
// writes it before a person has decided.
func contradiction(c reconcile.Conflict) Difference {
	meaning := c.Reason
	if c.Key != "" {
		meaning = string(c.Key) + " " + meaning
	}
	return Difference{File: c.Address.Name(), ChangeDoc: reconcile.ChangeDoc{
		Address: c.Address, Kind: c.Address.Kind(), Owners: []string{}, Action: reconcile.Clash,
		Meaning: "the spec contradicts itself: " + meaning, Pending: true, Origin: c.Origin, Leaves: []reconcile.LeafDoc{},
	}}
}

// notSetUp returns the targets that git does not carry and no apply has made here
// yet. In a fresh checkout they are neither drift nor pending.
func notSetUp(ctx context.Context, v *stack.View, p *reconcile.Plan) map[reconcile.Address]bool {
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
			paths = append(paths, r.Address.Path(v.Places.Home))
			byPath[r.Address.Path(v.Places.Home)] = r.Address
		}
	}
	if len(paths) > 0 {
		for path, yes := range v.Ignored(ctx, paths) {
			if yes {
				out[byPath[path]] = true
			}
		}
	}
	return out
}

// since returns the lines from what aisync made (-) to what is there now (+).
func since(ctx context.Context, v *stack.View, c reconcile.Change) []reconcile.Line {
	for _, p := range v.Engine.Providers {
		if h, ok := p.(reconcile.Historian); ok && p.Kind() == c.Target.Resource.Address.Kind() {
			return h.Since(ctx, v.ReadEnv(), c)
		}
	}
	return v.Explain(ctx)(c)
}

// placesOf returns the places in the target of c that differ.
func placesOf(ctx context.Context, v *stack.View, c reconcile.Change) []Place {
	var out []Place
	for _, p := range v.Engine.Providers {
		if pl, ok := p.(reconcile.Locator); ok && p.Kind() == c.Target.Resource.Address.Kind() {
			for _, x := range pl.Where(ctx, v.ReadEnv(), c) {
				out = append(out, Place{x.Key, x.Line, x.Text})
			}
		}
	}
	return out
}

// verifySources fetches every pinned source again and compares it with its pin.
func verifySources(ctx context.Context, v *stack.View) error {
	if v.Offline {
		return fmt.Errorf("drift --verify-sources %w", reconcile.ErrOffline)
	}
	network := v.Network()
	var errs []error
	for _, l := range []*pin.File{v.HostLock, v.ProjectLock} {
		if l == nil || l == v.HostLock && !v.Has(reconcile.HostOwner) || l == v.ProjectLock && v.Scope == stack.ScopeHost {
			continue
		}
		for _, p := range l.Lock.Pins() {
			if p.Kind != pin.KindBundle && p.Kind != pin.KindBase {
				continue
			}
			dir := ""
			switch {
			case l == v.ProjectLock:
				dir = v.Places.Project
			case v.Spec.Host != nil:
				dir = v.Spec.Host.Dir
			}
			err := network.VerifySource(ctx, l, p, dir)
			if err == nil {
				v.Notify("%s %s is what %s pins", map[bool]string{true: "base", false: "bundle source"}[p.Kind == pin.KindBase], termtext.Safe(p.Name), stack.LockName)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
