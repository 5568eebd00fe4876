package toml

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"aisync.dev/aisync/internal/merge/leaf"
)

// valueText writes a value in one line.
func valueText(v leaf.Value) (string, error) {
	if ps, ok := leaf.Pairs(v); ok {
		if len(ps) == 0 {
			return "{}", nil
		}
		parts := make([]string, len(ps))
		for i, p := range ps {
			text, err := valueText(p.Value)
			if err != nil {
				return "", err
			}
			parts[i] = bareKey(p.Name) + " = " + text
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
		return quoted(x), nil
	case bool:
		return strconv.FormatBool(x), nil
	case json.Number:
		return number(string(x))
	case []any:
		var elems []json.RawMessage
		if err := json.Unmarshal(v, &elems); err != nil {
			return "", fmt.Errorf("write toml value %s: %w", v, err)
		}
		parts := make([]string, len(elems))
		for i, e := range elems {
			text, err := valueText(leaf.Value(e))
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
				return "", fmt.Errorf("write toml value %s: not a date, time or float", v)
			}
			return s, nil
		}
	}
	return "", fmt.Errorf("write toml value %s: toml has no null; leave the key out", v)
}

func number(s string) (string, error) {
	if !strings.ContainsAny(s, ".eE") {
		if _, err := strconv.ParseInt(s, 10, 64); err != nil {
			return "", fmt.Errorf("write toml value %s: integers have 64 bits", s)
		}
		return s, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		return "", fmt.Errorf("write toml value %s: too large for a float", s)
	}
	if !leaf.Equal(leaf.Value(s), leaf.Value(strconv.FormatFloat(f, 'g', -1, 64))) {
		return "", fmt.Errorf("write toml value %s: a float of 64 bits cannot hold all its digits", s)
	}
	return s, nil
}

// bareKey writes a name bare where it can be.
func bareKey(name string) string {
	bare := name != ""
	for i := 0; i < len(name) && bare; i++ {
		c := name[i]
		bare = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
	}
	if bare {
		return name
	}
	return quoted(name)
}

func keys(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = bareKey(p)
	}
	return strings.Join(parts, ".")
}

func quoted(s string) string {
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

// tableText writes an object as a table with a header. What it holds stands in
// it, small objects in one line; larger ones follow as tables of theirs.
func tableText(path []string, ps []leaf.Pair, nl string) (string, error) {
	var b strings.Builder
	b.WriteString("[" + keys(path) + "]")
	var later []leaf.Pair
	for _, p := range ps {
		if sub, ok := leaf.Pairs(p.Value); ok && !small(sub) {
			later = append(later, p)
			continue
		}
		text, err := valueText(p.Value)
		if err != nil {
			return "", err
		}
		b.WriteString(nl + bareKey(p.Name) + " = " + text)
	}
	for _, p := range later {
		sub, _ := leaf.Pairs(p.Value)
		text, err := tableText(append(path[:len(path):len(path)], p.Name), sub, nl)
		if err != nil {
			return "", err
		}
		b.WriteString(nl + nl + text)
	}
	return b.String(), nil
}

// small reports whether an object reads well in one line.
func small(ps []leaf.Pair) bool {
	size := 0
	for _, p := range ps {
		if p.Value[0] == '{' {
			return false
		}
		size += len(p.Name) + len(p.Value) + 5
	}
	return size <= 80
}
