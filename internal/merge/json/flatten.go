package json

import (
	"slices"

	"github.com/tailscale/hujson"

	"aisync.dev/aisync/internal/merge/leaf"
)

// Rules says what stands for more than a plain value in a kind of document.
// In a pointer, "*" stands for any one name.
type Rules struct {
	Sets   []string // arrays that are sets
	Hooks  string   // the object of hooks, "" none
	Atomic []string // objects that are one leaf
}

// Flatten returns the leaves that a fragment asks for, in its order: scalars,
// empty objects, arrays that are no sets, and objects that are atomic, whole;
// members of sets; hooks. Equal members count once. Values keep the order of
// names and the spelling of the fragment, so that what is written looks like it.
func Flatten(fragment []byte, rules Rules) ([]leaf.Leaf, error) {
	if err := leaf.CheckDocument(fragment); err != nil {
		return nil, err
	}
	_, src := leaf.CutBOM(fragment)
	d, err := check(src)
	if err != nil {
		return nil, err
	}
	if d.blank {
		return nil, &leaf.Error{Line: 1, Col: 1, Reason: "the fragment is empty", Hint: "write {} to ask for nothing"}
	}
	if _, err := d.object(&d.root, ""); err != nil {
		return nil, err
	}
	f := flattener{d: d, rules: rules, at: map[string]int{}}
	if err := f.walk(&d.root, nil); err != nil {
		return nil, err
	}
	return f.leaves, nil
}

type flattener struct {
	d      *doc
	rules  Rules
	leaves []leaf.Leaf
	at     map[string]int
}

func (f *flattener) walk(v *hujson.Value, path []string) error {
	pointer := leaf.Pointer(path...)
	if f.rules.Hooks != "" && matches(f.rules.Hooks, path) {
		return f.hooks(v, path)
	}
	if slices.ContainsFunc(f.rules.Sets, func(p string) bool { return matches(p, path) }) {
		a, err := f.d.array(v, pointer)
		if err != nil {
			return err
		}
		for i := range a.Elements {
			c, err := f.d.value(&a.Elements[i])
			if err != nil {
				return err
			}
			f.add(pointer+"#"+string(c), &a.Elements[i])
		}
		return nil
	}
	atomic := slices.ContainsFunc(f.rules.Atomic, func(p string) bool { return matches(p, path) })
	o, ok := v.Value.(*hujson.Object)
	if !ok || atomic || len(o.Members) == 0 {
		if len(path) > 0 {
			f.add(pointer, v)
		}
		return nil
	}
	for i := range o.Members {
		name := nameOf(o.Members[i].Name)
		if err := f.walk(&o.Members[i].Value, append(path[:len(path):len(path)], name)); err != nil {
			return err
		}
	}
	return nil
}

// hooks flattens the object of hooks. Groups that hold no hooks ask for nothing.
func (f *flattener) hooks(v *hujson.Value, path []string) error {
	o, err := f.d.object(v, leaf.Pointer(path...))
	if err != nil {
		return err
	}
	for i := range o.Members {
		event := nameOf(o.Members[i].Name)
		under := append(path[:len(path):len(path)], event)
		a, err := f.d.array(&o.Members[i].Value, leaf.Pointer(under...))
		if err != nil {
			return err
		}
		for gi := range a.Elements {
			if err := f.group(a, gi, under); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *flattener) group(event *hujson.Array, gi int, path []string) error {
	one := &hujson.Array{Elements: event.Elements[gi : gi+1]}
	matcher := ""
	if o, ok := event.Elements[gi].Value.(*hujson.Object); ok {
		if i := member(o, "matcher"); i >= 0 {
			if lit, ok := o.Members[i].Value.Value.(hujson.Literal); ok {
				matcher = lit.String()
			}
		}
	}
	place, err := f.d.hook(one, leaf.Key{Path: path, Hook: leaf.HookID{Matcher: matcher}})
	if err != nil {
		return err
	}
	hooks := place.array.Value.(*hujson.Array)
	for i := range hooks.Elements {
		h := &hooks.Elements[i]
		if _, err := f.d.object(h, leaf.Pointer(path...)+"/hooks"); err != nil {
			return err
		}
		c, err := f.d.value(h)
		if err != nil {
			return err
		}
		id, err := leaf.HookOf(c)
		if err != nil {
			return leaf.ErrorAt(f.d.src, h.StartOffset, leaf.Pointer(path...), err.Error())
		}
		if id.Type == "" || id.Command == "" {
			return leaf.ErrorAt(f.d.src, h.StartOffset, leaf.Pointer(path...), "holds a hook without type or command")
		}
		id.Matcher = matcher
		f.add(leaf.HookKey(leaf.Pointer(path...), id), h)
	}
	return nil
}

// add appends a leaf; a later one of the same key replaces it.
func (f *flattener) add(key string, v *hujson.Value) {
	c := v.Clone()
	c.Minimize()
	line, _ := leaf.Position(f.d.src, v.StartOffset)
	l := leaf.Leaf{Key: key, Value: leaf.Value(c.Pack()), Line: line}
	if i, dup := f.at[key]; dup {
		f.leaves[i] = l
		return
	}
	f.at[key] = len(f.leaves)
	f.leaves = append(f.leaves, l)
}

// matches reports whether path is what pattern names.
func matches(pattern string, path []string) bool {
	parts, err := leaf.Names(pattern)
	return err == nil && slices.EqualFunc(parts, path, func(p, name string) bool { return p == "*" || p == name })
}
