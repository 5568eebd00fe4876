package json

import (
	"slices"

	"github.com/tailscale/hujson"

	"aisync.dev/aisync/internal/merge/leaf"
)

// Set sets one leaf.
func (d *doc) Set(k leaf.Key, op leaf.Op, notes *leaf.Notes) ([]byte, error) {
	if d.blank {
		end, line := syntax.LastComment(d.src)
		notes.Add(leaf.Note{Word: leaf.DocumentNote, Text: string(d.src[end:])})
		nl := leaf.Newline(d.src)
		text := string(d.src[:end])
		if line {
			text += nl
		}
		var err error
		if d, err = reparse([]byte(text + "{}" + nl)); err != nil {
			return nil, err
		}
	}
	return d.set(notes, k, op.Value, op.Raw)
}

func (d *doc) set(notes *leaf.Notes, k leaf.Key, v leaf.Value, raw string) ([]byte, error) {
	old, err := d.leaf(k)
	if err != nil {
		return nil, err
	}
	if old != nil {
		was, err := d.value(old)
		if err != nil || leaf.Equal(was, v) {
			return d.src, err
		}
		if says(raw, v) {
			return leaf.Apply(d.src, leaf.Put(old.StartOffset, old.EndOffset, raw)), nil
		}
		s := d.style()
		text := d.src[old.StartOffset:old.EndOffset]
		inline := endsComposite(text) && !slices.Contains(text, '\n')
		new := s.render(v, leaf.LineIndent(d.src, old.StartOffset), inline)
		return leaf.Apply(d.src, leaf.Put(old.StartOffset, old.EndOffset, new)), nil
	}

	// Walk to the innermost container that is there.
	at, depth := &d.root, 0
	for depth < len(k.Path) {
		o, err := d.object(at, leaf.Pointer(k.Path[:depth]...))
		if err != nil {
			return nil, err
		}
		i := member(o, k.Path[depth])
		if i < 0 {
			break
		}
		at, depth = &o.Members[i].Value, depth+1
	}
	place := leaf.Pointer(k.Path[:depth]...)
	if depth == len(k.Path) { // the array of a set or an event
		if k.Kind == leaf.KindHook {
			return d.addHook(notes, k, at, v)
		}
		return d.insert(notes, at, place, "", v, depth), nil
	}
	switch k.Kind {
	case leaf.KindMember:
		v = leaf.ArrayOf(v)
	case leaf.KindHook:
		notes.Add(leaf.Note{At: leaf.HookGroup(k)})
		v = leaf.ArrayOf(hookGroup(k.Hook.Matcher, v))
	}
	for i := len(k.Path) - 1; i > depth; i-- {
		v = leaf.ObjectOf(k.Path[i], v)
		notes.Add(leaf.Note{At: leaf.Pointer(k.Path[:i]...)})
	}
	if k.Kind != leaf.KindValue {
		notes.Add(leaf.Note{At: leaf.Pointer(k.Path...)})
	}
	return d.insert(notes, at, place, k.Path[depth], v, depth), nil
}

// insert puts v into container at, under name where it is an object. place
// names the container in notes; depth is how deep it lies.
func (d *doc) insert(notes *leaf.Notes, at *hujson.Value, place, name string, v leaf.Value, depth int) []byte {
	s := d.style()
	inlineParent := depth > 1 && d.parentInline(at)
	lay := d.layout(s, at, inlineParent)
	text := s.render(v, lay.indent, lay.inline)
	if _, ok := at.Value.(*hujson.Object); ok {
		text = string(leaf.Quote(name)) + ":" + s.colon + text
	}
	l := d.list(at)
	splices, tail := l.Add(lay.sep, text, lay.closing)
	if len(l.Items) == 0 && tail != lay.closing {
		notes.AddInner(tail, place)
	}
	return leaf.Apply(d.src, splices...)
}

// parentInline reports whether the container that holds v, other than the
// root, stands in one line.
func (d *doc) parentInline(v *hujson.Value) bool {
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

// says reports whether raw is one value, without anything around it, that
// equals v.
func says(raw string, v leaf.Value) bool {
	x, err := hujson.Parse([]byte(raw))
	if raw == "" || err != nil || x.BeforeExtra != nil || x.AfterExtra != nil {
		return false
	}
	got, err := (&doc{src: []byte(raw), root: x}).value(&x)
	return err == nil && leaf.Equal(got, v)
}
