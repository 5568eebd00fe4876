package merge

import (
	"bytes"
	"slices"
)

// remove takes the leaf away and what was made for it and is then empty.
func (d *tomlDoc) remove(e *edit, k key) ([]byte, error) {
	have, err := d.leaf(k)
	if err != nil || have == nil {
		return d.src, err
	}
	if k.kind == valueKey {
		return d.removePath(e, k.path)
	}
	l, err := d.arrayAt(k.path)
	if err != nil {
		return nil, err
	}
	i, err := d.elementIndex(k.path, k.member)
	if err != nil {
		return nil, err
	}
	place := Pointer(k.path...)
	if len(l.items) == 1 && e.notes.made(place) && l.bare(d.src, tomlSyntax) {
		return d.removePath(e, k.path)
	}
	src := d.cut(e, l, i, place)
	return reparse(src, func(d *tomlDoc) ([]byte, error) { return d.remove(e, k) })
}

// cut removes item i of l.
func (d *tomlDoc) cut(e *edit, l list, i int, place string) []byte {
	splices := l.remove(d.src, tomlSyntax, i, newline(d.src))
	if len(l.items) == 1 && l.bare(d.src, tomlSyntax) {
		if tail, ok := e.notes.text(innerNote, place); ok {
			splices = []splice{{span{l.open, l.close}, tail}}
		}
	}
	return applySplices(d.src, splices)
}

// removePath removes everything that writes path.
func (d *tomlDoc) removePath(e *edit, path []string) ([]byte, error) {
	if sp, ok := d.inline(path); ok && len(sp.parts) > 0 && (len(sp.rest) == 0 || d.partDotted(d.value(sp), sp.rest)) {
		return d.removeInline(e, sp, path)
	}
	if d.arrayOfTables(path) {
		return nil, d.refuse(path, inMany)
	}
	var cuts []span
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
		if h >= 0 && !gone[h] && e.notes.made(Pointer(path[:n]...)) && d.emptyBut(h, gone) {
			cuts = []span{{d.stmts[h].start, d.stmts[d.lastKey(h)].end}}
			for i := range d.stmts {
				if gone[i] && d.stmts[i].owner != h && (d.stmts[i].header || !gone[d.stmts[i].owner]) {
					cuts = append(cuts, d.extent(i))
				}
			}
			gone[h] = true
		}
	}
	src := d.cutLines(e, cuts, gone)
	if len(bytes.TrimSpace(src)) == 0 {
		if tail, ok := e.notes.text(documentNote, ""); ok {
			return []byte(tail), nil
		}
	}
	return src, nil
}

// extent returns statement i, with its keys where it is a header.
func (d *tomlDoc) extent(i int) span {
	s := d.stmts[i]
	if s.header {
		s.end = d.stmts[d.lastKey(i)].end
	}
	return s.span
}

// emptyBut reports whether header h holds nothing but statements that go, and
// no comment of somebody else is attached to it.
func (d *tomlDoc) emptyBut(h int, gone map[int]bool) bool {
	last := h
	for i, s := range d.stmts {
		if s.owner == h && !s.header {
			if !gone[i] {
				return false
			}
			last = i
		}
	}
	at := d.stmts[h].end
	for i := h; i <= last; i++ {
		if s := d.stmts[i]; i > h {
			if end, _ := tomlSyntax.lastComment(d.src[at:s.start]); end > 0 {
				return false
			}
			at = s.end
		}
		if end, _ := tomlSyntax.lastComment(d.src[at:d.lineEnd(at)]); end > 0 {
			return false
		}
	}
	// A comment directly below stands in the table as much as in the next.
	next := bytes.TrimLeft(d.src[d.lineEnd(at):], "\r")
	if len(next) > 0 {
		next = bytes.TrimLeft(next[1:], " \t")
	}
	return len(next) == 0 || next[0] != '#'
}

// cutLines removes spans with the line ends that were put before them.
func (d *tomlDoc) cutLines(e *edit, cuts []span, gone map[int]bool) []byte {
	var splices []splice
	for _, c := range cuts {
		end := d.lineEnd(c.end)
		if comment, _ := tomlSyntax.lastComment(d.src[c.end:end]); comment > 0 {
			splices = append(splices, splice{span{c.start, end - len(bytes.TrimLeft(d.src[c.end:end], " \t"))}, ""})
			continue // a comment at the end of the line stays
		}
		before := d.contentEnd(c.start)
		switch next := d.nextKey(c.end); {
		case before == 0 && next < 0 && !d.rootKeys(gone):
			after := end + d.lineBreak(end)
			if _, ok := e.notes.text(blankNote, ""); ok {
				after += d.lineBreak(after)
			}
			if d.stmts[d.at(c.start)].header {
				after = len(d.src) - len(bytes.TrimLeft(d.src[end:], "\r\n"))
			}
			splices = append(splices, splice{span{0, after}, ""})
		case before == 0 || next >= 0:
			from := c.start - len(lineIndent(d.src, c.start))
			splices = append(splices, splice{span{from, end + d.lineBreak(end)}, ""})
		default:
			splices = append(splices, splice{span{before, end}, ""})
		}
	}
	return applySplices(d.src, splices)
}

// at returns the statement that starts at off.
func (d *tomlDoc) at(off int) int {
	return slices.IndexFunc(d.stmts, func(s statement) bool { return s.start == off })
}

// nextKey returns the key statement that stands in the line after off, in the
// same table; -1 for none.
func (d *tomlDoc) nextKey(off int) int {
	for i, s := range d.stmts {
		if s.start >= off {
			if !s.header && len(bytes.TrimSpace(d.src[off:s.start])) == 0 {
				return i
			}
			return -1
		}
	}
	return -1
}

// rootKeys reports whether keys stay before the first header.
func (d *tomlDoc) rootKeys(gone map[int]bool) bool {
	for i, s := range d.stmts {
		if !s.header && s.owner < 0 && !gone[i] {
			return true
		}
	}
	return false
}

// lineBreak returns how long the line end at off is, 0 for none.
func (d *tomlDoc) lineBreak(off int) int {
	switch {
	case bytes.HasPrefix(d.src[off:], []byte("\r\n")):
		return 2
	case bytes.HasPrefix(d.src[off:], []byte("\n")):
		return 1
	}
	return 0
}

// removeInline takes path out of the inline table that holds it, and the
// tables around it that were made for it.
func (d *tomlDoc) removeInline(e *edit, sp spot, path []string) ([]byte, error) {
	if len(sp.rest) > 0 { // made with dots: every part of it
		table := d.value(sp)
		i := slices.IndexFunc(table.parts, func(p tomlPart) bool { return hasPrefix(p.path, sp.rest) })
		src := d.cut(e, inlineList(table), i, Pointer(path[:len(path)-len(sp.rest)]...))
		return reparse(src, func(d *tomlDoc) ([]byte, error) {
			if _, there, err := d.get(path); err != nil || !there {
				return d.src, err
			}
			return d.removePath(e, path)
		})
	}
	n := len(sp.parts) - 1
	at := spot{stmt: sp.stmt, parts: sp.parts[:n]}
	table := d.value(at)
	own := table.parts[sp.parts[n]]
	outer := path[:len(path)-len(own.path)]
	l := inlineList(table)
	if len(l.items) == 1 && e.notes.made(Pointer(outer...)) && l.bare(d.src, tomlSyntax) {
		return d.removePath(e, outer)
	}
	return d.cut(e, l, sp.parts[n], Pointer(outer...)), nil
}
