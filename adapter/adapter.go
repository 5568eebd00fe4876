// Package adapter declares what specs ask of agent programs: rules, skills,
// hooks, settings, MCP servers, trust, endpoints and models, each in the file
// that the program's entry in the catalog names. It reads bundle sources; it
// neither reads nor writes targets. Call Project.Declare and Host.Declare.
package adapter

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/adapter/sealed"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Decls is everything that a spec declares.
type Decls struct {
	Declarations []reconcile.Declaration // sorted by target
	Unsupported  []reconcile.Unsupported // sorted by address
	Notes        []reconcile.Note
	Sources      []UsedSource        // of a project's bundles
	Own          []reconcile.Address // what the person's own layer of a project asks for
	Required     []RequiredHook      // that programs run

	loads []load
}

// RequiredHook is a hook that a bundle requires, such as a guard, and that is
// written for a program to run.
type RequiredHook struct {
	Runtime, Event, Command string
	Origin                  []reconcile.Position
}

// UsedSource is a bundle source that a spec takes a bundle from. A leaf with
// Origin among its positions comes from there, perhaps not only.
type UsedSource struct {
	Tree   *bundle.Tree
	Origin reconcile.Position
}

// load is one rule that one program will load.
type load struct {
	runtime, rule, text string // text identifies the rule
	from                string // folder or instruction file; "" if the program only gets the name
	origin              []reconcile.Position
}

// Add appends the content of other.
func (d *Decls) Add(other Decls) {
	d.Declarations = append(d.Declarations, other.Declarations...)
	d.Unsupported = append(d.Unsupported, other.Unsupported...)
	d.Notes = append(d.Notes, other.Notes...)
	d.Sources = append(d.Sources, other.Sources...)
	d.Own = append(d.Own, other.Own...)
	d.Required = append(d.Required, other.Required...)
}

// bundleRequest is one bundle that a spec asks for.
type bundleRequest struct {
	label  string // its name in the spec: "rulesets//elisp"
	part   *bundle.Part
	origin []reconcile.Position
	folder string // of the project, for which alone its rules are; "": the whole project
	again  bool   // an earlier request has brought what no folder limits
}

// place is one runtime in one scope.
type place struct {
	rt      spec.Runtime
	scope   spec.Scope
	origin  []reconcile.Position // where the spec names the runtime
	program *spec.Runtime        // what runs: of a generic runtime, its preferred driver
}

// builder collects the leaves of one owner, target by target.
type builder struct {
	owner       reconcile.Owner
	local       bool
	targets     map[reconcile.Address]*reconcile.Declaration
	by          map[leafID]string // the bundle that asked for a whole file or a seed
	at          map[leafID]int
	dir         string                  // of the spec, "" if there is none
	wishes      []bundleRequest         // of a project
	subfolders  []string                // of dir that have rules for themselves
	first       map[leafID]bool         // comes before everything else that is new in its file
	more        []reconcile.Declaration // leaves that differ from those in targets: Compose reports them
	rules       []rule                  // not placed yet
	index       map[string][]indexEntry
	texts       map[string][]rule // rules in the block of an instruction file, by its path
	loads       []load
	listed      []listing                         // rules that some programs learn of by a line
	holds       map[string]map[string]bool        // the rules for all runtimes in a folder
	folders     map[string]string                 // the folder of all of a runtime's rules, by its id
	notesHere   Notes                             // nil: unknown
	noLinks     bool                              // the project's folder cannot hold links
	barred      map[string]string                 // why nothing is written into a common file yet
	unbar       map[string]func(id string) string // what to do about that, so that the program id need not wait
	waiting     map[string]waiting                // by common file
	tried       loads.Trial                       // the notes as they will be
	bridges     []bridge
	modules     map[string]*module // by file path
	checks      []check
	sources     map[string]string // the pinned source of a bundle, by its label
	used        []UsedSource
	required    []RequiredHook
	secrets     *sealed.Secrets
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
		holds:   map[string]map[string]bool{},
		folders: map[string]string{},
		waiting: map[string]waiting{},
		modules: map[string]*module{},
		sources: map[string]string{},
	}
}

// leaf adds one leaf. Equal leaves collapse. For whole files and seeds that
// differ, the error names both bundles; other leaves are left to Compose.
func (b *builder) leaf(target reconcile.Address, format merge.Format, l reconcile.Leaf, asker string) {
	l.Source = b.sources[asker]
	if source, _, ok := file.SourceOf(l.Body); ok && b.dir != "" {
		if rel, err := filepath.Rel(b.dir, source); err != nil || !filepath.IsLocal(rel) {
			l.Body = file.Elsewhere(l.Body)
		}
	}
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
		b.fail(l.Origin, "%s and %s (%s) bring different files %s; leave one of the bundles out, or make the files equal",
			b.by[id], asker, text(d.Leaves[i].Origin), target.Name())
	}
}

// waits makes target depend on on; "" is none.
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

// blame is fail for an error that names its position. Several parts of a spec
// may meet the same error, such as a missing source: it is reported once.
func (b *builder) blame(err error) {
	if !slices.ContainsFunc(b.errs, func(e error) bool { return e.Error() == err.Error() }) {
		b.errs = append(b.errs, err)
	}
}

func (b *builder) note(warning bool, origin []reconcile.Position, format string, args ...any) {
	n := reconcile.Note{Warning: warning, Text: fmt.Sprintf(format, args...), Origin: origin}
	if !b.local || !slices.ContainsFunc(b.notes, func(o reconcile.Note) bool { return o.Text == n.Text }) {
		b.notes = append(b.notes, n)
	}
}

func (b *builder) cannot(a reconcile.Address, origin []reconcile.Position, format string, args ...any) {
	b.unsupported = append(b.unsupported, reconcile.Unsupported{Address: a, Reason: fmt.Sprintf(format, args...), Origin: origin})
}

// done returns everything collected. The leaves of a target keep the order in
// which they were declared; all else is sorted.
func (b *builder) done() (Decls, error) {
	d := Decls{Unsupported: b.unsupported, Notes: b.notes, Sources: b.used, Required: b.required, loads: b.loads}
	for _, a := range slices.Sorted(maps.Keys(b.targets)) {
		decl := b.targets[a]
		first := func(l reconcile.Leaf) bool { return b.first[leafID{a, l.Key}] }
		sort.SliceStable(decl.Leaves, func(i, j int) bool { return first(decl.Leaves[i]) && !first(decl.Leaves[j]) })
		for i, l := range decl.Leaves {
			decl.Leaves[i].Unless = importedBy(a, l.Key)
		}
		d.Declarations = append(d.Declarations, *decl)
	}
	d.Declarations = append(d.Declarations, b.more...)
	sort.SliceStable(d.Declarations, func(i, j int) bool { return d.Declarations[i].Target < d.Declarations[j].Target })
	sort.SliceStable(d.Unsupported, func(i, j int) bool { return d.Unsupported[i].Address < d.Unsupported[j].Address })
	return d, errors.Join(b.errs...)
}

// importedBy returns the file that a line of target imports, "" for another leaf. A
// file must not import itself, as it would by a link between the two.
func importedBy(target reconcile.Address, key reconcile.LeafKey) reconcile.Address {
	line, ok := merge.LineOf(string(key))
	name, imports := strings.CutPrefix(line, "@")
	switch {
	case !ok || !imports || name == "" || strings.ContainsAny(name, " \t"):
		return ""
	case path.IsAbs(name) || strings.HasPrefix(name, "~/"):
		return fileAt(name)
	}
	return fileAt(path.Join(path.Dir(target.Name()), name))
}

func fileAt(path string) reconcile.Address { return reconcile.Address("file:" + path) }

// from converts positions of a spec to an origin.
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

// list joins names for a sentence.
func list(names []string) string { return strings.Join(names, ", ") }
