package text

import (
	"fmt"
	"strings"

	"aisync.dev/aisync/internal/merge/leaf"
)

// comment is how a comment of one line begins and ends; end may be "".
type comment struct{ begin, end string }

// marker writes the line that begins or ends a block.
func (c comment) marker(word, name string) string {
	return strings.TrimSuffix(c.begin+" aisync:"+word+" "+name+" "+c.end, " ")
}

// parseMarker reads a line that is a marker; word is "" where it is none.
func (c comment) parseMarker(line string) (word, name string) {
	f := strings.Fields(line)
	if c.end != "" {
		if len(f) == 0 || f[len(f)-1] != c.end {
			return "", ""
		}
		f = f[:len(f)-1]
	}
	if len(f) != 3 || f[0] != c.begin {
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

// block is a marked range of lines, its markers included.
type block struct{ first, last int }

// block finds the block of name, nil where there is none. Markers of any name
// that do not pair are an error: what lies between them must not change.
func (d *doc) block(name string) (*block, error) {
	var found *block
	begun, begunName := -1, ""
	seen := map[string]int{}
	for i, l := range d.lines {
		word, n := d.comment.parseMarker(l.text)
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

func (d *doc) broken(line int, reason string) error {
	return &leaf.Error{Line: line + 1, Col: 1, Reason: reason, Hint: "put the markers right or remove them, and run again; nothing was changed"}
}

// text returns what stands between the markers of b.
func (d *doc) text(b *block) string {
	var lines []string
	for _, l := range d.lines[b.first+1 : b.last] {
		lines = append(lines, l.text)
	}
	return strings.Join(lines, "\n")
}

// setBlock puts text between the markers of name, at the end of the document
// where there are none yet.
func (d *doc) setBlock(notes *leaf.Notes, name, text string) ([]byte, error) {
	b, err := d.block(name)
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(text, "\n") {
		if word, n := d.comment.parseMarker(line); word != "" {
			return nil, fmt.Errorf("block %s: line %d of its text is the %s marker of block %s; leave markers out of the text", name, i+1, word, n)
		}
	}
	inner := ""
	if text != "" {
		inner = strings.ReplaceAll(text, "\n", d.nl) + d.nl
	}
	if b == nil {
		whole := d.comment.marker("begin", name) + d.nl + inner + d.comment.marker("end", name)
		return d.append(notes, whole, d.nl+d.nl), nil
	}
	if leaf.NormalText(d.text(b)) == text {
		return d.src, nil
	}
	from, to := d.lines[b.first+1].Start, d.lines[b.last].Start
	return leaf.Apply(d.src, leaf.Put(from, to, inner)), nil
}

func (d *doc) removeBlock(notes *leaf.Notes, name string) ([]byte, error) {
	b, err := d.block(name)
	if err != nil || b == nil {
		return d.src, err
	}
	return d.reparse(d.cutLines(b.first, b.last, 2)).emptied(notes), nil
}
