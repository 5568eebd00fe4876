package adapter

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/subfolder"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/frontmatter"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// A bundle that a folder of the project has for itself brings rules and ignored
// files for that folder alone. Its rules lie with those of the project, limited to
// the folder by their patterns: no program reads rules below the folder that it is
// started in as reliably as those of the root.

// folderRequests adds to out what folders of the project ask for and the whole
// project, or a folder above, does not have already.
func (p Project) folderRequests(ctx context.Context, b *builder, out []bundleRequest) []bundleRequest {
	for _, at := range p.Spec.Places {
		switch warning, err := subfolder.Look(p.Spec.Dir, at.Folder); {
		case err != nil:
			b.fail(from(at.Pos), "%w", err)
		case warning != "":
			b.note(true, from(at.Pos), "%s", warning)
		}
		for _, list := range []struct {
			kind bundle.Kind
			refs []spec.BundleRef
		}{{bundle.Language, at.Bundles}, {bundle.Team, at.Teams}} {
			for _, ref := range list.refs {
				found, err := p.Sources.Find(ctx, list.kind, ref, p.sources(b, ref))
				if err != nil {
					b.blame(err)
					continue
				}
				b.use(found.Tree, ref)
				origin := from(ref.Pos)
				if list.kind == bundle.Language {
					core, err := found.Tree.Core()
					if err != nil {
						b.fail(origin, "bundle source %q: %w", found.Tree.Name, err)
						continue
					}
					out = request(out, bundleRequest{label: found.Tree.Name + "//.", part: core, origin: origin, folder: at.Folder})
				}
				if found.Part.Kind == bundle.Core {
					continue
				}
				w := bundleRequest{label: found.Tree.Name + "//" + ref.Name, part: found.Part, origin: origin, folder: at.Folder}
				if i := above(out, w); i >= 0 {
					b.note(false, origin, "%s is left out for %s alone: %s has it", w.label, at.Folder, wholeName(out[i].folder))
				}
				out = request(out, w)
			}
		}
	}
	return out
}

// above returns the index of a request of w's bundle for a folder that holds w's,
// or for the whole project; -1 if there is none.
func above(list []bundleRequest, w bundleRequest) int {
	return slices.IndexFunc(list, func(o bundleRequest) bool { return o.part == w.part && subfolder.Encloses(o.folder, w.folder) })
}

// request adds w to list, unless it asks for nothing more. What is not limited to
// a folder is asked for once.
func request(list []bundleRequest, w bundleRequest) []bundleRequest {
	if i := above(list, w); i >= 0 {
		list[i].origin = joined(list[i].origin, w.origin)
		return list
	}
	w.again = slices.ContainsFunc(list, func(o bundleRequest) bool { return o.part == w.part })
	return append(list, w)
}

func wholeName(folder string) string {
	if folder == "" {
		return "the whole project"
	}
	return folder
}

// noteNestings notes patterns under which no nested spec lies.
func (p Project) noteNestings(b *builder) {
	for _, n := range p.Spec.Nested {
		if n.Found == 0 {
			b.note(false, from(n.Pos), "nested: no folder %s has an aisync.cue with extends", n.Pattern)
		}
	}
}

// limitRules limits the rules of folders to these. A rule that several folders
// have becomes one for all of them; one that the whole project has, or a folder
// above, is left out.
func (b *builder) limitRules() {
	var out []rule
	for _, r := range b.rules {
		if len(r.folders) == 0 {
			out = append(out, r)
		}
	}
	whole := len(out)
next:
	for _, r := range b.rules {
		if len(r.folders) == 0 {
			continue
		}
		r.bare = r.rel
		for i := range out {
			o := &out[i]
			if o.identity() != r.identity() || len(o.only) > 0 && !slices.Equal(o.only, r.only) {
				continue
			}
			if i < whole || slices.ContainsFunc(o.folders, func(f string) bool { return subfolder.Encloses(f, r.folders[0]) }) {
				o.origin = joined(o.origin, r.origin)
				continue next
			}
			if o.bare == r.bare && slices.Equal(o.only, r.only) {
				o.folders, o.origin = append(o.folders, r.folders...), joined(o.origin, r.origin)
				continue next
			}
		}
		out = append(out, r)
	}
	for i := whole; i < len(out); i++ {
		r := &out[i]
		r.plain = r.text
		r.text = frontmatter.ScopeTo(r.folders, r.text)
		about, _ := frontmatter.ReadRule(r.text)
		r.kind, r.globs = about.Kind, about.Globs
		r.rel = path.Join(r.folders[0], r.bare)
	}
	b.rules = out
}

// unseeded notes the first contents of notes that a bundle of a folder has: which
// notes a folder has changes what programs read of those above it, so they are the
// person's to write.
func (b *builder) unseeded(w bundleRequest) {
	var names []string
	add := func(files []bundle.File) {
		for _, f := range files {
			names = append(names, f.Rel)
		}
	}
	add(w.part.Seeds)
	for _, r := range w.part.Runtimes {
		add(r.Seeds)
	}
	if len(names) > 0 {
		slices.Sort(names)
		b.note(false, w.origin, "%s of %s is not used: a folder's notes are yours to write", list(slices.Compact(names)), w.label)
	}
}

// below returns lines of ignored files as they are in the project: those of a
// folder's bundle are for that folder.
func (w bundleRequest) below(lines []string) []string {
	if w.folder == "" {
		return lines
	}
	var out []string
	for _, line := range lines {
		out = append(out, frontmatter.IgnoreBelow(w.folder, line))
	}
	return out
}

// folders is the folder of w as a list.
func (w bundleRequest) folders() []string {
	if w.folder == "" {
		return nil
	}
	return []string{w.folder}
}

// hasCommonRules reports whether rules for the whole project were added.
func (b *builder) hasCommonRules() bool {
	return slices.ContainsFunc(b.rules, func(r rule) bool { return len(r.folders) == 0 })
}

// use records that ref takes a bundle from t.
func (b *builder) use(t *bundle.Tree, ref spec.BundleRef) {
	b.used = append(b.used, UsedSource{t, reconcile.Position(ref.Pos)})
	for _, label := range []string{".", ref.Name} {
		b.sources[t.Name+"//"+label] = bundle.PinnedSource(t.URL, t.Pinned)
	}
}

// unbar says how to move the notes of a folder to its common file, so that the
// program id need not wait.
func unbar(folder, name, common, id string) string {
	if folder == "" {
		return "to move these notes to " + common + ", where every program reads them: aisync add runtime " + id + " --move-notes"
	}
	to := path.Join(folder, common)
	return fmt.Sprintf("to have every program read them: git mv %s %s && ln -s %s %s", shellquote.Terminal(name), shellquote.Terminal(to), shellquote.Terminal(Beside(name, to)), shellquote.Terminal(name))
}

// folderOf returns the folder with rules for itself that a file of notes lies in;
// "" if that is the root.
func (b *builder) folderOf(name string) (folder string) {
	for _, f := range b.subfolders {
		if len(f) > len(folder) && strings.HasPrefix(name, f+"/") {
			folder = f
		}
	}
	return folder
}
