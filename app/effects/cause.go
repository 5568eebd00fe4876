package effects

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
)

// cause returns the spec lines that ask for e, and the pinned source that all
// of it comes from, named files included; "" if any part belongs to the
// project.
func (t *tree) cause(e Effect, in []setting) (origin []reconcile.Position, source string) {
	a, ok := t.after[e.File]
	if !ok {
		return nil, ""
	}
	var sources []string
	var ours []pair
	for _, l := range a.change.Leaves {
		if l.Want == nil || !touches(e, l.Key) {
			continue
		}
		for _, p := range l.Want.Origin {
			if !slices.Contains(origin, p) {
				origin = append(origin, p)
			}
		}
		sources = append(sources, l.Want.Source)
		if v, ok := file.ValueOf(l.Want.Body); ok {
			ours = append(ours, pairs(string(l.Key), v)...)
		} else if doc, ok := file.Text(l.Want.Body); ok && bytes.Equal(doc, t.outcome(a).doc) {
			ours = nil
			in = nil // every byte comes from the source
		}
	}
	slices.Sort(sources)
	if sources = slices.Compact(sources); len(sources) != 1 || sources[0] == "" {
		return origin, ""
	}
	for _, s := range in {
		if !slices.Contains(ours, pair{s.path[len(s.path)-1], s.canonical()}) && !slices.Contains(ours, pair{"", s.canonical()}) {
			return origin, ""
		}
	}
	for _, name := range e.named {
		if name != e.File && !t.comesFrom(name, sources[0]) {
			return origin, ""
		}
	}
	return origin, sources[0]
}

// comesFrom reports whether all bytes of name come from source.
func (t *tree) comesFrom(name, source string) bool {
	a, ok := t.after[name]
	if !ok {
		return false
	}
	return slices.ContainsFunc(a.change.Leaves, func(l reconcile.LeafChange) bool {
		if l.Key != "" || l.Want == nil || l.Want.Source != source {
			return false
		}
		doc, ok := file.Text(l.Want.Body)
		return ok && bytes.Equal(doc, t.outcome(a).doc)
	})
}

// touches reports whether a leaf is, contains or belongs to what causes e in
// its file.
func touches(e Effect, key reconcile.LeafKey) bool {
	if e.whole || key == "" || key == reconcile.Seed || e.Key == "" {
		return true
	}
	pointer, _, _ := strings.Cut(string(key), "#")
	if !strings.HasPrefix(pointer, "/") {
		return true // a line or a block of text
	}
	return pointer == e.Key || strings.HasPrefix(e.Key, pointer+"/") || strings.HasPrefix(pointer, e.Key+"/")
}

// pair is the last name of a setting, and its value.
type pair struct{ name, value string }

// pairs are the scalars of a leaf's value.
func pairs(key string, value []byte) []pair {
	var v any
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	pointer, _, member := strings.Cut(key, "#")
	name := pointer[strings.LastIndexByte(pointer, '/')+1:]
	var out []pair
	list, _ := flatten(nil, v, setting{}) // what cannot be flattened is not the source's
	for _, s := range list {
		switch {
		case len(s.path) > 0:
			out = append(out, pair{s.path[len(s.path)-1], s.canonical()})
		case member: // an element of an array, of unknown index
			out = append(out, pair{"", s.canonical()})
		default:
			out = append(out, pair{name, s.canonical()})
		}
	}
	return out
}
