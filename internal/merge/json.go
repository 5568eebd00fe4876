package merge

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// jsonDoc is a parsed document. Offsets in root are those of src.
type jsonDoc struct {
	src   []byte
	root  hujson.Value
	blank bool // src holds no value, only white space and comments
}

// parseJSON parses and checks a document that somebody else wrote.
func parseJSON(src []byte) (*jsonDoc, error) {
	if n := depth(src, jsonSyntax); n > maxDepth {
		return nil, &Error{Reason: fmt.Sprintf("the document nests %d deep, more than %d", n, maxDepth), Hint: fixHint}
	}
	d, err := reparseJSON(src)
	if err != nil || d.blank {
		return d, err
	}
	return d, d.checkNames(&d.root)
}

// reparseJSON parses what an edit made of a document that was checked.
func reparseJSON(src []byte) (*jsonDoc, error) {
	d := &jsonDoc{src: src}
	if onlyComments(src) {
		d.blank = true
		return d, nil
	}
	// A line comment at the very end needs a line end to parse; it is never
	// part of an edit, since edits are within the root.
	root, err := hujson.Parse(append(bytes.Clone(src), '\n'))
	if err != nil {
		return nil, jsonSyntaxError(src, err)
	}
	d.root = root
	return d, nil
}

// onlyComments reports whether src is white space and comments.
func onlyComments(src []byte) bool {
	for i := 0; i < len(src); {
		if e, _ := jsonSyntax.comment(src, i); e > i {
			i = e
			continue
		}
		if !strings.ContainsRune(" \t\r\n", rune(src[i])) {
			return false
		}
		i++
	}
	return true
}

// hujsonPlace is compiled when it is first needed: a program that is called
// many times a minute should not compile it at each start.
var hujsonPlace = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^hujson: line (\d+), column (\d+): (.*)$`)
})

func jsonSyntaxError(src []byte, err error) *Error {
	e := &Error{Reason: "invalid JSON: " + err.Error(), Hint: fixHint}
	if m := hujsonPlace().FindStringSubmatch(err.Error()); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Col, _ = strconv.Atoi(m[2])
		reason := strings.Replace(m[3], "unexpected EOF", "the document ends too early", 1)
		if len(reason) > 200 {
			reason = strings.ToValidUTF8(reason[:200], "") + "…"
		}
		e.Reason = "invalid JSON: " + reason
		if lines := bytes.Count(src, []byte("\n")) + 1; e.Line > lines {
			e.Line, e.Col = position(src, len(src))
		}
	}
	return e
}

// checkNames refuses a name that stands twice in one object: programs differ
// in which one counts, so none can be owned.
func (d *jsonDoc) checkNames(v *hujson.Value) error {
	switch c := v.Value.(type) {
	case *hujson.Object:
		seen := make(map[string]int, len(c.Members))
		for i := range c.Members {
			m := &c.Members[i]
			name := nameOf(m.Name)
			if at, dup := seen[name]; dup {
				line, _ := position(d.src, at)
				return errorAt(d.src, m.Name.StartOffset, "", fmt.Sprintf("the name %s stands twice in one object, first in line %d", quote(name), line))
			}
			seen[name] = m.Name.StartOffset
			if err := d.checkNames(&m.Value); err != nil {
				return err
			}
		}
	case *hujson.Array:
		for i := range c.Elements {
			if err := d.checkNames(&c.Elements[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// value returns v as canonical JSON.
func (d *jsonDoc) value(v *hujson.Value) (Value, error) {
	c := v.Clone()
	c.Minimize()
	out, err := Canonical(bytes.ToValidUTF8(c.Pack(), []byte("\uFFFD")))
	if err != nil {
		return nil, errorAt(d.src, v.StartOffset, "", err.Error())
	}
	return out, nil
}

// object returns the object that v is, or an error that names it.
func (d *jsonDoc) object(v *hujson.Value, pointer string) (*hujson.Object, error) {
	if o, ok := v.Value.(*hujson.Object); ok {
		return o, nil
	}
	return nil, d.shape(v, pointer, "an object")
}

func (d *jsonDoc) array(v *hujson.Value, pointer string) (*hujson.Array, error) {
	if a, ok := v.Value.(*hujson.Array); ok {
		return a, nil
	}
	return nil, d.shape(v, pointer, "an array")
}

func (d *jsonDoc) shape(v *hujson.Value, pointer, want string) error {
	if pointer == "" {
		pointer = "the document"
	}
	return errorAt(d.src, v.StartOffset, pointer, "is "+kindName(v)+", want "+want)
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

// find returns the value at path; nil where it is not there.
func (d *jsonDoc) find(path []string) (*hujson.Value, error) {
	v := &d.root
	for i, name := range path {
		o, err := d.object(v, Pointer(path[:i]...))
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

func objectList(v *hujson.Value) list {
	l := list{open: v.StartOffset + 1, close: v.EndOffset - 1}
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			l.items = append(l.items, span{c.Members[i].Name.StartOffset, c.Members[i].Value.EndOffset})
		}
	case *hujson.Array:
		for i := range c.Elements {
			l.items = append(l.items, span{c.Elements[i].StartOffset, c.Elements[i].EndOffset})
		}
	}
	return l
}

func readJSON(doc []byte, ks []key) (map[string]Leaf, error) {
	_, src := cutBOM(doc)
	d, err := parseJSON(src)
	if err != nil {
		return nil, err
	}
	out := map[string]Leaf{}
	if d.blank {
		return out, nil
	}
	for _, k := range ks {
		v, err := d.leaf(k)
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		c, err := d.value(v)
		if err != nil {
			return nil, err
		}
		line, _ := position(src, v.StartOffset)
		out[k.String()] = Leaf{Key: k.String(), Value: c, Line: line, Raw: string(src[v.StartOffset:v.EndOffset])}
	}
	return out, nil
}

// leaf returns the first value that k names, nil where none is there.
func (d *jsonDoc) leaf(k key) (*hujson.Value, error) {
	v, err := d.find(k.path)
	if v == nil || err != nil || k.kind == valueKey {
		return v, err
	}
	a, err := d.array(v, Pointer(k.path...))
	if err != nil {
		return nil, err
	}
	if k.kind == memberKey {
		i, err := d.element(a, k.member)
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

// element returns the index of the first element that equals c, -1 for none.
func (d *jsonDoc) element(a *hujson.Array, c Value) (int, error) {
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

// hookPlace is where a hook is, or where it belongs.
type hookPlace struct {
	group int           // index in the event's array of the group; -1: none has the matcher
	value *hujson.Value // the group's object
	array *hujson.Value // its hooks
	at    int           // index of hooks in the group's object
	hook  int           // index in array; -1: not there
}

// hook looks through every group of an event that has k's matcher.
func (d *jsonDoc) hook(event *hujson.Array, k key) (hookPlace, error) {
	place := hookPlace{group: -1, hook: -1}
	for gi := range event.Elements {
		g := &event.Elements[gi]
		pointer := Pointer(append(append([]string{}, k.path...), strconv.Itoa(gi))...)
		o, err := d.object(g, pointer)
		if err != nil {
			return place, err
		}
		matcher := ""
		if i := member(o, "matcher"); i >= 0 {
			lit, ok := o.Members[i].Value.Value.(hujson.Literal)
			if !ok || lit.Kind() != '"' {
				return place, d.shape(&o.Members[i].Value, pointer+"/matcher", "a string")
			}
			matcher = lit.String()
		}
		at := member(o, "hooks")
		if at < 0 {
			return place, errorAt(d.src, g.StartOffset, pointer, "has no hooks array")
		}
		hooks, err := d.array(&o.Members[at].Value, pointer+"/hooks")
		if err != nil {
			return place, err
		}
		if matcher != k.hook.Matcher {
			continue
		}
		if place.group < 0 {
			place = hookPlace{group: gi, value: g, array: &o.Members[at].Value, at: at, hook: -1}
		}
		for hi := range hooks.Elements {
			c, err := d.value(&hooks.Elements[hi])
			if err != nil {
				return place, err
			}
			if id, err := hookOf(c); err == nil && id.Type == k.hook.Type && id.Command == k.hook.Command {
				return hookPlace{group: gi, value: g, array: &o.Members[at].Value, at: at, hook: hi}, nil
			}
		}
	}
	return place, nil
}
