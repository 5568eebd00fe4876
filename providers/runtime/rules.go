package runtime

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/providers/bundle"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/merge"
	"aisync.dev/aisync/reconcile"
)

// indexEntry is one line of the block that tells an agent what to read.
type indexEntry struct {
	name   string // that makes two entries one: a rule in the folders of two runtimes
	path   string
	says   string
	origin []reconcile.Position
}

// rules puts rule files where the runtime of p loads them, or names them in
// the file that it reads. only is the runtime that they are for, "" for any.
func (b *builder) rules(p place, w wish, files []bundle.File, only string) {
	if len(files) == 0 {
		return
	}
	if p.scope.Rules == "" {
		b.note(true, w.origin, "the rules of %s are not for %s: it has no folder for them in this scope", w.label, p.rt.ID)
		return
	}
	for _, f := range files {
		target := path.Join(p.scope.Rules, f.Rel)
		b.leaf(fileAt(target), "", reconcile.Leaf{Body: ruleBody(f, p.scope.RulesForm), Origin: w.origin}, w.label)
		if p.scope.RulesIndex != "" {
			b.index[p.scope.RulesIndex] = append(b.index[p.scope.RulesIndex], indexEntry{"rule " + f.Rel, target, describe(f, only), w.origin})
		}
	}
	if ref := p.scope.RulesRef; ref != nil {
		b.reference(*ref, w.origin, w.label)
	}
}

// describe says what a rule is about, and what it is for.
func describe(f bundle.File, only string) string {
	s := firstOf(f.Title, strings.TrimSuffix(path.Base(f.Rel), ".md"))
	if f.Paths != "" {
		s += " (" + list(f.Globs) + ")"
	}
	if only != "" {
		s += ", for " + only
	}
	return s
}

// instructions puts the text that a bundle holds for one runtime into its own
// folder. The texts of several bundles make one file, in their order.
func (b *builder) instructions(p place, w wish, docs []bundle.Document) {
	for _, d := range docs {
		folder := p.scope.Dir
		if p.scope.RulesIndex == "" && p.scope.Rules != "" {
			folder = p.scope.Rules // the program loads it from there by itself
		}
		if folder == "" {
			b.note(true, w.origin, "the instructions of %s for %s have no place in this scope", w.label, p.rt.ID)
			continue
		}
		target := path.Join(folder, "instructions.md")
		if content := strings.TrimRight(string(d.Text), "\n") + "\n"; !slices.Contains(b.texts[target], content) {
			b.texts[target] = append(b.texts[target], content)
		}
		leaf := reconcile.Leaf{Body: file.Whole([]byte(strings.Join(b.texts[target], "\n")), 0o644), Origin: w.origin}
		if had := b.targets[fileAt(target)]; had != nil {
			leaf.Origin = joined(had.Leaves[0].Origin, w.origin)
			had.Leaves[0] = leaf
		} else {
			b.leaf(fileAt(target), "", leaf, w.label)
		}
		if p.scope.RulesIndex != "" {
			b.index[p.scope.RulesIndex] = append(b.index[p.scope.RulesIndex], indexEntry{"instructions " + p.rt.ID, target, "for " + p.rt.ID, w.origin})
		}
	}
}

// indexes writes the blocks that name the rules to programs that load no
// folder: one a file, whichever runtimes need it.
func (b *builder) indexes() {
	for _, name := range slices.Sorted(maps.Keys(b.index)) {
		entries := b.index[name]
		slices.SortStableFunc(entries, func(x, y indexEntry) int { return strings.Compare(x.path, y.path) })
		var origin []reconcile.Position
		var lines []string
		seen := map[string]bool{}
		for _, e := range entries {
			origin = joined(origin, e.origin)
			if !seen[e.name] {
				seen[e.name] = true
				lines = append(lines, fmt.Sprintf("- `%s`: %s", e.path, e.says))
			}
		}
		text := "## Rules\n\nUnless your program has loaded them already, read these files before you start.\n" +
			"A pattern after a name says which files it is about; without one it holds always.\n\n" + strings.Join(lines, "\n") + "\n"
		b.leaf(fileAt(name), merge.Markdown, reconcile.Leaf{
			Key:    reconcile.LeafKey(merge.BlockKey("rules")),
			Body:   file.Block(merge.Markdown, text),
			Own:    reconcile.Member,
			Origin: origin,
		}, "the rules")
	}
}

// imports ensures the line by which a program's own instruction file brings
// in the generic one, where that holds anything of ours.
func (b *builder) imports(p place) {
	if p.scope.Imports == "" || len(p.scope.Instructions) == 0 {
		return
	}
	name := p.scope.Instructions[0]
	generic := path.Join(path.Dir(name), strings.TrimPrefix(p.scope.Imports, "@"))
	d := b.targets[fileAt(generic)]
	if d == nil {
		return
	}
	var origin []reconcile.Position
	for _, l := range d.Leaves {
		origin = joined(origin, l.Origin)
	}
	b.leaf(fileAt(name), merge.Markdown, reconcile.Leaf{
		Key:    reconcile.LeafKey(merge.LineKey(p.scope.Imports)),
		Body:   file.Line(""),
		Own:    reconcile.Member,
		Origin: origin,
	}, p.rt.ID)
}

// always sets the leaves that a file of the runtime needs as soon as it holds
// anything of ours.
func (b *builder) always(p place) {
	for _, ref := range p.scope.Always {
		if d := b.targets[fileAt(ref.Path)]; d != nil {
			b.reference(ref, d.Leaves[0].Origin, p.rt.ID)
		}
	}
}
