// Package extends writes out the entries of a person's catalog that extend another, so
// that what follows reads them as if the person had. It checks no entry. Call WriteOut.
package extends

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/schema/spec"
)

// WriteOut returns root, the specs of a host, with the entries of catalog: runtimes
// that extend another joined with it: fields of an entry count more than those of the
// extended one, structs are joined, and lists replaced. What cannot be extended stays
// as it is, and is reported at the entry's extends.
func WriteOut(ctx *cue.Context, root cue.Value, report func(id, message, hint string)) cue.Value {
	x := extending{own: map[string]cue.Value{}, embedded: catalog.With(spec.Catalog{}), report: report}
	own := root.LookupPath(cue.ParsePath("catalog")).LookupPath(cue.ParsePath("runtimes"))
	x.ids = fields(own)
	for _, id := range x.ids {
		x.own[id] = own.LookupPath(cue.MakePath(cue.Str(id)))
	}
	whole := own
	for _, id := range x.ids {
		if extended(x.own[id]) == "" {
			continue
		}
		if text, err := json.Marshal(x.entry(id, nil)); err == nil && string(text) != "null" {
			whole = with(ctx, whole, id, ctx.CompileBytes(text)) // not Encode, which makes a float of each number
		}
	}
	if whole == own {
		return root
	}
	return with(ctx, root, "catalog", with(ctx, root.LookupPath(cue.ParsePath("catalog")), "runtimes", whole))
}

// fields returns the names of the fields of v, sorted.
func fields(v cue.Value) (names []string) {
	if !v.Exists() {
		return nil
	}
	it, err := v.Fields()
	for err == nil && it.Next() {
		names = append(names, it.Selector().Unquoted())
	}
	slices.Sort(names)
	return names
}

// extended returns the id that an entry extends, "" for none.
func extended(entry cue.Value) string {
	v := entry.LookupPath(cue.ParsePath("extends"))
	if !v.Exists() {
		return ""
	}
	id, _ := v.String()
	return id
}

// with returns the struct v with another value of one field.
func with(ctx *cue.Context, v cue.Value, name string, value cue.Value) cue.Value {
	out := ctx.CompileString("{}")
	for _, f := range fields(v) {
		if at := cue.MakePath(cue.Str(f)); f != name {
			out = out.FillPath(at, v.LookupPath(at))
		}
	}
	return out.FillPath(cue.MakePath(cue.Str(name)), value)
}

// extending is what the entries of a spec may extend.
type extending struct {
	own      map[string]cue.Value
	ids      []string // of own, sorted
	embedded catalog.Index
	report   func(id, message, hint string)
}

// entry returns the fields of an own entry together with what it extends; nil where
// that is not possible, which it reports. through are the entries that lead to it.
func (x extending) entry(name string, through []string) map[string]any {
	text, _ := x.own[name].MarshalJSON()
	own, ok := object(text)
	if !ok {
		return nil // not concrete, or no struct: the schema says so
	}
	id := extended(x.own[name])
	through = append(through, name)
	_, isOwn := x.own[id]
	rt, embedded := x.embedded.Runtime(id)
	switch {
	case id == "":
		return own
	case id == name:
		x.report(name, fmt.Sprintf("runtime %q extends itself", id), "name another entry; an entry of your own needs another id than the one that it extends")
		return nil
	case slices.Contains(through, id):
		if through[0] == id && id == slices.Min(through) { // once a circle
			x.report(name, "runtimes extend each other: "+strings.Join(append(through, id), ", "), "let one of them extend an entry of aisync's catalog, or none")
		}
		return nil
	case !isOwn && !embedded:
		if len(through) == 1 {
			hint := nearest.Hint(id, append(catalog.RuntimeIDs(x.embedded.Runtimes()), x.ids...))
			if rt, ok := x.embedded.Find(id); ok {
				hint = fmt.Sprintf("did you mean %q?", rt.ID)
			}
			x.report(name, fmt.Sprintf("unknown runtime %q", id), hint)
		}
		return nil
	}
	var base map[string]any
	if isOwn {
		if base = x.entry(id, through); base == nil {
			return nil
		}
	} else {
		text, _ := json.Marshal(catalog.Entry(rt)) // a test reads all of them
		base, _ = object(text)
	}
	root, ok := base["extends"]
	notInherited(base)
	joined := joinedWith(base, own).(map[string]any)
	if joined["extends"] = id; ok {
		joined["extends"] = root
	}
	return joined
}

// object reads JSON; numbers stay as they are written.
func object(text []byte) (m map[string]any, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	return m, dec.Decode(&m) == nil && m != nil
}

// notInherited takes from an entry what is true of one program only: its other names,
// how to tell its processes, that it is a default, and how its parts are known.
func notInherited(entry map[string]any) {
	for _, name := range []string{"aliases", "detect", "preferred", "forModels"} {
		delete(entry, name)
	}
	parts, _ := entry["parts"].(map[string]any)
	for _, p := range parts {
		if facts, ok := p.(map[string]any); ok {
			delete(facts, "evidence")
			delete(facts, "version")
		}
	}
}

// joinedWith returns base with what over has; structs are joined.
func joinedWith(base, over any) any {
	b, isStruct := base.(map[string]any)
	o, also := over.(map[string]any)
	if !isStruct || !also {
		return over
	}
	for name, v := range o {
		if was, ok := b[name]; ok {
			v = joinedWith(was, v)
		}
		b[name] = v
	}
	return b
}
