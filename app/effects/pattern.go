package effects

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/schema/spec"
)

// matchAll reports whether one of patterns matches all of names.
func matchAll(patterns []string, names []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		n, _, ok := merge.MatchPrefix(pattern, names)
		return ok && n == len(names)
	})
}

// above reports whether one of patterns is about something below names.
func above(patterns []string, names []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return merge.MatchAbove(pattern, names)
	})
}

// safe reports whether s, of a file of o in dir, is a setting without effect.
func (t *tree) safe(o spec.Obeyed, dir string, s setting) bool {
	for _, o := range o.SafeValues {
		if matchAll([]string{o.Key}, s.path) && slices.Contains(o.Values, plainText(s.value)) && !looksOther(s.value) {
			return true
		}
	}
	switch v := s.value.(type) {
	case map[string]any, []any: // empty
		return matchAll(o.Safe, s.path) || above(o.Safe, s.path) || above(o.Paths, s.path) || slices.ContainsFunc(o.Effects, func(r spec.EffectRule) bool {
			return matchAll([]string{r.Key}, append(slices.Clip(s.path), "x")) && !matchAll([]string{r.Key}, s.path) && strings.HasSuffix(r.Key, "/*")
		}) // without members a rule about each member says nothing
	case string:
		return matchAll(o.Prompts, s.path) || matchAll(o.Safe, s.path) && (plain(v) || o.Format == "frontmatter") || matchAll(o.Paths, s.path) && t.inside(dir, v)
	}
	return matchAll(o.Safe, s.path)
}

// plainText is a scalar as the catalog spells values.
func plainText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return setting{value: v}.canonical()
}

// looksOther reports whether v is a string that spells another type: programs
// read "false" differently, and in most it is true.
func looksOther(v any) bool {
	s, ok := v.(string)
	return ok && json.Valid([]byte(s))
}

// plain reports whether programs take s literally: it names no variable, no
// file to include, no command to run.
func plain(s string) bool {
	return !strings.HasPrefix(s, "!") && !strings.ContainsAny(s, "$`") && !strings.Contains(s, "{env:") && !strings.Contains(s, "{file:")
}

// inside reports whether s is a path, or pattern of paths, of the project,
// relative to its root or to dir.
func (t *tree) inside(dir, s string) bool {
	if s == "" || !plain(s) || strings.ContainsAny(s, ":\\~{[") || path.IsAbs(s) { // braces and brackets may spell a ".."
		return false
	}
	if slices.Contains(strings.Split(s, "/"), "..") {
		return false
	}
	fixed, _, pattern := strings.Cut(s, "*")
	if pattern {
		fixed = path.Dir(fixed + "x")
	}
	return t.contains(fixed) && t.contains(path.Join(dir, fixed))
}
