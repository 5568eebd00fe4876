package catalog

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"sort"
	"unicode"

	"aisync.dev/aisync/schema/spec"
)

// Object is a struct of a spec: its fields in the order of the documentation. A
// value is a string, bool, int, map[string]string, Object, a list of these, or
// json.RawMessage.
type Object []Field

// Field is one field of an Object.
type Field struct {
	Name  string
	Value any
}

// MarshalJSON keeps the order.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f.Value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Entry returns r as a catalog entry with a spec's field names, without empty
// fields. A spec with it under runtimes yields r again.
func Entry(r spec.Runtime) Object {
	o := object(reflect.ValueOf(r))
	for i, f := range o {
		if f.Name == "parts" { // likewise a list in Go
			var parts Object
			for _, p := range r.Parts {
				facts := object(reflect.ValueOf(p))
				parts = append(parts, Field{p.Part, facts[1:]}) // without its name
			}
			o[i].Value = parts
		}
		if f.Name == "variants" {
			var list []any
			for _, v := range r.Variants {
				list = append(list, append(object(reflect.ValueOf(v)), Entry(v.Change)...))
			}
			o[i].Value = list
		}
		if f.Name != "hookEvents" {
			continue
		}
		var events Object // a list in Go, to keep its order
		for _, e := range r.HookEvents {
			form := Object{{"level", e.Level}}
			if e.Name != "" {
				form = append(form, Field{"name", e.Name})
			}
			events = append(events, Field{e.Event, form})
		}
		o[i].Value = events
	}
	return o
}

func object(v reflect.Value) Object {
	var o Object
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if v.Field(i).IsZero() || slices.Contains([]string{"ID", "Pos"}, field.Name) {
			continue
		}
		if field.Name == "Source" && v.Type() == reflect.TypeFor[spec.Runtime]() {
			continue // its source is not part of an entry
		}
		if field.Name == "Change" {
			continue // its fields are those of the variant
		}
		name := FieldName(field)
		if bytes, ok := v.Field(i).Interface().([]byte); ok {
			o = append(o, Field{"value", json.RawMessage(bytes)})
			continue
		}
		if field.Name == "Setting" && v.Field(i).Kind() == reflect.Struct { // of a spec.BlockLimit, which is one struct in a spec
			o = append(o, object(v.Field(i))...)
			continue
		}
		o = append(o, Field{name, value(v.Field(i))})
	}
	return o
}

func value(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		return value(v.Elem())
	case reflect.Struct:
		return object(v)
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = value(v.Index(i))
		}
		return list
	case reflect.Map:
		keys := v.MapKeys()
		sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
		var o Object
		for _, k := range keys {
			o = append(o, Field{k.String(), value(v.MapIndex(k))})
		}
		return o
	}
	return v.Interface()
}

// FieldName returns a field's name in a spec.
func FieldName(f reflect.StructField) string {
	if f.Name == "MCPSupport" {
		return "mcp"
	}
	return specName(f.Name)
}

// specName returns a Go field's name in a spec: DisplayName is displayName,
// IDVars is idVars, APIs is apis.
func specName(goName string) string {
	letters := []rune(goName)
	for i := range letters {
		acronymEnds := i > 0 && i+1 < len(letters) && unicode.IsLower(letters[i+1]) && !(letters[i+1] == 's' && i+2 == len(letters))
		if !unicode.IsUpper(letters[i]) || acronymEnds {
			break
		}
		letters[i] = unicode.ToLower(letters[i])
	}
	return string(letters)
}
