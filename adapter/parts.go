package adapter

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/chain"
	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/frontmatter"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// part declares what a bundle holds for one runtime.
func (b *builder) part(p place, w bundleRequest) {
	own := w.part.Runtime(p.rt.ID)
	b.addRules(w, own.Rules, p.rt.ID)
	b.addInstructions(p, w, own.Instructions)
	if !w.again {
		b.ownFiles(p, w)
	}
}

// ownFiles declares the programs, settings and other files that a bundle holds
// for one runtime in that runtime's form.
func (b *builder) ownFiles(p place, w bundleRequest) {
	own := w.part.Runtime(p.rt.ID)
	b.files(p, w, p.scope.Hooks, "hook programs", own.Hooks)
	agents, others := p.ownAgents(own.Others)
	if len(agents) > 0 {
		b.files(p, w, p.scope.Agents.Path, "subagents", agents)
	}
	b.files(p, w, p.scope.Dir, "files", others)
	for _, d := range own.Settings {
		b.fragment(p, d.Text, d.Path, w.label, func(string) []reconcile.Position { return w.origin })
	}
}

// ownAgents splits off the subagents among the files of a bundle for the program
// of p, if these do not lie in the program's folder, with names below their own.
func (p place) ownAgents(files []bundle.File) (agents, others []bundle.File) {
	f := p.scope.Agents
	if f == nil || strings.HasPrefix(f.Path, p.scope.Dir+"/") {
		return nil, files
	}
	for _, o := range files {
		if rel, ok := strings.CutPrefix(o.Rel, "agents/"); ok {
			o.Rel = rel
			agents = append(agents, o)
		} else {
			others = append(others, o)
		}
	}
	return agents, others
}

// sourceBody is the unchanged content of a bundle's file.
func sourceBody(f bundle.File) reconcile.Body {
	return madeOf(f, reconcile.Fingerprint(f.Digest), f.Mode, nil)
}

// madeOf is a bundle's file after transform; digest is that of the result.
func madeOf(f bundle.File, digest reconcile.Fingerprint, mode fs.FileMode, transform func([]byte) []byte) reconcile.Body {
	if form := transform; form != nil && f.ByProse {
		transform = func(src []byte) []byte { return form(frontmatter.ScopeByProse(src)) }
	}
	switch {
	case f.Embedded == nil:
		return file.WithPast(file.FromSource(f.Path, digest, mode, transform), f.Past)
	case transform == nil:
		return file.Whole(f.Embedded, mode)
	}
	return file.Whole(transform(f.Embedded), mode)
}

// files puts whole files below folder.
func (b *builder) files(p place, w bundleRequest, folder, what string, files []bundle.File) {
	if len(files) > 0 && folder == "" {
		b.note(true, w.origin, "the %s of %s have no place with %s in this scope", what, w.label, p.rt.ID)
		return
	}
	for _, f := range files {
		b.leaf(fileAt(path.Join(folder, f.Rel)), "", reconcile.Leaf{Body: sourceBody(f), Origin: w.origin}, w.label)
	}
}

// fragment merges settings into the runtime's settings file, leaf by leaf. name
// is the text's name in errors; "" for one from a spec.
func (b *builder) fragment(p place, doc []byte, name, asker string, origin func(key string) []reconcile.Position) {
	s := p.scope.Settings
	if s == nil {
		b.note(true, origin(""), "the settings of %s are not for %s, which has no settings file in this scope", asker, p.rt.ID)
		return
	}
	leaves, err := merge.Flatten(doc, merge.Rules{Sets: s.Sets, Hooks: s.Hooks})
	if err != nil {
		var where *merge.Error
		if errors.As(err, &where) && name != "" {
			err = fmt.Errorf("%s:%w", name, err)
		}
		b.fail(origin(""), "settings of %s for %s: %w", asker, p.rt.ID, err)
		return
	}
	for _, l := range leaves {
		if why := ignored(p.scope, s.Path, l.Key, l.Value); why != "" {
			b.fail(origin(l.Key), "%s ignores %s in %s: %s; leave it out, or set it for yourself under settings of your host", p.rt.ID, l.Key, s.Path, why)
			continue
		}
		b.leaf(fileAt(s.Path), merge.Format(s.Format), reconcile.Leaf{
			Key:    reconcile.LeafKey(l.Key),
			Body:   file.Value(l.Value),
			Own:    reconcile.Member,
			Origin: origin(l.Key),
		}, asker)
	}
}

// ignored says why a program ignores a setting of a file in this scope; "" if
// it does not.
func ignored(s spec.Scope, file, key string, value merge.Value) string {
	pointer, _, _ := strings.Cut(key, "#")
	names, err := merge.Names(pointer)
	if err != nil {
		return ""
	}
	for _, o := range s.Obeys {
		if !slices.Contains(o.Files, file) {
			continue
		}
		for _, i := range o.Ignored {
			if _, _, ok := merge.MatchPrefix(i.Key, names); ok && (len(i.Values) == 0 || slices.Contains(i.Values, strings.Trim(string(value), `"`))) {
				return i.Why
			}
		}
	}
	return ""
}

// ownSettings merges the fragments that the spec itself holds. named reports
// whether the spec names a runtime, installed or not.
func (b *builder) ownSettings(places []place, settings []spec.Settings, named func(runtime string) bool) {
	for _, s := range settings {
		i := slices.IndexFunc(places, func(p place) bool { return p.rt.ID == s.Runtime })
		if i < 0 {
			why := "it is not among the runtimes here"
			if named(s.Runtime) {
				why = "it is not installed"
			}
			b.note(true, from(s.Pos), "settings of %s are not used: %s", s.Runtime, why)
			continue
		}
		b.fragment(places[i], s.JSON, "", "this spec", func(key string) []reconcile.Position { return from(s.At(key)) })
	}
}

// reference sets one leaf that an adapter asks for.
func (b *builder) reference(ref spec.Reference, origin []reconcile.Position, asker string) {
	b.member(ref, file.Value(ref.JSON), origin, asker)
}

// member adds the leaf of ref with body, which has ref's value.
func (b *builder) member(ref spec.Reference, body reconcile.Body, origin []reconcile.Position, asker string) {
	key := ref.Pointer
	if set, ok := strings.CutSuffix(ref.Pointer, "/-"); ok {
		var err error
		if key, err = merge.SetKey(set, ref.JSON); err != nil {
			b.fail(origin, "adapter: %s %s: %w", ref.Path, ref.Pointer, err)
			return
		}
	}
	b.leaf(fileAt(ref.Path), merge.Format(ref.Format), reconcile.Leaf{
		Key: reconcile.LeafKey(key), Body: body, Own: reconcile.Member, Origin: origin,
	}, asker)
}

// seeds writes the first content of the runtimes' instruction files, and
// reports content that no runtime here reads.
func (b *builder) seeds(places []place, w bundleRequest) {
	seed := func(f bundle.File, among []place) {
		for _, p := range among {
			if common := p.common(); b.sharesSeed(p, places, w, f.Rel) {
				b.leaf(fileAt(common), merge.Markdown, reconcile.Leaf{Key: reconcile.Seed, Body: sourceBody(f), Own: reconcile.SeedOnly, Origin: w.origin}, w.label)
				return
			}
			for _, file := range slices.Concat(p.scope.Instructions, []string{p.common()}) {
				if file != "" && path.Base(file) == f.Rel && b.barred[file] == "" {
					b.leaf(fileAt(file), merge.Markdown, reconcile.Leaf{Key: reconcile.Seed, Body: sourceBody(f), Own: reconcile.SeedOnly, Origin: w.origin}, w.label)
					return
				}
			}
		}
		why := "no runtime here reads it"
		for _, p := range among {
			if common := p.common(); path.Base(common) == f.Rel && b.barred[common] != "" {
				why = b.barred[common]
			}
		}
		b.note(false, w.origin, "%s of %s is not used: %s", f.Rel, w.label, why)
	}
	for _, f := range w.part.Seeds {
		seed(f, places)
	}
	for _, p := range places {
		for _, f := range w.part.Runtime(p.rt.ID).Seeds {
			seed(f, []place{p})
		}
	}
}

// agents puts the documents about working together below .ai/, if the project
// wants that.
func (b *builder) agents(w bundleRequest, wanted bool) {
	if len(w.part.Agents) > 0 && !wanted {
		b.note(false, w.origin, "the documents for agents of %s are not used: agents: sessions: true asks for them", w.label)
		return
	}
	for _, f := range w.part.Agents {
		b.leaf(fileAt(path.Join(".ai", f.Rel)), "", reconcile.Leaf{Body: sourceBody(f), Origin: w.origin}, w.label)
	}
}

// ignores appends the lines of a bundle to .gitignore.
func (b *builder) ignores(w bundleRequest) {
	for _, line := range w.below(w.part.Ignore) {
		b.leaf(fileAt(".gitignore"), merge.Text, reconcile.Leaf{
			Key:    reconcile.LeafKey(merge.LineKey(line)),
			Body:   file.Line("# --- " + w.part.Name + " ruleset ---"),
			Own:    reconcile.Member,
			Origin: w.origin,
		}, w.label)
	}
}

// gitHooks puts hook programs into githooks/ and points git there.
func (b *builder) gitHooks(wishes []bundleRequest, repository bool, active func() Hooks) {
	var files []reconcile.Address
	var origin []reconcile.Position
	var names []string
	for _, w := range wishes {
		for _, f := range w.part.GitHooks {
			target := path.Join("githooks", f.Rel)
			b.leaf(fileAt(target), "", reconcile.Leaf{Body: sourceBody(f), Origin: w.origin}, w.label)
			files, origin = append(files, fileAt(target)), joined(origin, w.origin)
			names = append(names, f.Rel)
		}
	}
	switch {
	case len(files) == 0:
	case !repository:
		b.note(true, origin, "the git hooks in githooks/ (%s) are not wired: %s", list(names), chain.Outside(b.owner.ProjectDir()))
	default:
		var found Hooks
		if active != nil {
			found = active()
		}
		b.wireHooks(found, files, names, origin)
	}
}

// hookNotes reports, once for each bundle, the runtimes for which its hooks do
// nothing.
func (b *builder) hookNotes(places []place, w bundleRequest) {
	var with []string
	for _, r := range w.part.Runtimes {
		if len(r.Hooks) > 0 || slices.ContainsFunc(r.Settings, func(d bundle.Document) bool { return render.HasHooks(d.Text) }) {
			with = append(with, r.ID)
		}
	}
	var files []string // the files with these hooks
	for _, p := range places {
		if s := p.scope.Settings; s != nil && slices.Contains(with, p.rt.ID) {
			files = append(files, s.Path)
		}
	}
	var without []string
	for _, p := range places {
		takes := p.scope.Events != nil && slices.ContainsFunc(p.scope.Events.Also, func(f string) bool { return slices.Contains(files, f) })
		if !takes && !slices.Contains(with, p.rt.ID) {
			without = append(without, p.rt.ID)
		}
	}
	if len(with) > 0 && len(without) > 0 {
		b.note(false, w.origin, "the hooks of %s are for %s; they are manual for %s", w.label, list(with), list(without))
	}
}

// problems reports what the author of a bundle should fix.
func (b *builder) problems(origin []reconcile.Position, label string, problems []bundle.Problem) {
	for _, p := range problems {
		b.note(true, origin, "bundle %s: %s %s", label, p.Path, p.Text)
	}
}
