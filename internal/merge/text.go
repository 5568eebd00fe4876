package merge

import (
	"bytes"
	"strings"
)

// textLine is one line of a text, without its line end. Whatever CRs stand at
// the end of a line are part of its end, as they are for body.
type textLine struct {
	span
	text string
}

// textDoc is a text as lines. A line end at the very end starts no new line.
type textDoc struct {
	src   []byte
	lines []textLine
	nl    string
}

func parseText(src []byte) *textDoc {
	d := &textDoc{src: src, nl: newline(src)}
	for at := 0; at < len(src); {
		n := bytes.IndexByte(src[at:], '\n')
		end, next := at+n, at+n+1
		if n < 0 {
			end, next = len(src), len(src)
		}
		for end > at && src[end-1] == '\r' {
			end--
		}
		d.lines = append(d.lines, textLine{span{at, end}, string(src[at:end])})
		at = next
	}
	return d
}

// index returns the first line from i on that is text, -1 for none.
func (d *textDoc) index(text string, i int) int {
	for ; i < len(d.lines); i++ {
		if d.lines[i].text == text {
			return i
		}
	}
	return -1
}

// body returns where the text ends, but for line ends.
func (d *textDoc) body() int { return len(bytes.TrimRight(d.src, "\r\n")) }

func readText(format Format, doc []byte, ks []key) (map[string]Leaf, error) {
	_, src := cutBOM(doc)
	d := parseText(src)
	out := map[string]Leaf{}
	for _, k := range ks {
		switch k.kind {
		case lineKey:
			if i := d.index(k.text, 0); i >= 0 {
				out[k.String()] = Leaf{Key: k.String(), Value: Value("true"), Line: i + 1}
			}
		case blockKey:
			b, err := d.block(format, k.text)
			if err != nil {
				return nil, err
			}
			if b != nil {
				out[k.String()] = Leaf{Key: k.String(), Value: d.blockValue(b), Line: b.first + 1}
			}
		}
	}
	return out, nil
}

func textOp(format Format) func(*edit, key, Op) ([]byte, error) {
	return func(e *edit, k key, op Op) ([]byte, error) {
		d := parseText(e.doc)
		switch {
		case k.kind == blockKey && op.Value != nil:
			return d.setBlock(e, format, k.text, Leaf{Value: k.want(op.Value)}.Text())
		case k.kind == blockKey:
			return d.removeBlock(e, format, k.text)
		case op.Value != nil:
			return d.setLine(e, k.text, op.Header), nil
		}
		return d.removeLine(e, k.text), nil
	}
}

// setLine makes text a line of d: after the last line of its header's group,
// else at the end, under the header where there is one.
func (d *textDoc) setLine(e *edit, text, header string) []byte {
	if d.index(text, 0) >= 0 {
		return d.src
	}
	if header == "" {
		return d.append(e, text, d.nl)
	}
	if h := d.index(header, 0); h >= 0 {
		last := d.lines[d.groupEnd(h)]
		return applySplices(d.src, []splice{{span{last.end, last.end}, d.nl + text}})
	}
	e.notes.add(note{word: headerNote, text: header})
	return d.append(e, header+d.nl+text, d.nl+d.nl)
}

// append puts text after what d holds, gap between them.
func (d *textDoc) append(e *edit, text, gap string) []byte {
	end := d.body()
	if end == 0 {
		e.notes.add(note{word: documentNote, text: string(d.src)})
		return []byte(text + d.nl)
	}
	return applySplices(d.src, []splice{{span{end, end}, gap + text}})
}

// groupEnd returns the last line of the group under header line h: it ends
// before an empty line or another header.
func (d *textDoc) groupEnd(h int) int {
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
func (d *textDoc) removeLine(e *edit, text string) []byte {
	for i := d.index(text, 0); i >= 0; i = d.index(text, 0) {
		d = parseText(d.cutLines(i, i, 1))
		for _, n := range e.notes {
			if n.word != headerNote {
				continue
			}
			if h := d.index(n.text, 0); h >= 0 && d.groupEnd(h) == h {
				d = parseText(d.cutLines(h, h, 2))
			}
		}
	}
	return d.emptied(e)
}

// cutLines removes lines from to to, with at most gap line ends before them.
// Where they are the first, an empty line that set them off goes instead.
func (d *textDoc) cutLines(from, to, gap int) []byte {
	start, end := d.lines[from].start, d.lines[to].end
	if from == 0 {
		next := to + 1
		if gap > 1 && next < len(d.lines) && d.lines[next].text == "" {
			next++
		}
		if next < len(d.lines) {
			end = d.lines[next].start
		} else {
			end = len(d.src)
		}
		return applySplices(d.src, []splice{{span{0, end}, ""}})
	}
	for i := from; gap > 0 && i > 0 && (i == from || d.lines[i].text == ""); i-- {
		start = d.lines[i-1].end
		gap--
	}
	return applySplices(d.src, []splice{{span{start, end}, ""}})
}

// emptied gives back what a document was before it was made here, if nothing
// is left in it.
func (d *textDoc) emptied(e *edit) []byte {
	if d.body() == 0 {
		if tail, ok := e.notes.text(documentNote, ""); ok {
			return []byte(tail)
		}
	}
	return d.src
}

// normalText is how a block's text is compared.
func normalText(s string) string {
	return strings.TrimRight(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n"), "\n")
}
