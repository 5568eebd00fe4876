package toml

import (
	"bytes"
	"slices"

	"aisync.dev/aisync/internal/merge/brackets"
	"aisync.dev/aisync/internal/merge/leaf"
)

// Remove takes the leaf away and what was made for it and is then empty.
func (d *doc) Remove(k leaf.Key, notes *leaf.Notes) ([]byte, error) {
	have, err := d.leaf(k)
	if err != nil || have == nil {
		return d.src, err
	}
	if k.Kind == leaf.KindValue {
		return d.removePath(notes, k.Path)
	}
	l, err := d.arrayAt(k.Path)
	if err != nil {
		return nil, err
	}
	x, _, err := d.get(k.Path)
	if err != nil {
		return nil, err
	}
	i, err := d.element(x, k)
	if err != nil {
		return nil, err
	}
	place := leaf.Pointer(k.Path...)
	if len(l.Items) == 1 && notes.Made(place) && l.Bare() {
		return d.removePath(notes, k.Path)
	}
	src := d.cut(notes, l, i, place)
	return reparse(src, func(d *doc) ([]byte, error) { return d.Remove(k, notes) })
}

// cut removes item i of l.
func (d *doc) cut(notes *leaf.Notes, l brackets.List, i int, place string) []byte {
	splices := l.Remove(i)
	if len(l.Items) == 1 && l.Bare() {
		if tail, ok := notes.Text(leaf.InnerNote, place); ok {
			splices = []leaf.Splice{leaf.Put(l.Open, l.Close, tail)}
		}
	}
	return leaf.Apply(d.src, splices...)
}

// removePath removes everything that writes path.
func (d *doc) removePath(notes *leaf.Notes, path []string) ([]byte, error) {
	if sp, ok := d.inline(path); ok && len(sp.parts) > 0 && (len(sp.rest) == 0 || d.partDotted(d.value(sp), sp.rest)) {
		return d.removeInline(notes, sp, path)
	}
	if d.arrayOfTables(path) {
		return nil, d.refuse(path, inMany)
	}
	var cuts []leaf.Span
	gone := map[int]bool{}
	for i, s := range d.stmts {
		if !hasPrefix(s.path, path) {
			continue
		}
		if s.header || s.owner < 0 || !hasPrefix(d.stmts[s.owner].path, path) {
			cuts = append(cuts, d.extent(i))
		}
		gone[i] = true
	}
	// The header above goes too where it was made and nothing is left in it.
	for n := len(path) - 1; n > 0; n-- {
		h := d.header1(path[:n])
		if h >= 0 && !gone[h] && notes.Made(leaf.Pointer(path[:n]...)) && d.emptyBut(h, gone) {
			cuts = []leaf.Span{{Start: d.stmts[h].Start, End: d.stmts[d.lastKey(h)].End}}
			for i := range d.stmts {
				if gone[i] && d.stmts[i].owner != h && (d.stmts[i].header || !gone[d.stmts[i].owner]) {
					cuts = append(cuts, d.extent(i))
				}
			}
			gone[h] = true
		}
	}
	src := d.cutLines(notes, cuts, gone)
	if len(bytes.TrimSpace(src)) == 0 {
		if tail, ok := notes.Text(leaf.DocumentNote, ""); ok {
			return []byte(tail), nil
		}
	}
	return src, nil
}

// extent returns statement i, with its keys where it is a header.
func (d *doc) extent(i int) leaf.Span {
	s := d.stmts[i]
	if s.header {
		s.End = d.stmts[d.lastKey(i)].End
	}
	return s.Span
}

// emptyBut reports whether header h holds nothing but statements that go, and
// no comment is attached to it.
func (d *doc) emptyBut(h int, gone map[int]bool) bool {
	last := h
	for i, s := range d.stmts {
		if s.owner == h && !s.header {
			if !gone[i] {
				return false
			}
			last = i
		}
	}
	at := d.stmts[h].End
	for i := h; i <= last; i++ {
		if s := d.stmts[i]; i > h {
			if end, _ := syntax.LastComment(d.src[at:s.Start]); end > 0 {
				return false
			}
			at = s.End
		}
		if end, _ := syntax.LastComment(d.src[at:leaf.LineEnd(d.src, at)]); end > 0 {
			return false
		}
	}
	// A comment directly below stands in the table as much as in the next.
	next := bytes.TrimLeft(d.src[leaf.LineEnd(d.src, at):], "\r")
	if len(next) > 0 {
		next = bytes.TrimLeft(next[1:], " \t")
	}
	return len(next) == 0 || next[0] != '#'
}

// cutLines removes spans with the line ends that were put before them.
func (d *doc) cutLines(notes *leaf.Notes, cuts []leaf.Span, gone map[int]bool) []byte {
	var splices []leaf.Splice
	for _, c := range cuts {
		end := leaf.LineEnd(d.src, c.End)
		if comment, _ := syntax.LastComment(d.src[c.End:end]); comment > 0 {
			splices = append(splices, leaf.Cut(c.Start, end-len(bytes.TrimLeft(d.src[c.End:end], " \t"))))
			continue // a comment at the end of the line stays
		}
		before := d.contentEnd(c.Start)
		switch next := d.nextKey(c.End); {
		case before == 0 && next < 0 && !d.rootKeys(gone):
			after := end + len(leaf.LineBreak(d.src[end:]))
			if _, ok := notes.Text(leaf.BlankNote, ""); ok {
				after += len(leaf.LineBreak(d.src[after:]))
			}
			if d.stmts[d.at(c.Start)].header {
				after = len(d.src) - len(bytes.TrimLeft(d.src[end:], "\r\n"))
			}
			splices = append(splices, leaf.Cut(0, after))
		case before == 0 || next >= 0:
			from := c.Start - len(leaf.LineIndent(d.src, c.Start))
			splices = append(splices, leaf.Cut(from, end+len(leaf.LineBreak(d.src[end:]))))
		default:
			splices = append(splices, leaf.Cut(before, end))
		}
	}
	return leaf.Apply(d.src, splices...)
}

// at returns the statement that starts at off.
func (d *doc) at(off int) int {
	return slices.IndexFunc(d.stmts, func(s statement) bool { return s.Start == off })
}

// nextKey returns the key statement that stands in the line after off, in the
// same table; -1 for none.
func (d *doc) nextKey(off int) int {
	for i, s := range d.stmts {
		if s.Start >= off {
			if !s.header && len(bytes.TrimSpace(d.src[off:s.Start])) == 0 {
				return i
			}
			return -1
		}
	}
	return -1
}

// rootKeys reports whether keys stay before the first header.
func (d *doc) rootKeys(gone map[int]bool) bool {
	for i, s := range d.stmts {
		if !s.header && s.owner < 0 && !gone[i] {
			return true
		}
	}
	return false
}

// removeInline takes path out of the inline table that holds it, and the
// tables around it that were made for it.
func (d *doc) removeInline(notes *leaf.Notes, sp spot, path []string) ([]byte, error) {
	if len(sp.rest) > 0 { // made with dots: every part of it
		table := d.value(sp)
		i := slices.IndexFunc(table.parts, func(p part) bool { return hasPrefix(p.path, sp.rest) })
		src := d.cut(notes, d.table(table), i, leaf.Pointer(path[:len(path)-len(sp.rest)]...))
		return reparse(src, func(d *doc) ([]byte, error) {
			if _, there, err := d.get(path); err != nil || !there {
				return d.src, err
			}
			return d.removePath(notes, path)
		})
	}
	n := len(sp.parts) - 1
	at := spot{stmt: sp.stmt, parts: sp.parts[:n]}
	table := d.value(at)
	own := table.parts[sp.parts[n]]
	outer := path[:len(path)-len(own.path)]
	l := d.table(table)
	if len(l.Items) == 1 && notes.Made(leaf.Pointer(outer...)) && l.Bare() {
		return d.removePath(notes, outer)
	}
	return d.cut(notes, l, sp.parts[n], leaf.Pointer(outer...)), nil
}
