package leaf

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Pair is a member of an object.
type Pair struct {
	Name  string
	Value Value
}

// Pairs returns the members of an object in their order; ok is false where v
// is no object, or one that stands for a date or a float.
func Pairs(v Value) (ps []Pair, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(v))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		t, err := dec.Token()
		name, isString := t.(string)
		var raw json.RawMessage
		if err != nil || !isString || dec.Decode(&raw) != nil {
			return nil, false
		}
		ps = append(ps, Pair{name, raw})
	}
	if len(ps) == 1 && (ps[0].Name == "$datetime" || ps[0].Name == "$float") {
		return nil, false
	}
	return ps, true
}

// Elements returns the elements of an array; ok is false where v is none.
func Elements(v Value) (items []Value, ok bool) {
	return items, bytes.HasPrefix(bytes.TrimLeft(v, " \t\r\n"), []byte("[")) && json.Unmarshal(v, &items) == nil
}

// ArrayOf returns an array that holds v.
func ArrayOf(v Value) Value { return Value("[" + string(v) + "]") }

// ObjectOf returns an object that holds v under name.
func ObjectOf(name string, v Value) Value {
	return Value("{" + string(Quote(name)) + ":" + string(v) + "}")
}

// TextValue is the Value of a block that holds s. Line ends are stored as
// "\n"; those at the end of s do not count.
func TextValue(s string) Value { return Quote(NormalText(s)) }

// NormalText is s as TextValue stores it: two texts are equal where it is.
func NormalText(s string) string {
	return strings.TrimRight(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n"), "\n")
}
