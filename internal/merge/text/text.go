// Package text edits whole lines of plain text, and blocks between a begin and an
// end marker, which stand in comments of the file's language. Text, Markdown and
// Slashes are its formats: they differ in the form of the markers only.
package text

import (
	"bytes"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/merge/leaf"
)

// The formats of this package, by the comments that markers stand in.
var (
	Text = leaf.Format{Name: "text", Holds: kinds, Parse: func(src []byte) (leaf.Document, error) {
		return parse(src, comment{"#", ""}), nil
	}}
	Markdown = leaf.Format{Name: "markdown", Holds: kinds, Parse: func(src []byte) (leaf.Document, error) {
		return parse(src, comment{"<!--", "-->"}), nil
	}}
	Slashes = leaf.Format{Name: "slashes", Holds: kinds, Parse: func(src []byte) (leaf.Document, error) {
		return parse(src, comment{"//", ""}), nil
	}}
)

var kinds = []leaf.Kind{leaf.KindLine, leaf.KindBlock}

// line is a line of a text, without its line end. Whatever CRs stand at
// the end of a line are part of its end, as they are for body.
type line struct {
	leaf.Span
	text string
}

// doc is a text as lines. A line end at the very end starts no new line.
type doc struct {
	src     []byte
	lines   []line
	nl      string
	comment comment // that markers stand in
}

func parse(src []byte, c comment) *doc {
	d := &doc{src: src, nl: leaf.Newline(src), comment: c}
	for at := 0; at < len(src); {
		n := bytes.IndexByte(src[at:], '\n')
		end, next := at+n, at+n+1
		if n < 0 {
			end, next = len(src), len(src)
		}
		for end > at && src[end-1] == '\r' {
			end--
		}
		d.lines = append(d.lines, line{leaf.Span{Start: at, End: end}, string(src[at:end])})
		at = next
	}
	return d
}

// index returns the first line from i on that is text, -1 for none.
func (d *doc) index(text string, i int) int {
	for ; i < len(d.lines); i++ {
		if d.lines[i].text == text {
			return i
		}
	}
	return -1
}

// body returns where the text ends, but for line ends.
func (d *doc) body() int { return len(bytes.TrimRight(d.src, "\r\n")) }

// Leaf returns the line or block that k names. It says nothing of how it is
// written: a block is more than its text.
func (d *doc) Leaf(k leaf.Key) (leaf.Leaf, bool, error) {
	if k.Kind == leaf.KindLine {
		i := d.index(k.Text, 0)
		return leaf.Leaf{Value: leaf.Value("true"), Line: i + 1}, i >= 0, nil
	}
	b, err := d.block(k.Text)
	if b == nil || err != nil {
		return leaf.Leaf{}, false, err
	}
	return leaf.Leaf{Value: leaf.TextValue(d.text(b)), Line: b.first + 1}, true, nil
}

// Set sets a line or a block.
func (d *doc) Set(k leaf.Key, op leaf.Op, notes *leaf.Notes) ([]byte, error) {
	if k.Kind == leaf.KindLine {
		return d.setLine(notes, k.Text, op.Header, op.Group), nil
	}
	return d.setBlock(notes, k.Text, leaf.Leaf{Value: op.Value}.Text())
}

// Remove removes every such line, or a block.
func (d *doc) Remove(k leaf.Key, notes *leaf.Notes) ([]byte, error) {
	if k.Kind == leaf.KindLine {
		return d.removeLine(notes, k.Text), nil
	}
	return d.removeBlock(notes, k.Text)
}

// Reparse parses the text that an edit made of d.
func (d *doc) Reparse(src []byte) (leaf.Document, error) { return d.reparse(src), nil }

func (d *doc) reparse(src []byte) *doc { return parse(src, d.comment) }

// setLine adds a line where there is none: to the group under header, made with
// it where it is missing, or to the document where header is "". A line that
// stands before an exception or a pattern that it follows in group moves behind it.
func (d *doc) setLine(notes *leaf.Notes, text, header string, group []string) []byte {
	before, after := siblings(group, text)
	if i := d.index(text, 0); i >= 0 {
		late := slices.ContainsFunc(before, func(s string) bool {
			return d.index(s, 0) > i && leaf.IsException(s) != leaf.IsException(text)
		})
		if !late {
			return d.src
		}
		d = d.reparse(d.cutLines(i, i, 1))
	}
	first, last := 0, len(d.lines)-1
	if header != "" {
		h := d.index(header, 0)
		if h < 0 {
			notes.Add(leaf.Note{Word: leaf.HeaderNote, Text: header})
			return d.append(notes, header+d.nl+text, d.nl+d.nl)
		}
		first, last = h+1, d.groupEnd(h)
	}
	for _, s := range before {
		if i := d.index(s, first); i >= 0 && i <= last {
			return leaf.Apply(d.src, leaf.Insert(d.lines[i].End, d.nl+text))
		}
	}
	for _, s := range after {
		switch i := d.index(s, first); {
		case i == 0:
			return leaf.Apply(d.src, leaf.Insert(0, text+d.nl))
		case i > 0 && i <= last:
			return leaf.Apply(d.src, leaf.Insert(d.lines[i-1].End, d.nl+text))
		}
	}
	if header == "" {
		return d.append(notes, text, d.nl)
	}
	return leaf.Apply(d.src, leaf.Insert(d.lines[last].End, d.nl+text))
}

// siblings are the lines of group before text, the nearest first, and those
// after it.
func siblings(group []string, text string) (before, after []string) {
	i := slices.Index(group, text)
	if i < 0 {
		return nil, nil
	}
	before = slices.Clone(group[:i])
	slices.Reverse(before)
	return before, group[i+1:]
}

// append puts text after what d holds, gap between them.
func (d *doc) append(notes *leaf.Notes, text, gap string) []byte {
	end := d.body()
	if end == 0 {
		notes.Add(leaf.Note{Word: leaf.DocumentNote, Text: string(d.src)})
		return []byte(text + d.nl)
	}
	return leaf.Apply(d.src, leaf.Insert(end, gap+text))
}

// groupEnd returns the last line of the group under header line h: it ends
// before an empty line or another header.
func (d *doc) groupEnd(h int) int {
	end := h
	for i := h + 1; i < len(d.lines); i++ {
		t := strings.TrimSpace(d.lines[i].text)
		if t == "" || isHeader(t) || strings.Contains(t, "aisync:begin ") {
			break
		}
		end = i
	}
	return end
}

// isHeader knows headers by their form: # --- elisp ruleset ---
func isHeader(line string) bool {
	return strings.HasPrefix(line, "# --- ") && strings.HasSuffix(line, " ---")
}

// removeLine takes every line that is text away, and headers that were made
// and have nothing under them any more.
func (d *doc) removeLine(notes *leaf.Notes, text string) []byte {
	for i := d.index(text, 0); i >= 0; i = d.index(text, 0) {
		d = d.reparse(d.cutLines(i, i, 1))
		for _, n := range *notes {
			if n.Word != leaf.HeaderNote {
				continue
			}
			if h := d.index(n.Text, 0); h >= 0 && d.groupEnd(h) == h {
				d = d.reparse(d.cutLines(h, h, 2))
			}
		}
	}
	return d.emptied(notes)
}

// cutLines removes lines from to to, with at most gap line ends before them.
// Where they are the first, an empty line that set them off goes instead.
func (d *doc) cutLines(from, to, gap int) []byte {
	start, end := d.lines[from].Start, d.lines[to].End
	if from == 0 {
		next := to + 1
		if gap > 1 && next < len(d.lines) && d.lines[next].text == "" {
			next++
		}
		if next < len(d.lines) {
			end = d.lines[next].Start
		} else {
			end = len(d.src)
		}
		return leaf.Apply(d.src, leaf.Cut(0, end))
	}
	for i := from; gap > 0 && i > 0 && (i == from || d.lines[i].text == ""); i-- {
		start = d.lines[i-1].End
		gap--
	}
	return leaf.Apply(d.src, leaf.Cut(start, end))
}

// emptied gives back what a document was before it was made here, if nothing
// is left in it.
func (d *doc) emptied(notes *leaf.Notes) []byte {
	if d.body() == 0 {
		if tail, ok := notes.Text(leaf.DocumentNote, ""); ok {
			return []byte(tail)
		}
	}
	return d.src
}
