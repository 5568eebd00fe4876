package json

import (
	"bytes"
	"strings"

	"github.com/tailscale/hujson"

	"aisync.dev/aisync/internal/merge/leaf"
)

// style is how a JSON document is laid out.
type style struct {
	nl      string
	unit    string // one step of indentation
	colon   string // white space after a colon
	compact bool   // the whole document stands in one line
}

func (d *doc) style() style {
	s := style{nl: leaf.Newline(d.src), unit: "  ", colon: " "}
	body := d.src[d.root.StartOffset:d.root.EndOffset]
	items := d.list(&d.root).Items
	s.compact = len(items) > 0 && !bytes.Contains(body, []byte("\n"))
	if o := firstObject(&d.root); o != nil {
		m := o.Members[0]
		between := d.src[m.Name.EndOffset:m.Value.StartOffset]
		if bytes.HasSuffix(between, []byte(":")) {
			s.colon = ""
		}
	}
	if unit, ok := d.unit(&d.root); ok {
		s.unit = unit
	}
	return s
}

// firstObject returns the first object that has members.
func firstObject(v *hujson.Value) *hujson.Object {
	switch c := v.Value.(type) {
	case *hujson.Object:
		if len(c.Members) > 0 {
			return c
		}
	case *hujson.Array:
		for i := range c.Elements {
			if o := firstObject(&c.Elements[i]); o != nil {
				return o
			}
		}
	}
	return nil
}

// unit returns by how much the first container that is laid out over lines
// indents what it holds.
func (d *doc) unit(v *hujson.Value) (string, bool) {
	l := d.list(v)
	if len(l.Items) == 0 {
		return "", false
	}
	if first := l.Items[0].Start; bytes.Contains(d.src[l.Open:first], []byte("\n")) {
		outer, inner := leaf.LineIndent(d.src, v.StartOffset), leaf.LineIndent(d.src, first)
		if unit, ok := strings.CutPrefix(inner, outer); ok {
			return unit, true
		}
		return "", false
	}
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			if u, ok := d.unit(&c.Members[i].Value); ok {
				return u, true
			}
		}
	case *hujson.Array:
		for i := range c.Elements {
			if u, ok := d.unit(&c.Elements[i]); ok {
				return u, true
			}
		}
	}
	return "", false
}

// layout is where a new item of one container goes.
type layout struct {
	sep     string // before the item
	indent  string // of the item's line
	inline  bool   // the item stands in one line
	closing string // before the closing bracket of a container that was empty
}

// layout takes after the neighbours of a new item, or the document.
func (d *doc) layout(s style, v *hujson.Value, inlineParent bool) layout {
	l := d.list(v)
	if n := len(l.Items); n > 0 {
		last := l.Items[n-1]
		gap := l.Gap(n - 1)
		if bytes.Contains(gap, []byte("\n")) {
			indent := leaf.LineIndent(d.src, last.Start)
			text := d.src[last.Start:last.End]
			inline := endsComposite(text) && !bytes.Contains(text, []byte("\n"))
			return layout{sep: s.nl + indent, indent: indent, inline: inline}
		}
		sep := string(gap[len(bytes.TrimRight(gap, " \t")):])
		if n == 1 {
			sep = s.colon
		}
		return layout{sep: sep, inline: true}
	}
	tail := d.src[l.Open:l.Close]
	if (s.compact || inlineParent) && !bytes.Contains(tail, []byte("\n")) {
		head, _ := syntax.LastComment(tail)
		ws := string(tail[head:])
		return layout{sep: ws, inline: true, closing: ws}
	}
	outer := leaf.LineIndent(d.src, v.StartOffset)
	return layout{sep: s.nl + outer + s.unit, indent: outer + s.unit, closing: s.nl + outer}
}

// endsComposite reports whether an item ends with an object or array that
// holds something: only then does its form show a habit.
func endsComposite(item []byte) bool {
	n := len(item)
	if n < 2 || item[n-1] != '}' && item[n-1] != ']' {
		return false
	}
	before := bytes.TrimRight(item[:n-1], " \t")
	return len(before) > 0 && before[len(before)-1] != '{' && before[len(before)-1] != '['
}

// render writes v, whose line is indented by indent.
func (s style) render(v leaf.Value, indent string, inline bool) string {
	x, err := hujson.Parse(v)
	if err != nil {
		return string(v) // checked before: cannot be
	}
	var b strings.Builder
	s.write(&b, &x, indent, inline || s.compact)
	return b.String()
}

func (s style) write(b *strings.Builder, v *hujson.Value, indent string, inline bool) {
	switch c := v.Value.(type) {
	case hujson.Literal:
		b.Write(c)
	case *hujson.Object:
		s.writeItems(b, '{', '}', len(c.Members), indent, inline, func(i int, in string) {
			b.Write(c.Members[i].Name.Value.(hujson.Literal))
			b.WriteString(":" + s.colon)
			s.write(b, &c.Members[i].Value, in, inline)
		})
	case *hujson.Array:
		s.writeItems(b, '[', ']', len(c.Elements), indent, inline, func(i int, in string) {
			s.write(b, &c.Elements[i], in, inline)
		})
	}
}

func (s style) writeItems(b *strings.Builder, open, shut byte, n int, indent string, inline bool, item func(i int, indent string)) {
	b.WriteByte(open)
	in := indent + s.unit
	for i := range n {
		switch {
		case i > 0 && inline:
			b.WriteString("," + s.colon)
		case i > 0:
			b.WriteByte(',')
		}
		if !inline {
			b.WriteString(s.nl + in)
		}
		item(i, in)
	}
	if n > 0 && !inline {
		b.WriteString(s.nl + indent)
	}
	b.WriteByte(shut)
}
