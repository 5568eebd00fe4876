package edit

import (
	"bytes"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
)

// span is an item of a struct or list, by offsets.
type span struct{ from, to int }

func spanOf(n ast.Node) span { return span{n.Pos().Offset(), n.End().Offset()} }

// spans returns the items of a struct or list without a final "...".
func spans[N ast.Node](items []N) []span {
	var out []span
	for _, n := range items {
		if _, dots := ast.Node(n).(*ast.Ellipsis); !dots {
			out = append(out, spanOf(n))
		}
	}
	return out
}

// add writes path with value beside the nearest existing part of it.
func (e *Files) add(value string, path []string) error {
	for n := len(path) - 1; n > 0; n-- {
		spots := e.find(path[:n])
		if len(spots) == 0 {
			continue
		}
		if i := slices.IndexFunc(spots, func(s occurrence) bool { return s.inside() != nil }); i >= 0 {
			s := spots[i]
			return s.file.insert(s.inside(), len(s.inside().decls), path[n:], value)
		}
		// "a: b: c" and expressions get a second "a: …" beside them.
		s := spots[len(spots)-1]
		at := slices.IndexFunc(s.in.decls, func(d ast.Decl) bool { return d == ast.Decl(s.chain[0]) })
		return s.file.insert(s.in, at+1, path[s.depth:], value)
	}
	f := e.files[0]
	return f.insert(&block{-1, -1, f.ast.Decls}, len(f.ast.Decls), path, value)
}

// inside returns the braces of the occurrence's value, nil if it has none.
func (s occurrence) inside() *block {
	v, ok := s.field.Value.(*ast.StructLit)
	if !ok {
		return nil
	}
	return blockOf(v)
}

// insert writes a field after the first n declarations of b.
func (f *file) insert(b *block, n int, path []string, value string) error {
	items := spans(b.decls[:n])
	label := strings.Join(labels(path), ": ") + ":"
	if last, ok := lastField(b.decls[:n]); ok && len(path) == 1 {
		label = f.alignedLabel(last, label, value)
	}
	text := label + " " + value
	if len(items) == 0 {
		return f.replace(f.insertFirst(b.open, b.shut, text))
	}
	last := items[len(items)-1]
	eol := f.lineEnd(last.to)
	next := b.shut
	if n < len(b.decls) {
		next = b.decls[n].Pos().Offset()
	}
	if next >= 0 && next < eol {
		return f.replace(f.insertAfter(last, text))
	}
	if f.comma(last.to) > last.to {
		text += ","
	}
	return f.replace(eol, eol, f.newline()+f.indent(last.from)+text)
}

// appendTo appends an element to list.
func (f *file) appendTo(list *ast.ListLit, element string) error {
	items := spans(list.Elts)
	open, shut := list.Lbrack.Offset(), list.Rbrack.Offset()
	if len(items) == 0 {
		return f.replace(f.insertFirst(open, shut, element))
	}
	last := items[len(items)-1]
	eol := f.lineEnd(last.to)
	if shut < eol || len(items) < len(list.Elts) {
		return f.replace(f.insertAfter(last, element))
	}
	rest := string(f.Text[last.to:eol])
	switch commas := f.comma(items[0].to) > items[0].to; {
	case f.comma(last.to) > last.to:
		element += ","
	case commas || len(items) == 1:
		rest = "," + rest
	}
	return f.replace(last.to, eol, rest+f.newline()+f.indent(last.from)+element)
}

// insertFirst returns the edit that puts text between the brackets at open and shut,
// or into a file, where only comments are.
func (f *file) insertFirst(open, shut int, text string) (from, to int, with string) {
	if open < 0 {
		return len(f.Text), len(f.Text), text + f.newline()
	}
	if eol := f.lineEnd(open); eol < shut {
		return eol, eol, f.newline() + f.indent(open) + f.indentUnit() + text
	}
	return open + 1, shut, text
}

// insertAfter returns the edit that puts text after item on a new line.
func (f *file) insertAfter(item span, text string) (from, to int, with string) {
	if c := f.comma(item.to); c > item.to {
		return c, c, " " + text + ","
	}
	return item.to, item.to, ", " + text
}

// lastField returns the last of decls if it is a field with a value on the same
// line.
func lastField(decls []ast.Decl) (*ast.Field, bool) {
	if len(decls) == 0 {
		return nil, false
	}
	d, ok := decls[len(decls)-1].(*ast.Field)
	if !ok {
		return nil, false
	}
	_, nested := d.Value.(*ast.StructLit)
	return d, !nested && d.Pos().Line() == d.End().Line()
}

// alignedLabel pads label to the value column of the field above, if that is a plain
// value.
func (f *file) alignedLabel(above *ast.Field, label, value string) string {
	column := above.Value.Pos().Offset() - above.Pos().Offset()
	if pad := column - len(label) - 1; pad > 0 && !strings.HasPrefix(value, "{") {
		label += strings.Repeat(" ", pad)
	}
	return label
}

func labels(path []string) []string {
	out := make([]string, len(path))
	for i, name := range path {
		out[i] = Label(name)
	}
	return out
}

// lineEnd returns the offset of the end of the line at i, before its line break.
func (f *file) lineEnd(i int) int {
	n := bytes.IndexByte(f.Text[i:], '\n')
	if n < 0 {
		return len(f.Text)
	}
	if n > 0 && f.Text[i+n-1] == '\r' {
		n--
	}
	return i + n
}

// lineStart returns the offset of the first byte of the line at i.
func (f *file) lineStart(i int) int { return bytes.LastIndexByte(f.Text[:i], '\n') + 1 }

// comma returns the offset after the comma that follows i, or i without one.
func (f *file) comma(i int) int {
	rest := f.Text[i:]
	if trimmed := bytes.TrimLeft(rest, " \t"); bytes.HasPrefix(trimmed, []byte(",")) {
		return i + len(rest) - len(trimmed) + 1
	}
	return i
}

// newline returns the line break of the file.
func (f *file) newline() string {
	if n := bytes.IndexByte(f.Text, '\n'); n > 0 && f.Text[n-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// indent returns the leading blanks of the line at i.
func (f *file) indent(i int) string {
	line := f.Text[f.lineStart(i):i]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// indentUnit returns one level of the file's indentation.
func (f *file) indentUnit() string {
	for line := range bytes.Lines(f.Text) {
		if blanks := len(line) - len(bytes.TrimLeft(line, " \t")); blanks > 0 && blanks < len(bytes.TrimRight(line, "\r\n")) {
			return string(line[:blanks])
		}
	}
	return "\t"
}
