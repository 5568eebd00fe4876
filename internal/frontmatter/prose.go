package frontmatter

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// AppliesTo returns the patterns of the first line "Applies to:" below text's
// front matter, none if one of them matches every file, and the number of that
// line, 0 if there is none.
func AppliesTo(text []byte) (globs []string, line int) {
	_, body, _, _ := Split(text)
	line = bytes.Count(text[:len(text)-len(body)], []byte("\n"))
	for l := range bytes.Lines(body) {
		line++
		rest, ok := bytes.CutPrefix(l, []byte("Applies to:"))
		if !ok {
			continue
		}
		if globs = globsOf(strings.TrimSpace(string(rest))); slices.ContainsFunc(globs, EveryFile) {
			globs = nil
		}
		return globs, line
	}
	return nil, 0
}

// globsOf returns the patterns between backquotes or, without any, those
// between commas.
func globsOf(s string) []string {
	if parts := strings.Split(s, "`"); len(parts) > 2 {
		var out []string
		for i := 1; i < len(parts); i += 2 {
			if g := strings.TrimSpace(parts[i]); g != "" && !slices.Contains(out, g) {
				out = append(out, g)
			}
		}
		return out
	}
	return Fields{"": s}.List("")
}

// ScopeByProse returns text with the patterns of its line "Applies to:" as paths
// in its front matter, for a bundle that declares such lines to be scopes. Every
// other byte stays. Text without such patterns is returned as it is, and so is
// text whose front matter is broken or says by itself when the rule is loaded.
func ScopeByProse(text []byte) []byte {
	globs, _ := AppliesTo(text)
	if len(globs) == 0 {
		return text
	}
	front, _, ok, err := Split(text)
	if err != nil {
		return text
	}
	f, err := Parse(front)
	if err != nil {
		return text
	}
	for _, name := range append([]string{"alwaysApply"}, globFields...) {
		if _, there := f[name]; there {
			return text
		}
	}
	end := "\n"
	if first, _, _ := bytes.Cut(text, []byte("\n")); bytes.HasSuffix(first, []byte("\r")) {
		end = "\r\n"
	}
	lines := "paths:" + end
	for _, g := range globs {
		lines += "  - " + strconv.Quote(g) + end
	}
	at := len(text) - len(bytes.TrimPrefix(text, []byte("\uFEFF")))
	if ok {
		at = bytes.IndexByte(text, '\n') + 1 + len(front)
	} else {
		lines = "---" + end + lines + "---" + end
	}
	out := slices.Concat(text[:at], []byte(lines), text[at:])
	if r, err := ReadRule(out); err != nil || !slices.Equal(r.Globs, globs) {
		return text // the patterns are no text that YAML can hold
	}
	return out
}
