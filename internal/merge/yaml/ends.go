package yaml

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"aisync.dev/aisync/internal/merge/leaf"
)

// walker turns what the parser found into nodes that know where they end.
type walker struct{ d *doc }

// fault says that a part of the document is written in a way that is not read here.
func (w walker) fault(off int, format string, args ...any) error {
	return &fault{min(off, len(w.d.src)), fmt.Sprintf(format, args...)}
}

// offset turns a line and a column in characters into an offset.
func (w walker) offset(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(w.d.lines) {
		return len(w.d.src)
	}
	off := w.d.lines[n.Line-1]
	for i := 1; i < n.Column && off < len(w.d.src); i++ {
		_, size := utf8.DecodeRune(w.d.src[off:])
		off += size
	}
	return off
}

// node places n. What stands before from belongs to something else; parent is
// the column of the block that n lies in, -1 at the root.
func (w walker) node(n *yaml.Node, from, parent, depth int) (*node, error) {
	if depth > leaf.MaxDepth {
		return nil, w.fault(from, "the document nests more than %d deep", leaf.MaxDepth)
	}
	out := &node{Span: leaf.Span{Start: w.offset(n)}, tag: n.ShortTag(), text: n.Value}
	if blank(n) { // its place may be that of what follows
		out.Start, out.End = from, from
		return out, nil
	}
	if n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		w.properties(out)
	}
	var err error
	switch n.Kind {
	case yaml.AliasNode:
		out.kind, out.End = alias, out.Start+1+len(n.Value)
	case yaml.ScalarNode:
		out.End, err = w.scalar(n, out, parent)
	case yaml.MappingNode:
		out.kind = mapping
		err = w.mapping(n, out, depth)
	case yaml.SequenceNode:
		out.kind = sequence
		err = w.sequence(n, out, depth)
	}
	return out, err
}

// blank reports whether nothing is written for n.
func blank(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Value == "" && n.Tag == "!!null" && n.Anchor == "" && n.Style == 0
}

// properties moves the start of n behind its anchor and tag.
func (w walker) properties(n *node) {
	src, from := w.d.src, n.Start
	end := from
	for at := from; at < len(src); {
		switch c := src[at]; {
		case c == '&' || c == '!':
			for at < len(src) && !bytes.ContainsRune([]byte(" \t\r\n"), rune(src[at])) {
				at++
			}
			end = at
		case strings.IndexByte(" \t\r\n", c) >= 0:
			at++
		case c == '#':
			at = w.d.lineEnd(at)
		default:
			n.props, n.Start = string(src[from:end]), at
			return
		}
	}
	n.props, n.Start = string(src[from:end]), end
}

// scalar returns where a scalar that starts at out.Start ends.
func (w walker) scalar(n *yaml.Node, out *node, parent int) (int, error) {
	src, at := w.d.src, out.Start
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		out.block = true
		return w.blockScalar(at, parent), nil
	case n.Style&yaml.DoubleQuotedStyle != 0:
		for i := at + 1; i < len(src); i++ {
			switch src[i] {
			case '\\':
				i++
			case '"':
				return i + 1, nil
			}
		}
	case n.Style&yaml.SingleQuotedStyle != 0:
		for i := at + 1; i < len(src); i++ {
			if src[i] != '\'' {
				continue
			}
			if i+1 < len(src) && src[i+1] == '\'' {
				i++
				continue
			}
			return i + 1, nil
		}
	default: // plain: no escapes, so that all but white space stands there as it is
		i := at
		for _, r := range n.Value {
			if strings.ContainsRune(" \t\r\n", r) {
				continue
			}
			for i < len(src) && strings.IndexByte(" \t\r\n", src[i]) >= 0 {
				i++
			}
			got, size := utf8.DecodeRune(src[i:])
			if got != r {
				return 0, w.fault(at, "what begins here is written in a form that is not read here; quote it")
			}
			i += size
		}
		return i, nil
	}
	return 0, w.fault(at, "what begins here is written in a form that is not read here")
}

// blockScalar returns where the text that is introduced at off by | or > ends:
// the last of its lines that is not blank, or that counts ("+").
func (w walker) blockScalar(off, parent int) int {
	src := w.d.src
	head := string(src[off:w.d.lineEnd(off)])
	if i := strings.IndexAny(head, " \t"); i >= 0 {
		head = head[:i]
	}
	indent := -1
	if i := strings.IndexAny(head, "123456789"); i >= 0 {
		indent = max(parent, 0) + int(head[i]-'0')
	}
	end := off + len(head)
	blanks := end
	for at := w.next(off); at < len(src); at = w.next(at) {
		line := src[at:w.d.lineEnd(at)]
		rest := bytes.TrimLeft(line, " ")
		n := len(line) - len(rest)
		if len(rest) == 0 {
			blanks = at + len(line)
			if indent >= 0 && n > indent { // spaces beyond the indentation are text
				end = blanks
			}
			continue
		}
		if indent < 0 {
			indent = max(n, parent+1)
		}
		if n < indent {
			break
		}
		end = at + len(line)
		blanks = end
	}
	if strings.Contains(head, "+") {
		return blanks
	}
	return end
}

// next returns where the line after that of off starts; len(Src) for none.
func (w walker) next(off int) int {
	n := bytes.IndexByte(w.d.src[off:], '\n')
	if n < 0 {
		return len(w.d.src)
	}
	return off + n + 1
}

// mapping places what out, a mapping that starts at out.Start, holds.
func (w walker) mapping(n *yaml.Node, out *node, depth int) error {
	bracket := out.Start < len(w.d.src) && w.d.src[out.Start] == '{' && n.Style&yaml.FlowStyle != 0
	out.flow = n.Style&yaml.FlowStyle != 0
	at := out.Start
	if bracket {
		at++
	}
	out.column = w.column(out.Start)
	out.End = at
	for i := 0; i+1 < len(n.Content); i += 2 {
		at = w.skip(at, ",")
		e := &entry{Span: leaf.Span{Start: at}}
		if at < len(w.d.src) && w.d.src[at] == '?' && (at+1 == len(w.d.src) || strings.IndexByte(" \t\r\n", w.d.src[at+1]) >= 0) {
			e.odd = true
			at = w.skip(at+1, "")
		}
		key, err := w.node(n.Content[i], at, out.column, depth+1)
		if err != nil {
			return err
		}
		e.key, e.keyEnd = n.Content[i].Value, key.End
		if !e.odd && key.props == "" {
			e.Start = key.Start
		}
		e.odd = e.odd || key.kind != scalar || key.block || key.props != "" || key.blank()
		at = w.skip(key.End, "")
		e.colon = -1
		e.End = key.End
		if at < len(w.d.src) && w.d.src[at] == ':' {
			e.colon, at = at, at+1
			e.End = at
		} else {
			at = key.End
		}
		if e.value, err = w.node(n.Content[i+1], at, out.column, depth+1); err != nil {
			return err
		}
		if !e.value.blank() || e.value.props != "" {
			e.End = e.value.End
		}
		at = e.End
		out.End = at
		out.entries = append(out.entries, e)
	}
	return w.close(out, bracket, '}')
}

func (w walker) sequence(n *yaml.Node, out *node, depth int) error {
	out.flow = n.Style&yaml.FlowStyle != 0
	bracket := out.flow
	at := out.Start
	if bracket {
		at++
	}
	out.column = w.column(out.Start)
	out.End = at
	for _, c := range n.Content {
		at = w.skip(at, ",")
		it := &item{Span: leaf.Span{Start: at, End: at}}
		if !out.flow {
			if at >= len(w.d.src) || w.d.src[at] != '-' {
				return w.fault(out.Start, "what begins here is a sequence in a form that is not read here")
			}
			at++
			it.End = at
		}
		var err error
		if it.value, err = w.node(c, at, out.column, depth+1); err != nil {
			return err
		}
		if !it.value.blank() || it.value.props != "" {
			it.End = it.value.End
		}
		if out.flow && it.value.props == "" {
			it.Start = it.value.Start
		}
		at = it.End
		out.End = at
		out.items = append(out.items, it)
	}
	return w.close(out, bracket, ']')
}

// close moves the end of out behind its closing bracket.
func (w walker) close(out *node, bracket bool, shut byte) error {
	if !bracket {
		return nil
	}
	at := w.skip(out.End, ",")
	if at >= len(w.d.src) || w.d.src[at] != shut {
		return w.fault(out.Start, "what begins here is written in a form that is not read here")
	}
	out.End = at + 1
	return nil
}

// skip moves over white space, comments and the bytes of also.
func (w walker) skip(at int, also string) int {
	src := w.d.src
	for at < len(src) {
		switch c := src[at]; {
		case strings.IndexByte(" \t\r\n", c) >= 0 || strings.IndexByte(also, c) >= 0:
			at++
		case c == '#':
			at = w.d.lineEnd(at)
		default:
			return at
		}
	}
	return at
}

// column counts the characters of the line before off.
func (w walker) column(off int) int {
	return utf8.RuneCount(w.d.src[w.d.lineStart(min(off, len(w.d.src))):min(off, len(w.d.src))])
}
