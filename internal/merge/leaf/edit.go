package leaf

import (
	"bytes"
	"fmt"
	"slices"
)

// Read returns the leaves of keys that are there, with canonical values; a key
// that is not there is not in the map. It fails with *Error where doc is
// invalid or has another shape than a key asks for.
func Read(f Format, doc []byte, keys []string) (map[string]Leaf, error) {
	ks, err := parseKeys(f, keys)
	if err != nil {
		return nil, err
	}
	if err := CheckDocument(doc); err != nil {
		return nil, err
	}
	_, src := CutBOM(doc)
	d, err := f.Parse(src)
	if err != nil {
		return nil, err
	}
	out := map[string]Leaf{}
	for _, k := range ks {
		l, ok, err := d.Leaf(k)
		if err != nil {
			return nil, err
		}
		if ok {
			l.Key = k.Name
			out[l.Key] = l
		}
	}
	return out, nil
}

// Edit makes doc hold, or not hold, the leaves of ops and keeps every other
// byte. An absent document is an empty one. On an error nothing is changed:
// *Error where doc is at fault.
//
// made is everything that earlier edits of this document reported in
// Result.Made, of whichever leaf and owner; a container that stands in it is
// removed when its last leaf goes, in whatever order leaves go. With nothing
// else changed in between, removing what was added gives back the same bytes.
// Editing twice is editing once.
func Edit(f Format, doc []byte, ops []Op, made []string) (Result, error) {
	keys := make([]string, len(ops))
	for i, op := range ops {
		keys[i] = op.Key
	}
	ks, err := parseKeys(f, keys)
	if err != nil {
		return Result{}, err
	}
	if err := CheckDocument(doc); err != nil {
		return Result{}, err
	}
	if err := checkOps(ks, ops); err != nil {
		return Result{}, err
	}
	notes, err := parseNotes(f, made)
	if err != nil {
		return Result{}, err
	}
	next, err := apply(f, doc, ks, ops, &notes)
	if err != nil {
		return Result{}, err
	}
	res := Result{Doc: doc, Made: make([][]string, len(ops))}
	if !bytes.Equal(next, doc) {
		res.Doc, res.Changed = next, true
		if err := check(f, next, ks, ops); err != nil {
			return Result{}, err
		}
	}
	for i, op := range ops {
		if op.Value != nil {
			res.Made[i] = notes.around(ks[i], op)
		}
	}
	return res, nil
}

// apply does one op after the other.
func apply(f Format, doc []byte, ks []Key, ops []Op, notes *Notes) ([]byte, error) {
	var d Document
	var parsed []byte // the text of d
	for i, op := range ops {
		mark, src := CutBOM(doc)
		var err error
		switch {
		case d == nil:
			d, err = f.Parse(src)
		case !bytes.Equal(parsed, src):
			d, err = d.Reparse(src)
		}
		if err != nil {
			return nil, err
		}
		parsed = src
		var next []byte
		if op.Value == nil {
			next, err = d.Remove(ks[i], notes)
		} else {
			op.Value = ks[i].want(op.Value)
			next, err = d.Set(ks[i], op, notes)
		}
		if err != nil {
			return nil, err
		}
		doc = append(slices.Clone(mark), next...)
	}
	return doc, nil
}

// check reads the result again: what cannot be read back must not be written.
func check(f Format, doc []byte, ks []Key, ops []Op) error {
	if len(doc) == 0 {
		return nil
	}
	keys := make([]string, len(ks))
	for i := range ks {
		keys[i] = ks[i].Name
	}
	got, err := Read(f, doc, keys)
	if err != nil {
		return fmt.Errorf("edit %s document: the result does not read back, so nothing was changed: %w", f.Name, err)
	}
	for i, op := range ops {
		leaf, there := got[keys[i]]
		if there != (op.Value != nil) || there && !Equal(leaf.Value, ks[i].want(op.Value)) {
			return fmt.Errorf("edit %s document: leaf %s does not read back, so nothing was changed", f.Name, keys[i])
		}
	}
	return nil
}

// checkOps refuses edits that cannot be true together.
func checkOps(ks []Key, ops []Op) error {
	values := map[string]bool{}
	seen := map[string]bool{}
	for i, k := range ks {
		if seen[k.Name] {
			return fmt.Errorf("edit leaf %s: it is asked for twice", k.Name)
		}
		seen[k.Name] = true
		if k.Kind == KindValue {
			values[Pointer(k.Path...)] = true
		}
		if ops[i].Value != nil {
			if err := k.checkValue(ops[i].Value); err != nil {
				return err
			}
		}
	}
	for _, k := range ks {
		n := len(k.Path)
		if k.Kind != KindValue {
			n++
		}
		for i := 1; i < n; i++ {
			if p := Pointer(k.Path[:i]...); values[p] {
				return fmt.Errorf("edit leaf %s: it lies within leaf %s of the same edit; ask for one of them", k.Name, p)
			}
		}
	}
	return nil
}
