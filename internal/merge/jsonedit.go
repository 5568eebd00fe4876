package merge

import (
	"bytes"
	"slices"

	"github.com/tailscale/hujson"
)

// jsonOp applies one op to e.doc and returns the new document.
func jsonOp(e *edit, k key, op Op) ([]byte, error) {
	d, err := e.parsedJSON()
	if err != nil {
		return nil, err
	}
	if op.Value == nil {
		return d.remove(e, k)
	}
	if d.blank {
		end, line := jsonSyntax.lastComment(d.src)
		e.notes.add(note{word: documentNote, text: string(d.src[end:])})
		nl := newline(d.src)
		text := string(d.src[:end])
		if line {
			text += nl
		}
		if d, err = reparseJSON([]byte(text + "{}" + nl)); err != nil {
			return nil, err
		}
	}
	return d.set(e, k, k.want(op.Value), op.Raw)
}

// saysJSON reports whether raw is one value, without anything around it, that
// equals v.
func saysJSON(raw string, v Value) bool {
	x, err := hujson.Parse([]byte(raw))
	if raw == "" || err != nil || x.BeforeExtra != nil || x.AfterExtra != nil {
		return false
	}
	got, err := (&jsonDoc{src: []byte(raw), root: x}).value(&x)
	return err == nil && Equal(got, v)
}

// parsedJSON parses e.doc unless the last op left it as it was.
func (e *edit) parsedJSON() (d *jsonDoc, err error) {
	switch {
	case e.json == nil:
		d, err = parseJSON(e.doc)
	case bytes.Equal(e.json.src, e.doc):
		return e.json, nil
	default:
		d, err = reparseJSON(e.doc)
	}
	e.json = d
	return d, err
}

func (d *jsonDoc) set(e *edit, k key, v Value, raw string) ([]byte, error) {
	old, err := d.leaf(k)
	if err != nil {
		return nil, err
	}
	if old != nil {
		was, err := d.value(old)
		if err != nil || Equal(was, v) {
			return d.src, err
		}
		if saysJSON(raw, v) {
			return applySplices(d.src, []splice{{span{old.StartOffset, old.EndOffset}, raw}}), nil
		}
		s := d.style()
		text := d.src[old.StartOffset:old.EndOffset]
		inline := endsComposite(text) && !slices.Contains(text, '\n')
		new := s.render(v, lineIndent(d.src, old.StartOffset), inline)
		return applySplices(d.src, []splice{{span{old.StartOffset, old.EndOffset}, new}}), nil
	}

	// Walk to the innermost container that is there.
	at, depth := &d.root, 0
	for depth < len(k.path) {
		o, err := d.object(at, Pointer(k.path[:depth]...))
		if err != nil {
			return nil, err
		}
		i := member(o, k.path[depth])
		if i < 0 {
			break
		}
		at, depth = &o.Members[i].Value, depth+1
	}
	place := Pointer(k.path[:depth]...)
	if depth == len(k.path) { // the array of a set or an event
		if k.kind == hookKey {
			return d.addHook(e, k, at, v)
		}
		return d.insert(e, at, place, "", v, depth), nil
	}
	switch k.kind {
	case memberKey:
		v = wrapArray(v)
	case hookKey:
		e.notes.add(note{at: Pointer(k.path...) + "#" + k.hook.group()})
		v = wrapArray(hookGroup(k.hook.Matcher, v))
	}
	for i := len(k.path) - 1; i > depth; i-- {
		v = wrapObject(k.path[i], v)
		e.notes.add(note{at: Pointer(k.path[:i]...)})
	}
	if k.kind != valueKey {
		e.notes.add(note{at: Pointer(k.path...)})
	}
	return d.insert(e, at, place, k.path[depth], v, depth), nil
}

// addHook puts a hook into the event's array at.
func (d *jsonDoc) addHook(e *edit, k key, event *hujson.Value, v Value) ([]byte, error) {
	place, err := d.hook(event.Value.(*hujson.Array), k)
	if err != nil {
		return nil, err
	}
	group := Pointer(k.path...) + "#" + k.hook.group()
	if place.group < 0 {
		e.notes.add(note{at: group})
		return d.insert(e, event, Pointer(k.path...), "", hookGroup(k.hook.Matcher, v), len(k.path)), nil
	}
	return d.insert(e, place.array, group, "", v, len(k.path)+2), nil
}

func hookGroup(matcher string, hook Value) Value {
	g := `"hooks":[` + string(hook) + `]}`
	if matcher == "" {
		return Value("{" + g)
	}
	return Value(`{"matcher":` + string(quote(matcher)) + "," + g)
}

func wrapArray(v Value) Value { return Value("[" + string(v) + "]") }

func wrapObject(name string, v Value) Value {
	return Value("{" + string(quote(name)) + ":" + string(v) + "}")
}

// insert puts v into container at, under name where it is an object. place
// names the container in notes; depth is how deep it lies.
func (d *jsonDoc) insert(e *edit, at *hujson.Value, place, name string, v Value, depth int) []byte {
	s := d.style()
	inlineParent := depth > 1 && d.parentInline(at)
	lay := d.layout(s, at, inlineParent)
	text := s.render(v, lay.indent, lay.inline)
	if _, ok := at.Value.(*hujson.Object); ok {
		text = string(quote(name)) + ":" + s.colon + text
	}
	l := objectList(at)
	splices, tail := l.add(d.src, jsonSyntax, lay.sep, text, lay.closing, s.nl)
	if len(l.items) == 0 && tail != lay.closing && !e.notes.made(place) {
		if _, known := e.notes.text(innerNote, place); !known {
			e.notes.add(note{innerNote, tail, place})
		}
	}
	return applySplices(d.src, splices)
}

// parentInline reports whether the container that holds v, other than the
// root, stands in one line.
func (d *jsonDoc) parentInline(v *hujson.Value) bool {
	p := parentOf(&d.root, v)
	return p != nil && p != &d.root && !slices.Contains(d.src[p.StartOffset:p.EndOffset], '\n')
}

func parentOf(in, v *hujson.Value) *hujson.Value {
	if v.StartOffset <= in.StartOffset || v.EndOffset >= in.EndOffset {
		return nil
	}
	switch c := in.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			if m := &c.Members[i].Value; m == v {
				return in
			} else if p := parentOf(m, v); p != nil {
				return p
			}
		}
	case *hujson.Array:
		for i := range c.Elements {
			if m := &c.Elements[i]; m == v {
				return in
			} else if p := parentOf(m, v); p != nil {
				return p
			}
		}
	}
	return nil
}

// link is one step from the root to a leaf: item at of the container value.
type link struct {
	value *hujson.Value
	at    int
	place string // names the container in notes
	only  bool   // the container holds nothing else, and no comment
}

func (d *jsonDoc) link(v *hujson.Value, at int, place string) link {
	l := objectList(v)
	return link{v, at, place, len(l.items) == 1 && l.bare(d.src, jsonSyntax)}
}

// remove takes the leaf away, all of them where a set or event holds it more
// than once, and the containers that were made for it and are then empty.
func (d *jsonDoc) remove(e *edit, k key) ([]byte, error) {
	for !d.blank {
		chain, err := d.chain(k)
		if err != nil {
			return nil, err
		}
		if chain == nil {
			break
		}
		src := d.cut(e, chain)
		if d, err = reparseJSON(src); err != nil {
			return nil, err
		}
	}
	return d.src, nil
}

// chain returns the way to the leaf; nil where it is not there.
func (d *jsonDoc) chain(k key) ([]link, error) {
	leaf, err := d.leaf(k)
	if leaf == nil || err != nil {
		return nil, err
	}
	var chain []link
	v := &d.root
	for i, name := range k.path {
		o := v.Value.(*hujson.Object)
		at := member(o, name)
		chain = append(chain, d.link(v, at, Pointer(k.path[:i]...)))
		v = &o.Members[at].Value
	}
	pointer := Pointer(k.path...)
	switch k.kind {
	case memberKey:
		at, err := d.element(v.Value.(*hujson.Array), k.member)
		if err != nil {
			return nil, err
		}
		chain = append(chain, d.link(v, at, pointer))
	case hookKey:
		p, err := d.hook(v.Value.(*hujson.Array), k)
		if err != nil {
			return nil, err
		}
		group := pointer + "#" + k.hook.group()
		inGroup := d.link(p.value, p.at, group)
		o, l := p.value.Value.(*hujson.Object), objectList(p.value)
		inGroup.only = l.bare(d.src, jsonSyntax) &&
			(len(o.Members) == 1 || len(o.Members) == 2 && member(o, "matcher") >= 0)
		hooks := d.link(p.array, p.hook, group)
		hooks.only = hooks.only && inGroup.only // a group keeps its array while it holds anything else
		chain = append(chain, d.link(v, p.group, pointer), inGroup, hooks)
	}
	return chain, nil
}

// cut removes the last link's item, or the outermost container above it that
// was made and holds nothing else.
func (d *jsonDoc) cut(e *edit, chain []link) []byte {
	n := len(chain) - 1
	for n > 0 && chain[n].only && e.notes.made(chain[n].place) {
		n--
	}
	c := chain[n]
	l := objectList(c.value)
	nl := newline(d.src)
	if n == 0 && c.only {
		if tail, made := e.notes.text(documentNote, ""); made {
			head, line := jsonSyntax.lastComment(d.src[:c.value.StartOffset])
			after := d.src[c.value.EndOffset:]
			if end, _ := jsonSyntax.lastComment(after); end == 0 {
				if head > 0 && line && tail == "" {
					return d.src[:head:head]
				}
				return append(d.src[:head:head], tail...)
			}
		}
	}
	splices := l.remove(d.src, jsonSyntax, c.at, nl)
	if len(l.items) == 1 {
		if tail, ok := e.notes.text(innerNote, c.place); ok {
			head := 0
			from := l.items[0].start
			if end, line := jsonSyntax.lastComment(d.src[l.open:from]); end > 0 {
				head = end
				if line && len(tail) == 0 {
					tail = nl
				}
			}
			rest := d.src[l.items[0].end:l.close]
			if end, _ := jsonSyntax.lastComment(rest); end == 0 {
				splices = []splice{{span{l.open + head, l.close}, tail}}
			}
		}
	}
	return applySplices(d.src, splices)
}
