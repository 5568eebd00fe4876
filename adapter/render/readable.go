package render

import "strings"

// Readable converts a pattern of .gitignore to the paths of a permission; false
// for a negated one.
func Readable(pattern string) (string, bool) {
	rest := strings.TrimPrefix(pattern, "/")
	if strings.HasPrefix(pattern, "!") || rest == "" {
		return "", false
	}
	if dir, ok := strings.CutSuffix(rest, "/"); ok {
		rest = dir + "/**"
	}
	if !strings.HasPrefix(pattern, "/") && !strings.Contains(strings.TrimSuffix(rest, "/**"), "/") {
		return "**/" + rest, true
	}
	return "./" + rest, true
}
