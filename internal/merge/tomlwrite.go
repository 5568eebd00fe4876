package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// pair is a name with its value, in the order of the source.
type pair struct {
	name  string
	value Value
}

// pairs returns the members of an object in their order; ok is false where v
// is no object, or one that stands for a date or a float.
func pairs(v Value) (ps []pair, ok bool) {
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
		ps = append(ps, pair{name, Value(raw)})
	}
	if len(ps) == 1 && (ps[0].name == "$datetime" || ps[0].name == "$float") {
		return nil, false
	}
	return ps, true
}

// tomlValueText writes a value in one line.
func tomlValueText(v Value) (string, error) {
	if ps, ok := pairs(v); ok {
		if len(ps) == 0 {
			return "{}", nil
		}
		parts := make([]string, len(ps))
		for i, p := range ps {
			text, err := tomlValueText(p.value)
			if err != nil {
				return "", err
			}
			parts[i] = tomlKey(p.name) + " = " + text
		}
		return "{ " + strings.Join(parts, ", ") + " }", nil
	}
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil && err != io.EOF {
		return "", fmt.Errorf("write toml value %s: %w", v, err)
	}
	switch x := x.(type) {
	case string:
		return tomlString(x), nil
	case bool:
		return strconv.FormatBool(x), nil
	case json.Number:
		return tomlNumber(string(x))
	case []any:
		var elems []json.RawMessage
		if err := json.Unmarshal(v, &elems); err != nil {
			return "", fmt.Errorf("write toml value %s: %w", v, err)
		}
		parts := make([]string, len(elems))
		for i, e := range elems {
			text, err := tomlValueText(Value(e))
			if err != nil {
				return "", err
			}
			parts[i] = text
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	case map[string]any: // a date or a float, see pairs
		for _, y := range x {
			s, ok := y.(string)
			if !ok || strings.Trim(s, "0123456789-+:.TZtz infa") != "" {
				return "", fmt.Errorf("write toml value %s: it is no date, time or float", v)
			}
			return s, nil
		}
	}
	return "", fmt.Errorf("write toml value %s: toml has no null; leave the key out", v)
}

func tomlNumber(s string) (string, error) {
	if !strings.ContainsAny(s, ".eE") {
		if _, err := strconv.ParseInt(s, 10, 64); err != nil {
			return "", fmt.Errorf("write toml value %s: integers have 64 bits", s)
		}
		return s, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		return "", fmt.Errorf("write toml value %s: it is too large for a float", s)
	}
	if !Equal(Value(s), Value(strconv.FormatFloat(f, 'g', -1, 64))) {
		return "", fmt.Errorf("write toml value %s: a float of 64 bits cannot hold all its digits", s)
	}
	return s, nil
}

// tomlKey writes a name bare where it can be.
func tomlKey(name string) string {
	bare := name != ""
	for i := 0; i < len(name) && bare; i++ {
		c := name[i]
		bare = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
	}
	if bare {
		return name
	}
	return tomlString(name)
}

func tomlKeys(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = tomlKey(p)
	}
	return strings.Join(parts, ".")
}

func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// tomlTable writes an object as a table of its own. What it holds stands in
// it, small objects in one line; larger ones follow as tables of theirs.
func tomlTable(path []string, ps []pair, nl string) (string, error) {
	var b strings.Builder
	b.WriteString("[" + tomlKeys(path) + "]")
	var later []pair
	for _, p := range ps {
		if sub, ok := pairs(p.value); ok && !small(sub) {
			later = append(later, p)
			continue
		}
		text, err := tomlValueText(p.value)
		if err != nil {
			return "", err
		}
		b.WriteString(nl + tomlKey(p.name) + " = " + text)
	}
	for _, p := range later {
		sub, _ := pairs(p.value)
		text, err := tomlTable(append(path[:len(path):len(path)], p.name), sub, nl)
		if err != nil {
			return "", err
		}
		b.WriteString(nl + nl + text)
	}
	return b.String(), nil
}

// small reports whether an object reads well in one line.
func small(ps []pair) bool {
	size := 0
	for _, p := range ps {
		if p.value[0] == '{' {
			return false
		}
		size += len(p.name) + len(p.value) + 5
	}
	return size <= 80
}
