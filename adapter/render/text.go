package render

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"
)

// WithoutLine is text without the lines that are line.
func WithoutLine(text []byte, line string) []byte {
	var out []byte
	for l := range bytes.Lines(text) {
		if strings.TrimSpace(string(l)) != line {
			out = append(out, l...)
		}
	}
	return out
}

// Relative returns the path from a folder to another path of the same scope.
func Relative(from, to string) string {
	a, c := strings.Split(from, "/"), strings.Split(to, "/")
	for len(a) > 0 && len(c) > 0 && a[0] == c[0] {
		a, c = a[1:], c[1:]
	}
	return path.Join(strings.Repeat("../", len(a)), path.Join(c...))
}

// HasHooks reports whether a settings document in JSON has hooks.
func HasHooks(doc []byte) bool {
	var d struct{ Hooks map[string]json.RawMessage }
	return json.Unmarshal(doc, &d) == nil && len(d.Hooks) > 0
}
