package adapter

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/loads"
	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/link"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// NoteFile is a file in which a project's own notes may stand.
type NoteFile struct {
	Text []byte // what a program reads there
	Link string // where a link leads; "" for a file

	outside, own []byte // of Text: see package loads
}

// Notes are the files of notes that a project has, by their paths. They decide
// how a program comes to AGENTS.md: a link may stand only where a person has no
// text.
type Notes map[string]NoteFile

// maxNotes bounds what ReadNotes reads of a file.
const maxNotes = 4 << 20

// ReadNotes reads the files of notes below dir that a program of the catalog
// knows. Files that only one person has, such as CLAUDE.local.md, are left out:
// what a project declares is the same for everyone.
//
// Of folders, which are relative to dir, it reads the notes that a program
// started there knows.
func ReadNotes(dir string, catalog []spec.Runtime, folders ...string) (Notes, error) {
	notes := Notes{}
	names := noteNames(catalog)
	for _, name := range slices.Clone(names) {
		for _, folder := range folders {
			names = append(names, path.Join(folder, name))
		}
	}
	for _, name := range names {
		at := filepath.Join(dir, filepath.FromSlash(name))
		info, err := os.Lstat(at)
		if err != nil {
			continue // what cannot be looked at is the provider's to report
		}
		var n NoteFile
		if info.Mode()&os.ModeSymlink != 0 {
			if n.Link, err = os.Readlink(at); err != nil {
				return nil, fmt.Errorf("read the link %s: %w", at, err)
			}
			if info, err = os.Stat(at); err != nil {
				notes[name] = n // it leads nowhere
				continue
			}
		}
		if !info.Mode().IsRegular() || info.Size() > maxNotes {
			continue
		}
		if n.Text, err = os.ReadFile(at); err != nil {
			continue // as above
		}
		n.outside, n.own = loads.Unblocked(n.Text), loads.Own(n.Text)
		notes[name] = n
	}
	return notes, nil
}

// noteNames are the paths at which programs of the catalog look for a project's
// notes.
func noteNames(catalog []spec.Runtime) []string {
	var names []string
	for i := range catalog {
		if catalog[i].Loads == nil {
			continue
		}
		for _, t := range catalog[i].Loads.Texts {
			if t.Kind != string(loads.Note) || t.Walk == spec.WalkUser || t.Walk == spec.WalkBelow {
				continue
			}
			for _, f := range t.Files {
				if !strings.ContainsAny(f, "*~") && !strings.Contains(f, ".local.") && !strings.Contains(f, ".override.") {
					names = append(names, f)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// own is the person's text in a file of notes.
func (n Notes) own(name string) []byte { return n[name].own }

// trialText stands for what aisync writes.
const trialText = "A sentence of aisync.\n"

// trial is the project with nothing but its notes.
func (n Notes) trial() loads.Trial {
	files, links := map[string][]byte{}, map[string]string{}
	for name, f := range n {
		if f.Link != "" && filepath.IsLocal(path.Join(path.Dir(name), f.Link)) {
			links[name] = f.Link
		} else {
			files[name] = f.outside
		}
	}
	return loads.NewTrial(files, links)
}

// ReadsNotes reports whether the program of rt has what the person wrote into the
// file of notes name; also where the catalog does not say what it loads.
func ReadsNotes(n Notes, rt spec.Runtime, catalog []spec.Runtime, name string) bool {
	return n.trial().Copies(program(&rt, catalog), "", n.own(name)) != 0
}

// program is what runs where a spec names rt: of a runtime that others drive,
// the driver that is preferred.
func program(rt *spec.Runtime, catalog []spec.Runtime) *spec.Runtime {
	if rt.Loads != nil || rt.Command != "" {
		return rt
	}
	best := rt
	for i := range catalog {
		if d := &catalog[i]; d.Driver != nil && (best.Driver == nil || d.Driver.Order < best.Driver.Order) {
			best = d
		}
	}
	return best
}

// bar looks whether a new common file would end a program's reading of the
// person's notes in another file. Then nothing is written there, and those who
// can read nothing else wait.
func (b *builder) bar(places []place) {
	b.barred, b.unbar = map[string]string{}, map[string]func(string) string{}
	for _, p := range places {
		common := p.common()
		if _, known := b.barred[common]; known || common == "" || b.notesHere == nil || len(b.notesHere.own(common)) > 0 || b.notesHere[common].Link != "" {
			continue
		}
		before := b.notesHere.trial().Without(common) // at most a block of ours
		after := before.WithFile(common, trialText)
		for _, q := range places {
			for _, name := range slices.Sorted(maps.Keys(b.notesHere)) {
				text := b.notesHere.own(name)
				if len(text) == 0 || b.notesHere[name].Link != "" {
					continue
				}
				folder := b.folderOf(name)
				if before.Copies(q.program, folder, text) < 1 || after.Copies(q.program, folder, text) > 0 {
					continue
				}
				b.barred[common] = fmt.Sprintf("%s would take the place of %s, the notes of %s, for %s", common, name, cmp.Or(folder, "this project"), q.rt.ID)
				b.unbar[common] = func(id string) string { return unbar(folder, name, common, id) }
			}
		}
	}
}

// wait records that p gets nothing of some rules yet.
func (b *builder) wait(p place, origin []reconcile.Position) {
	w := b.waiting[p.scope.RulesBlock]
	if !slices.Contains(w.ids, p.rt.ID) {
		w.ids = append(w.ids, p.rt.ID)
	}
	w.origin = joined(joined(w.origin, p.origin), origin)
	b.waiting[p.scope.RulesBlock] = w
}

// waiting are programs that wait for rules, and where a spec asks for both.
type waiting struct {
	ids    []string
	origin []reconcile.Position
}

// sharesSeed reports whether the first content that a bundle has for p's file of
// notes goes to the common file, for the other programs here. Where the person
// has notes already, it goes nowhere.
func (b *builder) sharesSeed(p place, places []place, w bundleRequest, name string) bool {
	if b.notesHere == nil || p.scope.Imports == "" || len(p.scope.Instructions) == 0 || path.Base(p.scope.Instructions[0]) != name {
		return false
	}
	own, common := p.scope.Instructions[0], p.common()
	if b.barred[common] != "" {
		return false
	}
	if len(b.notesHere.own(own)) > 0 && b.notesHere[own].Link == "" || slices.ContainsFunc(w.part.Seeds, func(f bundle.File) bool { return f.Rel == path.Base(common) }) {
		return false
	}
	return len(places) > 1 || b.notesHere[own].Link == Beside(own, common)
}

// reportWaits adds a row for each file that programs wait for, with what to do.
func (b *builder) reportWaits() {
	for _, common := range slices.Sorted(maps.Keys(b.waiting)) {
		w := b.waiting[common]
		verb, whose := "waits", "its"
		if len(w.ids) > 1 {
			verb, whose = "wait", "their"
		}
		b.cannot(reconcile.Address("rules:"+common), w.origin, "%s %s for %s rules: %s; %s",
			list(w.ids), verb, whose, b.barred[common], b.unbar[common](w.ids[0]))
	}
}

// apart reports whether the program of p has a place for rules beside the common
// file while the person keeps separate notes for it: with the common file the
// program would get notes that it does not read now. Where another program here reads
// both places, that would have the rules twice, which is worse.
func (b *builder) apart(p place, places []place) bool {
	if p.scope.Imports == "" || p.scope.Rules == "" || len(p.scope.Instructions) == 0 {
		return false
	}
	own := p.scope.Instructions[0]
	return len(b.notesHere.own(own)) > 0 && b.notesHere[own].Link == "" && len(b.notesHere.own(p.common())) > 0 && b.notesHere[p.common()].Link == "" &&
		!slices.ContainsFunc(places, func(q place) bool { return slices.Contains(q.scope.RulesAlso, p.scope.Rules) }) &&
		b.notesHere.trial().Copies(p.program, "", b.notesHere.own(p.common())) == 0
}

// bringIn makes the program of p read the common instruction file, if that
// holds anything of ours, or if a file of ours would hide it.
func (b *builder) bringIn(p place, places []place) {
	common := p.common()
	d := b.targets[fileAt(common)]
	hides := false
	if d == nil && p.scope.Imports != "" && len(b.notesHere.own(common)) > 0 {
		d = b.targets[fileAt(p.scope.Instructions[0])]
		hides = d != nil
	}
	if d == nil || b.apart(p, places) || !hides && !b.needs(p, d) {
		return
	}
	var origin []reconcile.Position
	for _, l := range d.Leaves {
		origin = joined(origin, l.Origin)
	}
	if p.scope.Imports != "" && len(p.scope.Instructions) > 0 {
		b.reach(p, places, common, origin)
	}
	if ref := p.scope.BlockRef; ref != nil && !hides {
		b.reference(*ref, origin, p.rt.ID)
	}
}

// needs reports whether the common file d has something for the program of p.
func (b *builder) needs(p place, d *reconcile.Declaration) bool {
	return slices.ContainsFunc(b.loads, func(l load) bool { return l.runtime == p.rt.ID && fileAt(l.from) == d.Target }) ||
		slices.ContainsFunc(d.Leaves, func(l reconcile.Leaf) bool { return l.Key == reconcile.Seed }) || len(b.index[p.common()]) > 0 && p.rt.Local
}

// reach makes the program of p read the common file from its own: by a link
// where a person has no text in it, else by a line that imports it, in that file
// or in another one, whichever gives all programs here one copy.
func (b *builder) reach(p place, places []place, common string, origin []reconcile.Position) {
	own := p.scope.Instructions[0]
	here, to := b.notesHere[own], Beside(own, common)
	if here.Link != "" && here.Link != to && string(here.Text) == string(b.notesHere[common].Text) || b.notesHere[common].Link == Beside(common, own) {
		return // one file by two names, as the person made them
	}
	type form struct {
		name string
		leaf reconcile.Leaf
		tree loads.Trial
	}
	now := b.tried.WithFile(common, string(b.notesHere[common].outside)+trialText)
	if apart := p.scope.ImportsApart; apart != nil && b.notesHere[apart.Path].Link == Beside(apart.Path, common) {
		now = now.Without(apart.Path) // as it is without the form that was chosen before
	}
	var forms []form
	linked := func(at string) {
		n, there := b.notesHere[at]
		if to := Beside(at, common); b.notesHere != nil && !b.noLinks && b.targets[fileAt(at)] == nil && (!there || n.Link == to) {
			forms = append(forms, form{"link:" + at, reconcile.Leaf{Body: link.To(to), Origin: origin}, now.WithLink(at, to)})
		}
	}
	linked(own)
	line := func(at spec.FileLine) {
		leaf := reconcile.Leaf{Key: reconcile.LeafKey(merge.LineKey(at.Line)), Body: file.Line(""), Own: reconcile.Member, Origin: origin}
		text := string(b.notesHere[at.Path].outside)
		if !slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool { return strings.TrimSpace(l) == at.Line }) { // else it is there, the person's or ours
			text += "\n" + at.Line + "\n"
		}
		forms = append(forms, form{"file:" + at.Path, leaf, now.WithFile(at.Path, text)})
	}
	if here.Link != to || len(forms) == 0 { // else the person's link stays
		line(spec.FileLine{Path: own, Line: p.scope.Imports})
	}
	if p.scope.ImportsApart != nil && here.Link != to {
		line(*p.scope.ImportsApart)
		linked(p.scope.ImportsApart.Path)
	}
	best, least := 0, -1
	var twice []string
	for i, f := range forms {
		var more []string
		for _, q := range places {
			n := f.tree.Copies(q.program, "", []byte(trialText))
			if n > 1 || n < 0 && f.name == "file:"+own && slices.Contains(q.scope.Follows, own) && q.common() == common {
				more = append(more, q.rt.ID)
			}
		}
		faults := 2 * len(more)
		if f.tree.Copies(p.program, "sub", []byte(trialText)) == 0 {
			faults++
		}
		if least < 0 || faults < least {
			best, least, twice = i, faults, more
		}
	}
	f := forms[best]
	b.tried = f.tree
	format := merge.Format("")
	if strings.HasPrefix(f.name, "file:") {
		format = merge.Markdown
	}
	b.leaf(reconcile.Address(f.name), format, f.leaf, p.rt.ID)
	if format != "" && b.notesHere != nil && f.tree.Copies(p.program, "sub", []byte(trialText)) == 0 {
		how := "with a link it would: aisync add runtime " + p.rt.ID + " --move-notes"
		if b.noLinks {
			how = "with a link it would, but git keeps none here (core.symlinks is false)"
		}
		b.note(false, origin, "%s, started in a folder below this one, does not follow the import of %s; %s", p.rt.ID, common, how)
	}
	if len(twice) > 0 {
		b.note(true, joined(origin, p.origin), "%s is read twice by %s, by itself and from %s; to make one file of both: aisync add runtime %s --move-notes", common, list(twice), own, p.rt.ID)
	}
}

// Beside is to as a link at from names it.
func Beside(from, to string) string {
	if path.Dir(from) == path.Dir(to) {
		return path.Base(to)
	}
	return render.Relative(path.Dir(from), to)
}

// unshared notes the person's notes that some program here does not read.
func (b *builder) unshared(places []place) {
	if len(b.waiting) > 0 {
		return // the row says so
	}
	for _, name := range slices.Sorted(maps.Keys(b.notesHere)) {
		text := b.notesHere.own(name)
		if len(text) == 0 || b.notesHere[name].Link != "" {
			continue
		}
		var readers, others []string
		var origin []reconcile.Position
		for _, q := range places {
			switch n := b.tried.Copies(q.program, "", text); {
			case n > 0:
				readers = append(readers, q.rt.ID)
			case n == 0:
				others, origin = append(others, q.rt.ID), joined(origin, q.origin)
			}
		}
		for _, p := range places {
			if len(p.scope.Instructions) == 0 || p.scope.Instructions[0] != name || p.scope.Imports == "" || len(others) == 0 || len(b.notesHere.own(p.common())) > 0 || len(readers) == 0 {
				continue
			}
			b.note(false, origin, "%s is read by %s, and not by %s; to move its text to %s, and leave a link: aisync add runtime %s --move-notes",
				name, list(readers), list(others), p.common(), others[0])
		}
	}
}
