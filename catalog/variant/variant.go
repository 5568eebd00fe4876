// Package variant chooses what an entry of the catalog says of one version of its
// program. Call At.
package variant

import (
	"reflect"
	"slices"
	"strings"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/versions"
	"aisync.dev/aisync/schema/spec"
)

// At returns r as a version of its program takes it: with the changes of each of its
// variants whose range has the version. An unknown version, "", is as the entry says.
func At(r spec.Runtime, version string) spec.Runtime {
	if version == "" {
		return r
	}
	for _, v := range r.Variants {
		span, err := versions.ParseRange(v.Versions)
		if err != nil || !span.Has(version) {
			continue
		}
		for _, name := range v.Without {
			if f, ok := fieldAt(reflect.ValueOf(&r).Elem(), name); ok {
				f.SetZero()
			}
		}
		put(reflect.ValueOf(&r).Elem(), reflect.ValueOf(v.Change))
	}
	return r
}

// HasField reports whether an entry can have a field of that name, such as
// "project.mcp".
func HasField(name string) bool {
	_, ok := fieldAt(reflect.ValueOf(&spec.Runtime{}).Elem(), name)
	return ok
}

// fieldAt returns a field of an entry by its name in a spec, a dot before each name of
// an inner one.
func fieldAt(v reflect.Value, name string) (reflect.Value, bool) {
	name, inner, nested := strings.Cut(name, ".")
	i := slices.IndexFunc(reflect.VisibleFields(v.Type()), func(f reflect.StructField) bool { return catalog.FieldName(f) == name })
	switch {
	case i < 0:
		return reflect.Value{}, false
	case !nested:
		return v.Field(i), true
	case v.Field(i).Kind() != reflect.Struct:
		return reflect.Value{}, false
	}
	return fieldAt(v.Field(i), inner)
}

// put sets the fields of v that change has, those of structs one by one. Facts of parts
// take the place of those of the same part.
func put(v, change reflect.Value) {
	for i := range v.NumField() {
		from, to := change.Field(i), v.Field(i)
		switch list := from.Interface().(type) {
		case spec.Position:
			continue
		case []spec.PartFacts:
			was := to.Interface().([]spec.PartFacts)
			was = slices.DeleteFunc(slices.Clone(was), func(f spec.PartFacts) bool {
				return slices.ContainsFunc(list, func(o spec.PartFacts) bool { return o.Part == f.Part })
			})
			was = append(was, list...)
			slices.SortFunc(was, func(a, b spec.PartFacts) int { return strings.Compare(a.Part, b.Part) })
			to.Set(reflect.ValueOf(was))
			continue
		}
		switch {
		case from.IsZero():
		case from.Kind() == reflect.Struct:
			put(to, from)
		default:
			to.Set(from)
		}
	}
}
