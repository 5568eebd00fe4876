package json

import (
	"bytes"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"aisync.dev/aisync/internal/merge/brackets"
	"aisync.dev/aisync/internal/merge/leaf"
)

// leaf returns the first value that k names, nil where none is there.
func (d *doc) leaf(k leaf.Key) (*hujson.Value, error) {
	if d.blank {
		return nil, nil
	}
	v, err := d.find(k.Path)
	if v == nil || err != nil || k.Kind == leaf.KindValue {
		return v, err
	}
	a, err := d.array(v, leaf.Pointer(k.Path...))
	if err != nil {
		return nil, err
	}
	if k.Kind == leaf.KindMember {
		i, err := d.element(a, k.Member)
		if i < 0 || err != nil {
			return nil, err
		}
		return &a.Elements[i], nil
	}
	found, err := d.hook(a, k)
	if err != nil || found.hook < 0 {
		return nil, err
	}
	return &found.array.Value.(*hujson.Array).Elements[found.hook], nil
}

// find returns the value at path; nil where it is not there.
func (d *doc) find(path []string) (*hujson.Value, error) {
	v := &d.root
	for i, name := range path {
		o, err := d.object(v, leaf.Pointer(path[:i]...))
		if err != nil {
			return nil, err
		}
		at := member(o, name)
		if at < 0 {
			return nil, nil
		}
		v = &o.Members[at].Value
	}
	return v, nil
}

// element returns the index of the first element that equals c, -1 for none.
func (d *doc) element(a *hujson.Array, c leaf.Value) (int, error) {
	for i := range a.Elements {
		e := &a.Elements[i]
		if (c[0] == '{' || c[0] == '[') != (e.Value.Kind() == '{' || e.Value.Kind() == '[') {
			continue
		}
		got, err := d.value(e)
		if err != nil {
			return -1, err
		}
		if bytes.Equal(got, c) {
			return i, nil
		}
	}
	return -1, nil
}

// value returns v as canonical JSON.
func (d *doc) value(v *hujson.Value) (leaf.Value, error) {
	c := v.Clone()
	c.Minimize()
	out, err := leaf.Canonical(bytes.ToValidUTF8(c.Pack(), []byte("\uFFFD")))
	if err != nil {
		return nil, leaf.ErrorAt(d.src, v.StartOffset, "", err.Error())
	}
	return out, nil
}

// object returns the object that v is, or an error that names it.
func (d *doc) object(v *hujson.Value, pointer string) (*hujson.Object, error) {
	if o, ok := v.Value.(*hujson.Object); ok {
		return o, nil
	}
	return nil, d.shape(v, pointer, "an object")
}

func (d *doc) array(v *hujson.Value, pointer string) (*hujson.Array, error) {
	if a, ok := v.Value.(*hujson.Array); ok {
		return a, nil
	}
	return nil, d.shape(v, pointer, "an array")
}

func (d *doc) shape(v *hujson.Value, pointer, want string) error {
	if pointer == "" {
		pointer = "the document"
	}
	return leaf.ErrorAt(d.src, v.StartOffset, pointer, "is "+kindName(v)+", want "+want)
}

func kindName(v *hujson.Value) string {
	switch v.Value.Kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "a boolean"
}

// nameOf returns the name of a member.
func nameOf(v hujson.Value) string {
	lit := v.Value.(hujson.Literal)
	if bytes.IndexByte(lit, '\\') < 0 && utf8.Valid(lit) {
		return string(lit[1 : len(lit)-1])
	}
	return lit.String()
}

func member(o *hujson.Object, name string) int {
	for i := range o.Members {
		if nameOf(o.Members[i].Name) == name {
			return i
		}
	}
	return -1
}

// list returns what stands between the brackets of v.
func (d *doc) list(v *hujson.Value) brackets.List {
	l := brackets.List{Doc: d.src, Syntax: syntax, Open: v.StartOffset + 1, Close: v.EndOffset - 1}
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			l.Items = append(l.Items, leaf.Span{Start: c.Members[i].Name.StartOffset, End: c.Members[i].Value.EndOffset})
		}
	case *hujson.Array:
		for i := range c.Elements {
			l.Items = append(l.Items, leaf.Span{Start: c.Elements[i].StartOffset, End: c.Elements[i].EndOffset})
		}
	}
	return l
}
