package merge

import (
	"fmt"
	"strings"
)

// block is a marked range of lines, its markers included.
type block struct{ first, last int }

// marker writes the line that begins or ends a block.
func marker(format Format, word, name string) string {
	switch format {
	case Markdown:
		return "<!-- aisync:" + word + " " + name + " -->"
	case Slashes:
		return "// aisync:" + word + " " + name
	}
	return "# aisync:" + word + " " + name
}

// parseMarker reads a line that is a marker; word is "" where it is none.
func parseMarker(format Format, line string) (word, name string) {
	f := strings.Fields(line)
	open, shut := "#", ""
	switch format {
	case Markdown:
		open, shut = "<!--", "-->"
	case Slashes:
		open = "//"
	}
	if shut != "" {
		if len(f) == 0 || f[len(f)-1] != shut {
			return "", ""
		}
		f = f[:len(f)-1]
	}
	if len(f) != 3 || f[0] != open {
		return "", ""
	}
	switch f[1] {
	case "aisync:begin":
		return "begin", f[2]
	case "aisync:end":
		return "end", f[2]
	}
	return "", ""
}

// block finds the block of name, nil where there is none. Markers of any name
// that do not pair are an error: what lies between them is nobody's to change.
func (d *textDoc) block(format Format, name string) (*block, error) {
	var found *block
	begun, begunName := -1, ""
	seen := map[string]int{}
	for i, l := range d.lines {
		word, n := parseMarker(format, l.text)
		switch {
		case word == "":
		case word == "begin" && begun >= 0:
			return nil, d.broken(i, fmt.Sprintf("block %s begins within block %s, which begins in line %d", n, begunName, begun+1))
		case word == "begin":
			if at, dup := seen[n]; dup {
				return nil, d.broken(i, fmt.Sprintf("block %s begins a second time, first in line %d", n, at+1))
			}
			seen[n] = i
			begun, begunName = i, n
		case begun < 0:
			return nil, d.broken(i, fmt.Sprintf("block %s ends here but does not begin before line %d", n, i+1))
		case n != begunName:
			return nil, d.broken(i, fmt.Sprintf("block %s ends here, but block %s begins in line %d and has not ended", n, begunName, begun+1))
		default:
			if n == name {
				found = &block{begun, i}
			}
			begun = -1
		}
	}
	if begun >= 0 {
		return nil, d.broken(begun, fmt.Sprintf("block %s begins in line %d and does not end before the last line, %d", begunName, begun+1, len(d.lines)))
	}
	return found, nil
}

func (d *textDoc) broken(line int, reason string) error {
	return &Error{Line: line + 1, Col: 1, Reason: reason, Hint: "put the markers right or remove them, and run again; nothing was changed"}
}

// text returns what stands between the markers of b.
func (d *textDoc) text(b *block) string {
	var lines []string
	for _, l := range d.lines[b.first+1 : b.last] {
		lines = append(lines, l.text)
	}
	return strings.Join(lines, "\n")
}

func (d *textDoc) blockValue(b *block) Value { return TextValue(d.text(b)) }

// setBlock puts text between the markers of name, at the end of the document
// where there are none yet.
func (d *textDoc) setBlock(e *edit, format Format, name, text string) ([]byte, error) {
	b, err := d.block(format, name)
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(text, "\n") {
		if word, n := parseMarker(format, line); word != "" {
			return nil, fmt.Errorf("block %s: line %d of its text is the %s marker of block %s; leave markers out of the text", name, i+1, word, n)
		}
	}
	inner := ""
	if text != "" {
		inner = strings.ReplaceAll(text, "\n", d.nl) + d.nl
	}
	if b == nil {
		whole := marker(format, "begin", name) + d.nl + inner + marker(format, "end", name)
		return d.append(e, whole, d.nl+d.nl), nil
	}
	if normalText(d.text(b)) == text {
		return d.src, nil
	}
	from, to := d.lines[b.first+1].start, d.lines[b.last].start
	return applySplices(d.src, []splice{{span{from, to}, inner}}), nil
}

func (d *textDoc) removeBlock(e *edit, format Format, name string) ([]byte, error) {
	b, err := d.block(format, name)
	if err != nil || b == nil {
		return d.src, err
	}
	return parseText(d.cutLines(b.first, b.last, 2)).emptied(e), nil
}
