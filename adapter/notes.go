package adapter

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/loads"
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
func ReadNotes(dir string, catalog []spec.Runtime) (Notes, error) {
	notes := Notes{}
	for _, name := range noteNames(catalog) {
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

// noLinks finds the setting by which git says that a work tree holds no links.
var noLinks = regexp.MustCompile(`(?im)^\s*symlinks\s*=\s*false\s*$`)

// NoLinks reports whether git keeps links below dir as plain files: what is a
// link for others would be a text there.
func NoLinks(dir string) bool {
	config, err := os.ReadFile(filepath.Join(dir, ".git", "config"))
	return err == nil && noLinks.Match(config)
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

// The tree that trial looks at.
const (
	trialRoot = "/p"
	trialText = "A sentence of aisync.\n"
)

// trial is a project that holds nothing but its notes.
type trial struct{ tree *loads.Planned }

func (n Notes) trial() trial {
	t := &loads.Planned{Files: map[string][]byte{trialRoot + "/.git/HEAD": nil}, Links: map[string]string{}}
	for name, f := range n {
		if f.Link != "" && filepath.IsLocal(path.Join(path.Dir(name), f.Link)) {
			t.Links[path.Join(trialRoot, name)] = f.Link
		} else {
			t.Files[path.Join(trialRoot, name)] = f.outside
		}
	}
	return trial{t}
}

// with is the same project with a file or a link more.
func (t trial) with(name, text, link string) trial {
	at := path.Join(trialRoot, name)
	next := &loads.Planned{Files: maps.Clone(t.tree.Files), Links: maps.Clone(t.tree.Links)}
	delete(next.Files, at)
	delete(next.Links, at)
	if link != "" {
		next.Links[at] = link
	} else {
		next.Files[at] = []byte(text)
	}
	return trial{next}
}

// copies returns how often a program has a text at its start; -1 if the catalog
// does not say what it loads.
func (t trial) copies(rt *spec.Runtime, text []byte) int { return t.copiesFrom(trialRoot, rt, text) }

func (t trial) copiesFrom(start string, rt *spec.Runtime, text []byte) int {
	r, err := loads.Loads(*rt, loads.Machine{Tree: t.tree, Home: "/h", Trust: loads.Granted}, start)
	if err != nil {
		return -1
	}
	n, _ := r.Count(text)
	return n
}

// ReadsNotes reports whether the program of rt has what the person wrote into the
// file of notes name; also where the catalog does not say what it loads.
func ReadsNotes(n Notes, rt spec.Runtime, catalog []spec.Runtime, name string) bool {
	return n.trial().copies(program(&rt, catalog), n.own(name)) != 0
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
	b.barred = map[string]string{}
	before := b.notesHere.trial()
	for _, p := range places {
		common := p.common()
		if _, known := b.barred[common]; known || common == "" || b.notesHere == nil || len(b.notesHere.own(common)) > 0 || b.notesHere[common].Link != "" {
			continue
		}
		delete(before.tree.Files, path.Join(trialRoot, common)) // at most a block of ours
		after := before.with(common, trialText, "")
		for _, q := range places {
			for _, name := range slices.Sorted(maps.Keys(b.notesHere)) {
				text := b.notesHere.own(name)
				if len(text) == 0 || b.notesHere[name].Link != "" || before.copies(q.program, text) < 1 || after.copies(q.program, text) > 0 {
					continue
				}
				b.barred[common] = fmt.Sprintf("%s would take the place of %s, the notes of this project, for %s", common, name, q.rt.ID)
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
		b.cannot(reconcile.Address("rules:"+common), w.origin, "%s %s for %s rules: %s; to move these notes to %s, where every program reads them: aisync add runtime %s --move-notes",
			list(w.ids), verb, whose, b.barred[common], common, w.ids[0])
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
		b.notesHere.trial().copies(p.program, b.notesHere.own(p.common())) == 0
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
		tree trial
	}
	now := b.tried.with(common, string(b.notesHere[common].outside)+trialText, "")
	var forms []form
	_, there := b.notesHere[own]
	if seeded := b.targets[fileAt(own)] != nil; b.notesHere != nil && !b.noLinks && !seeded && (!there || here.Link == to) {
		forms = append(forms, form{"link:" + own, reconcile.Leaf{Body: link.To(to), Origin: origin}, now.with(own, "", to)})
	}
	line := func(at spec.ImportLine) {
		leaf := reconcile.Leaf{Key: reconcile.LeafKey(merge.LineKey(at.Line)), Body: file.Line(""), Own: reconcile.Member, Origin: origin}
		forms = append(forms, form{"file:" + at.Path, leaf, now.with(at.Path, string(b.notesHere[at.Path].outside)+"\n"+at.Line+"\n", "")})
	}
	if here.Link != to || len(forms) == 0 { // else the person's link stays
		line(spec.ImportLine{Path: own, Line: p.scope.Imports})
	}
	if p.scope.ImportsApart != nil && here.Link != to {
		line(*p.scope.ImportsApart)
	}
	best, least := 0, -1
	var twice []string
	for i, f := range forms {
		var more []string
		for _, q := range places {
			n := f.tree.copies(q.program, []byte(trialText))
			if n > 1 || n < 0 && f.name == "file:"+own && slices.Contains(q.scope.Follows, own) && q.common() == common {
				more = append(more, q.rt.ID)
			}
		}
		if least < 0 || len(more) < least {
			best, least, twice = i, len(more), more
		}
	}
	f := forms[best]
	b.tried = f.tree
	format := merge.Format("")
	if strings.HasPrefix(f.name, "file:") {
		format = merge.Markdown
	}
	b.leaf(reconcile.Address(f.name), format, f.leaf, p.rt.ID)
	if format != "" && b.notesHere != nil && !b.noLinks && f.tree.copiesFrom(trialRoot+"/sub", p.program, []byte(trialText)) == 0 {
		b.note(false, origin, "%s, started in a folder below this one, does not follow the import of %s; with a link it would: aisync add runtime %s --move-notes", p.rt.ID, common, p.rt.ID)
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
	return relative(path.Dir(from), to)
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
			switch n := b.tried.copies(q.program, text); {
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
