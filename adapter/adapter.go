// Package adapter declares what specs ask of agent programs: rules, skills,
// hooks, settings, MCP servers, trust, endpoints and models, each in the file
// that the program's entry in the catalog names. It reads bundle sources; it
// neither reads nor writes targets. Call Project.Declare and Host.Declare.
package adapter

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Decls is what a spec comes to.
type Decls struct {
	Declarations []reconcile.Declaration // sorted by target
	Unsupported  []reconcile.Unsupported // sorted by address
	Notes        []reconcile.Note

	loads []load
}

// load is one rule that one program will load.
type load struct {
	runtime, rule, text string // text: its identity
	from                string // folder or instruction file; "" where it is only named to it
	origin              []reconcile.Position
}

// Add appends what other holds.
func (d *Decls) Add(other Decls) {
	d.Declarations = append(d.Declarations, other.Declarations...)
	d.Unsupported = append(d.Unsupported, other.Unsupported...)
	d.Notes = append(d.Notes, other.Notes...)
}

// wish is one bundle as a spec asks for it.
type wish struct {
	label  string // as the spec says it: "rulesets//elisp"
	part   *bundle.Part
	origin []reconcile.Position
}

// place is one runtime in one scope.
type place struct {
	rt     spec.Runtime
	scope  spec.Scope
	origin []reconcile.Position // where the spec names the runtime
}

// builder collects the leaves of one owner, target by target.
type builder struct {
	owner       reconcile.Owner
	local       bool
	targets     map[reconcile.Address]*reconcile.Declaration
	by          map[leafID]string // which bundle asked for a whole file or a seed
	at          map[leafID]int
	first       map[leafID]bool         // comes before all else that is new in its file
	more        []reconcile.Declaration // leaves that differ from those in targets: Compose says so
	rules       []rule                  // not placed yet
	index       map[string][]indexEntry
	texts       map[string][]rule // that stand in the block of an instruction file, by its path
	loads       []load
	folders     map[string]string // where a runtime's rules lie as files, by its id
	bridges     []bridge
	modules     map[string]*module // by the path of its file
	checks      []check
	sources     map[string]string // the pinned source of a bundle, by its label
	secrets     *Secrets
	unsupported []reconcile.Unsupported
	notes       []reconcile.Note
	errs        []error
}

type leafID struct {
	target reconcile.Address
	key    reconcile.LeafKey
}

func newBuilder(owner reconcile.Owner) *builder {
	return &builder{
		owner:   owner,
		targets: map[reconcile.Address]*reconcile.Declaration{},
		by:      map[leafID]string{},
		at:      map[leafID]int{},
		first:   map[leafID]bool{},
		index:   map[string][]indexEntry{},
		texts:   map[string][]rule{},
		folders: map[string]string{},
		modules: map[string]*module{},
		sources: map[string]string{},
	}
}

// leaf adds one leaf. Equal ones collapse. Of whole files and seeds that
// differ, both askers are named in an error; other leaves are left to Compose.
func (b *builder) leaf(target reconcile.Address, format merge.Format, l reconcile.Leaf, asker string) {
	l.Source = b.sources[asker]
	d := b.targets[target]
	if d == nil {
		d = &reconcile.Declaration{Target: target, Owner: b.owner, Format: string(format), Local: b.local}
		b.targets[target] = d
	}
	if d.Format == "" {
		d.Format = string(format)
	}
	id := leafID{target, l.Key}
	i, twice := b.at[id]
	switch {
	case !twice:
		b.at[id], b.by[id] = len(d.Leaves), asker
		d.Leaves = append(d.Leaves, l)
	case d.Leaves[i].Body.Fingerprint() == l.Body.Fingerprint() && d.Leaves[i].Own == l.Own:
		d.Leaves[i].Origin = joined(d.Leaves[i].Origin, l.Origin)
		if d.Leaves[i].Source != l.Source {
			d.Leaves[i].Source = ""
		}
	case l.Own == reconcile.Member:
		b.more = append(b.more, reconcile.Declaration{Target: target, Owner: b.owner, Format: string(format), Local: b.local, Leaves: []reconcile.Leaf{l}})
	default:
		b.fail(l.Origin, "%s and %s (%s) each bring a %s, and the two differ; leave one of the bundles out, or make the files equal",
			b.by[id], asker, text(d.Leaves[i].Origin), target.Name())
	}
}

// waits has a target that holds leaves made after on, "" for nothing.
func (b *builder) waits(target, on reconcile.Address) {
	if d := b.targets[target]; d != nil && on != "" && !slices.Contains(d.DependsOn, on) {
		d.DependsOn = append(d.DependsOn, on)
	}
}

func (b *builder) fail(origin []reconcile.Position, format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if p := text(origin); p != "" {
		err = fmt.Errorf("%s: %w", p, err)
	}
	b.errs = append(b.errs, err)
}

// blame is fail for an error that names its place. Several parts of a spec may
// meet the same one, such as a source that is not there: it is said once.
func (b *builder) blame(err error) {
	if !slices.ContainsFunc(b.errs, func(e error) bool { return e.Error() == err.Error() }) {
		b.errs = append(b.errs, err)
	}
}

func (b *builder) note(warning bool, origin []reconcile.Position, format string, args ...any) {
	b.notes = append(b.notes, reconcile.Note{Warning: warning, Text: fmt.Sprintf(format, args...), Origin: origin})
}

func (b *builder) cannot(a reconcile.Address, origin []reconcile.Position, format string, args ...any) {
	b.unsupported = append(b.unsupported, reconcile.Unsupported{Address: a, Reason: fmt.Sprintf(format, args...), Origin: origin})
}

// done returns everything that was collected. The leaves of a target keep the
// order in which they were asked for; all else is sorted.
func (b *builder) done() (Decls, error) {
	d := Decls{Unsupported: b.unsupported, Notes: b.notes, loads: b.loads}
	for _, a := range slices.Sorted(maps.Keys(b.targets)) {
		decl := b.targets[a]
		first := func(l reconcile.Leaf) bool { return b.first[leafID{a, l.Key}] }
		sort.SliceStable(decl.Leaves, func(i, j int) bool { return first(decl.Leaves[i]) && !first(decl.Leaves[j]) })
		d.Declarations = append(d.Declarations, *decl)
	}
	d.Declarations = append(d.Declarations, b.more...)
	sort.SliceStable(d.Declarations, func(i, j int) bool { return d.Declarations[i].Target < d.Declarations[j].Target })
	sort.SliceStable(d.Unsupported, func(i, j int) bool { return d.Unsupported[i].Address < d.Unsupported[j].Address })
	return d, errors.Join(b.errs...)
}

func fileAt(path string) reconcile.Address { return reconcile.Address("file:" + path) }

// from makes an origin of the place of a spec.
func from(pos ...spec.Position) []reconcile.Position {
	var out []reconcile.Position
	for _, p := range pos {
		if p != (spec.Position{}) {
			out = append(out, reconcile.Position(p))
		}
	}
	return out
}

func joined(a, b []reconcile.Position) []reconcile.Position {
	out := slices.Clone(a)
	for _, p := range b {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

func text(origin []reconcile.Position) string {
	if len(origin) == 0 {
		return ""
	}
	return origin[0].String()
}

// list renders names for a sentence.
func list(names []string) string { return strings.Join(names, ", ") }
