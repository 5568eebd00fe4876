package edit

import (
	"bytes"

	"cuelang.org/go/cue/ast"
)

// removal returns the edit that removes the occurrence. A chain "a: b: c:" goes as a
// whole, unless it contains the root, which then stays empty.
func (s occurrence) removal(root int, onlyRoot bool) (from, to int, with string) {
	if s.depth < root && onlyRoot {
		v := spanOf(s.chain[root-1-s.depth].Value)
		return v.from, v.to, "{}"
	}
	i := 0
	for i < len(s.in.decls) && s.in.decls[i] != ast.Decl(s.chain[0]) {
		i++
	}
	from, to = s.file.removalRange(spans(s.in.decls), i)
	return from, to, ""
}

// cutElement returns the edit that removes the element i from list.
func (f *file) cutElement(list *ast.ListLit, i int) (from, to int, with string) {
	from, to = f.removalRange(spans(list.Elts), i)
	return from, to, ""
}

// removalRange returns the range to remove for the item at i: its lines with the
// comments above and beside it if it has lines to itself, otherwise the item and
// one comma.
func (f *file) removalRange(items []span, i int) (from, to int) {
	item := items[i]
	start, end := f.lineStart(item.from), f.lineEnd(f.comma(item.to))
	alone := blank(f.Text[start:item.from]) && (i == 0 || items[i-1].to <= start)
	rest := bytes.TrimLeft(f.Text[f.comma(item.to):end], " \t")
	if alone && (len(rest) == 0 || bytes.HasPrefix(rest, []byte("//"))) {
		return f.commentStart(start), f.gapEnd(start, end)
	}
	switch {
	case i > 0 && items[i-1].to > start:
		return items[i-1].to, item.to
	case i+1 < len(items) && items[i+1].from < end:
		return item.from, items[i+1].from
	}
	return item.from, f.comma(item.to)
}

// commentStart returns the start of the comment directly above the line at start.
func (f *file) commentStart(start int) int {
	for start > 0 {
		before := f.lineStart(start - 1)
		if !bytes.HasPrefix(bytes.TrimLeft(f.Text[before:start], " \t"), []byte("//")) {
			break
		}
		start = before
	}
	return start
}

// gapEnd returns the start of the text after the line that ends at end. If two
// blank lines would meet, it removes one.
func (f *file) gapEnd(start, end int) int {
	next := f.nextLine(end)
	top := f.commentStart(start)
	if top > 0 && blank(f.Text[f.lineStart(top-1):top]) && next < len(f.Text) && blank(f.Text[next:f.lineEnd(next)]) {
		next = f.nextLine(next)
	}
	return next
}

// nextLine returns the offset after the line break at or after i.
func (f *file) nextLine(i int) int {
	if n := bytes.IndexByte(f.Text[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(f.Text)
}

func blank(b []byte) bool { return len(bytes.TrimSpace(b)) == 0 }
