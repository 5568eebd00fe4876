package effects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"

	"aisync.dev/aisync/internal/frontmatter"
)

// setting is one scalar of a file, or an empty object or array.
type setting struct {
	path   []string // names from the root, and indexes of arrays
	arrays []bool   // whether each of path is an index
	value  any      // string, bool, number, nil; map[string]any{} or []any{} if it is empty
}

// Bounds of a readable file. Real ones have a hundredth of that; a larger file
// counts as unreadable.
const (
	maxDepth    = 100    // names from the root to a setting
	maxSettings = 10_000 // in one file
	maxBrackets = 50_000 // opening brackets
)

var (
	errDeep  = fmt.Errorf("nested deeper than %d levels", maxDepth)
	errLarge = fmt.Errorf("more than %d settings", maxSettings)
)

// settings flattens doc. A duplicate name counts twice: programs differ in
// which value they use. The error says why doc cannot be read.
func settings(format string, doc []byte) ([]setting, error) {
	doc = bytes.TrimPrefix(doc, []byte("\uFEFF"))
	if len(bytes.TrimSpace(doc)) == 0 {
		return nil, nil
	}
	if bytes.Count(doc, []byte("["))+bytes.Count(doc, []byte("{")) > maxBrackets && format != "frontmatter" {
		return nil, errLarge // before a parser recurses
	}
	switch format {
	case "json":
		v, err := hujson.Parse(doc)
		if err != nil {
			return nil, err
		}
		return flattenJSON(nil, v, setting{})
	case "toml":
		var v map[string]any
		if err := toml.Unmarshal(doc, &v); err != nil {
			return nil, err
		}
		return flatten(nil, v, setting{})
	case "yaml":
		var v any
		if err := yaml.Unmarshal(doc, &v); err != nil {
			return nil, err
		}
		return flatten(nil, v, setting{})
	case "frontmatter":
		front, _, ok, err := frontmatter.Split(doc)
		if !ok && err == nil && bytes.HasPrefix(doc, []byte("---")) && !bytes.HasPrefix(doc, []byte("----")) {
			first, _, _ := bytes.Cut(doc, []byte("\n"))
			err = fmt.Errorf("its front matter starts with %q, which names a language; some programs run JavaScript there", bytes.TrimSpace(first))
		}
		if err != nil || !ok {
			return nil, err
		}
		fields, err := frontmatter.Parse(front)
		if err != nil {
			return nil, err
		}
		return flatten(nil, map[string]any(fields), setting{})
	}
	return nil, fmt.Errorf("no reader of the format %q", format)
}

// below is the place of a member of s.
func (s setting) below(name string, index bool) setting {
	return setting{path: append(slices.Clip(s.path), name), arrays: append(slices.Clip(s.arrays), index)}
}

func flattenJSON(list []setting, v hujson.Value, at setting) ([]setting, error) {
	var err error
	if err := at.bounded(list); err != nil {
		return nil, err
	}
	switch x := v.Value.(type) {
	case *hujson.Object:
		if len(x.Members) == 0 {
			at.value = map[string]any{}
			return append(list, at), nil
		}
		for _, m := range x.Members {
			name, ok := m.Name.Value.(hujson.Literal)
			if !ok {
				return nil, fmt.Errorf("a name is not a string")
			}
			if list, err = flattenJSON(list, m.Value, at.below(name.String(), false)); err != nil {
				return nil, err
			}
		}
	case *hujson.Array:
		if len(x.Elements) == 0 {
			at.value = []any{}
			return append(list, at), nil
		}
		for i, e := range x.Elements {
			if list, err = flattenJSON(list, e, at.below(strconv.Itoa(i), true)); err != nil {
				return nil, err
			}
		}
	case hujson.Literal:
		if err := json.Unmarshal(x, &at.value); err != nil {
			return nil, err
		}
		list = append(list, at)
	}
	return list, nil
}

// flatten appends to list the scalars of v, which lies at a place.
func flatten(list []setting, v any, at setting) ([]setting, error) {
	err := at.bounded(list)
	if err != nil {
		return nil, err
	}
	switch x := v.(type) {
	case map[string]any:
		if len(x) == 0 {
			at.value = x
			return append(list, at), nil
		}
		for _, name := range slices.Sorted(maps.Keys(x)) {
			if list, err = flatten(list, x[name], at.below(name, false)); err != nil {
				return nil, err
			}
		}
	case []any:
		if len(x) == 0 {
			at.value = x
			return append(list, at), nil
		}
		for i, e := range x {
			if list, err = flatten(list, e, at.below(strconv.Itoa(i), true)); err != nil {
				return nil, err
			}
		}
	default:
		if m := reflect.ValueOf(v); m.Kind() == reflect.Map { // of a parser's types
			byName := map[string]any{}
			for _, name := range m.MapKeys() {
				byName[fmt.Sprint(name.Interface())] = m.MapIndex(name).Interface()
			}
			return flatten(list, byName, at)
		}
		at.value = x
		list = append(list, at)
	}
	return list, nil
}

// bounded returns an error if s can have no further member.
func (s setting) bounded(list []setting) error {
	switch {
	case len(s.path) > maxDepth:
		return errDeep
	case len(list) > maxSettings:
		return errLarge
	}
	return nil
}

// canonical is the value of s as text. A value outside JSON (a date in TOML) is
// written in Go's form.
func (s setting) canonical() string {
	b, err := json.Marshal(s.value)
	if err != nil {
		return fmt.Sprint(s.value)
	}
	return string(b)
}
