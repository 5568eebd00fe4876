package adapter

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
)

// indexEntry is one line of the block that tells an agent what to read.
type indexEntry struct {
	name   string // identity of an entry: a rule may lie in the folders of two runtimes
	path   string
	says   string
	origin []reconcile.Position
}

// text adds a rule to the block of an instruction file.
func (b *builder) text(name string, r rule) { b.texts[name] = append(b.texts[name], r) }

// commonFiles writes the blocks in instruction files, one for each file,
// whichever runtimes need it. A block holds the text of rules that lie in no
// folder, and lists the skills for programs that know none.
func (b *builder) commonFiles() {
	names := slices.Concat(slices.Collect(maps.Keys(b.index)), slices.Collect(maps.Keys(b.texts)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		var origin []reconcile.Position
		var parts []string
		if lines, from := b.indexLines(name); len(lines) > 0 {
			origin = joined(origin, from)
			parts = append(parts, "## Skills\n\nUnless your program has found them already, read one of these files when its skill is asked for.\n\n"+strings.Join(lines, "\n"))
		}
		for _, r := range b.texts[name] {
			origin = joined(origin, r.origin)
			text := render.RuleText(r.text)
			if len(r.only) > 0 {
				text = "For " + list(r.only) + " only:\n\n" + text
			}
			parts = append(parts, text)
		}
		b.leaf(fileAt(name), merge.Markdown, reconcile.Leaf{
			Key:    reconcile.LeafKey(merge.BlockKey("rules")),
			Body:   file.Block(merge.Markdown, strings.Join(parts, "\n\n")+"\n"),
			Own:    reconcile.Member,
			Origin: origin,
		}, "the rules")
	}
}

// written reports whether an instruction file will have a block of ours.
func (b *builder) written(name string) bool { return len(b.index[name])+len(b.texts[name]) > 0 }

func (b *builder) indexLines(name string) (lines []string, origin []reconcile.Position) {
	entries := b.index[name]
	sort.SliceStable(entries, func(i, j int) bool { return entries[i].path < entries[j].path })
	seen := map[string]bool{}
	for _, e := range entries {
		origin = joined(origin, e.origin)
		if !seen[e.name] {
			seen[e.name] = true
			lines = append(lines, fmt.Sprintf("- `%s`: %s", e.path, e.says))
		}
	}
	return lines, origin
}

// common is the instruction file that p shares with other programs: the one
// that its file imports, or that it must be told of.
func (p place) common() string {
	if p.scope.Imports != "" && len(p.scope.Instructions) > 0 {
		return path.Join(path.Dir(p.scope.Instructions[0]), strings.TrimPrefix(p.scope.Imports, "@"))
	}
	return p.scope.RulesBlock
}

// limits raises a program's size limit for an instruction file if its rules
// need more. The rest of the file keeps as much room again.
func (b *builder) limits(p place) {
	limit := p.scope.BlockLimit
	if limit == nil {
		return
	}
	var size int64
	for _, r := range b.texts[p.scope.RulesBlock] {
		size += int64(len(r.text)) + 2
	}
	if size <= limit.Bytes/2 {
		return
	}
	ref := limit.Setting
	ref.JSON = strconv.AppendInt(nil, (2*size/limit.Bytes+1)*limit.Bytes, 10)
	_, origin := askers(b.texts[p.scope.RulesBlock])
	b.reference(ref, origin, p.rt.ID)
	b.note(false, origin, "%s reads %d bytes of %s by default, but the rules there take %d: %s in %s is set, which counts once the folder is trusted",
		p.rt.ID, limit.Bytes, p.scope.RulesBlock, size, strings.TrimPrefix(ref.Pointer, "/"), ref.Path)
}

// always sets the leaves that a runtime's file, and the lines that files beside
// its folder, need as soon as that holds anything of ours.
func (b *builder) always(p place) {
	for _, l := range p.scope.Lines {
		if origin := b.below(p.scope.Dir); origin != nil {
			b.leaf(fileAt(l.Path), merge.Text, reconcile.Leaf{
				Key: reconcile.LeafKey(merge.LineKey(l.Line)), Body: file.Line(""), Own: reconcile.Member, Origin: origin,
			}, p.rt.ID)
		}
	}
	for _, ref := range p.scope.Always {
		if d := b.targets[fileAt(ref.Path)]; d != nil {
			b.first[leafID{d.Target, reconcile.LeafKey(ref.Pointer)}] = true
			b.reference(ref, d.Leaves[0].Origin, p.rt.ID)
		}
	}
}

// below returns the origin of the first target of ours in a folder; nil without one.
func (b *builder) below(dir string) []reconcile.Position {
	for _, a := range slices.Sorted(maps.Keys(b.targets)) {
		if strings.HasPrefix(a.Name(), dir+"/") {
			return b.targets[a].Leaves[0].Origin
		}
	}
	return nil
}
