package file

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
)

// Fields says which fields of an object are aisync's. The others belong to
// people and programs: they are neither compared nor changed.
type Fields struct {
	Own  []string                      // besides those of the value itself: fields that must not be there unless wanted
	Ours func(merge.Value) merge.Value // what is there in the form of the wanted value, where it says the same; nil: as it is
}

// Object is Value for an object of which only some fields are aisync's.
func Object(v merge.Value, f Fields) reconcile.Body {
	return newMember(member{v: v, fields: &f})
}

// SecretObject is Secret for an object of which only some fields are aisync's.
func SecretObject(v, shown merge.Value, seal Seal, f Fields) reconcile.Body {
	return secretBody{v: v, shown: shown, print: sealed(seal, v), fields: &f}
}

// KeptObject is Kept for an object of which only some fields are aisync's.
func KeptObject(print reconcile.Fingerprint, f Fields) reconcile.Body {
	return secretBody{print: print, fields: &f}
}

// fieldsOf returns the fields of a body of Object; nil for another body.
func fieldsOf(b reconcile.Body) (merge.Value, *Fields) {
	switch b := b.(type) {
	case member:
		return b.v, b.fields
	case secretBody:
		return b.v, b.fields
	}
	return nil, nil
}

// owned are the fields that are aisync's of the value under key, wanted or
// recorded, sorted; nil if the whole value is. A value that aisync made and
// that is no longer wanted is compared as a whole: what others added to it
// must not go with it, and cannot stay without it.
func owned(t reconcile.Target, key reconcile.LeafKey) []string {
	var names []string
	for _, l := range t.Resource.Leaves {
		if v, f := fieldsOf(l.Body); l.Key == key && f != nil {
			names = slices.Concat(namesOf(v), f.Own)
		}
	}
	for _, l := range t.Last {
		if l.Key == key && (names != nil || l.Provenance == reconcile.Replaced) {
			names = append(names, noteOf(l).Fields...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// ownPart is v, the value under key, without what is not aisync's, in the form
// of the wanted value.
func ownPart(t reconcile.Target, key reconcile.LeafKey, v merge.Value) merge.Value {
	names := owned(t, key)
	if names == nil {
		return v
	}
	for _, l := range t.Resource.Leaves {
		if _, f := fieldsOf(l.Body); l.Key == key && f != nil && f.Ours != nil {
			v = f.Ours(v)
		}
	}
	object := map[string]json.RawMessage{}
	if json.Unmarshal(v, &object) != nil || object == nil {
		return v
	}
	maps.DeleteFunc(object, func(name string, _ json.RawMessage) bool { return !slices.Contains(names, name) })
	return render(object)
}

// namesOf are the names of v's fields in their order; nil if v is no object.
func namesOf(v merge.Value) []string {
	dec := json.NewDecoder(bytes.NewReader(v))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	var names []string
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil
		}
		names = append(names, name.(string)) // of an object, always
		if err := dec.Decode(new(json.RawMessage)); err != nil {
			return nil
		}
	}
	return names
}

// without is object without the fields of names.
func without(object map[string]json.RawMessage, names []string) merge.Value {
	rest := maps.Clone(object)
	maps.DeleteFunc(rest, func(name string, _ json.RawMessage) bool { return slices.Contains(names, name) })
	return render(rest)
}

// foreign reports whether the object under key has fields that are not aisync's.
func foreign(t reconcile.Target, key reconcile.LeafKey, there merge.Value) bool {
	var is map[string]json.RawMessage
	return json.Unmarshal(there, &is) == nil && string(without(is, owned(t, key))) != "{}"
}

func render(object map[string]json.RawMessage) merge.Value {
	b, _ := json.Marshal(object) // values that were parsed before
	return b
}

// perField returns the ops that change only aisync's fields of the object there
// into those of want; ok is false where l must be written as one value.
func perField(t reconcile.Target, l reconcile.LeafChange, there merge.Leaf, want merge.Value) (ops []merge.Op, ok bool) {
	names := owned(t, l.Key)
	var is, should map[string]json.RawMessage
	if names == nil || json.Unmarshal(there.Value, &is) != nil || is == nil || json.Unmarshal(want, &should) != nil || should == nil {
		return nil, false
	}
	if l.Action == reconcile.PutBack && merge.Equal(without(is, names), without(should, names)) {
		return nil, false // all of it can be as it was
	}
	// What goes first, then the rest in the order of want.
	order := slices.DeleteFunc(slices.Clone(names), func(n string) bool { _, wanted := should[n]; return wanted })
	for _, name := range namesOf(want) {
		if slices.Contains(names, name) {
			order = append(order, name)
		}
	}
	for _, name := range order {
		v, wanted := should[name]
		old, has := is[name]
		switch {
		case wanted && has && merge.Equal(old, v), !wanted && !has:
		case wanted:
			ops = append(ops, merge.Op{Key: string(l.Key) + merge.Pointer(name), Value: v})
		default:
			ops = append(ops, merge.Op{Key: string(l.Key) + merge.Pointer(name)})
		}
	}
	return ops, true
}

// noteFields are the fields to record of l, those that a later aisync cannot
// tell from the wanted value: fields that are no longer wanted then.
func noteFields(b reconcile.Body, p reconcile.Provenance) []string {
	v, f := fieldsOf(b)
	if f == nil {
		return nil
	}
	names := namesOf(v)
	if p == reconcile.Replaced {
		names = append(names, f.Own...)
	} else {
		names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(f.Own, n) })
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// objectNote is the note of an object of which some fields were changed.
func objectNote(l reconcile.LeafChange) json.RawMessage {
	var n note
	if l.Last != nil {
		n = noteOf(*l.Last)
	}
	n.Fields = nil
	if l.Want != nil {
		n.Fields = noteFields(l.Want.Body, l.Provenance)
	}
	return n.raw()
}

// objects returns what is there under the keys of c that may be changed field
// by field.
func (b *built) objects(c reconcile.Change) (map[reconcile.LeafKey]merge.Leaf, error) {
	var keys []reconcile.LeafKey
	for _, l := range c.Leaves {
		if l.Writes() && l.Key != "" && l.Key != reconcile.Seed && owned(c.Target, l.Key) != nil {
			keys = append(keys, l.Key)
		}
	}
	if len(keys) == 0 || b.gone {
		return nil, nil
	}
	return readLeaves(c.Target, b.doc, keys)
}

func leafOf(c reconcile.Change, key reconcile.LeafKey) *reconcile.LeafChange {
	for i := range c.Leaves {
		if c.Leaves[i].Key == key {
			return &c.Leaves[i]
		}
	}
	return nil
}

var _ reconcile.Confirmer = Provider{}

// Confirm implements reconcile.Confirmer: it records the fields of the objects
// that are already right.
func (Provider) Confirm(_ context.Context, _ reconcile.ReadEnv, c reconcile.Change) (reconcile.Outcome, error) {
	return reconcile.Outcome{Token: c.Before.Token, LeafPrivate: acceptedNotes(c)}, nil
}

// acceptedNotes are the notes of the objects of c that are already right.
func acceptedNotes(c reconcile.Change) map[reconcile.LeafKey]json.RawMessage {
	out := map[reconcile.LeafKey]json.RawMessage{}
	for _, l := range c.Leaves {
		if l.Action != reconcile.Accept || l.Want == nil {
			continue
		}
		if _, f := fieldsOf(l.Want.Body); f != nil {
			out[l.Key] = objectNote(l)
		}
	}
	return out
}
