package projects

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// Filter returns the projects of list that patterns choose. A pattern is a glob. With
// a slash it means a path below the root, or an absolute one; without, a name. It
// chooses the projects in and below each folder that it means. One that begins with
// "!" leaves these out. Where all patterns do, the rest is chosen. A pattern that is
// no glob is a *PatternError.
func Filter(list []Project, patterns []string) ([]Project, error) {
	var with, without []string
	for _, p := range patterns {
		rest, not := strings.CutPrefix(p, "!")
		if _, err := path.Match(rest, ""); err != nil || rest == "" {
			return nil, &PatternError{p}
		}
		if not {
			without = append(without, rest)
		} else {
			with = append(with, rest)
		}
	}
	var out []Project
	for _, p := range list {
		if (len(with) == 0 || p.isOneOf(with)) && !p.isOneOf(without) {
			out = append(out, p)
		}
	}
	return out, nil
}

// PatternError is a pattern that is no glob.
type PatternError struct{ Pattern string }

func (e *PatternError) Error() string { return fmt.Sprintf("%q is no glob", e.Pattern) }

func (p Project) isOneOf(patterns []string) bool {
	for _, pattern := range patterns {
		pattern = strings.TrimSuffix(pattern, "/")
		switch {
		case strings.HasPrefix(pattern, "/"):
			if matchAny(p.Dir, func(at string) bool { return match(pattern, at) }) {
				return true
			}
		case p.below == "": // the root itself has a name, and no path below
			if match(pattern, filepath.Base(p.Dir)) {
				return true
			}
		case strings.Contains(pattern, "/"):
			if matchAny(p.below, func(at string) bool { return match(pattern, at) }) {
				return true
			}
		default:
			if matchAny(p.below, func(at string) bool { return match(pattern, path.Base(at)) }) {
				return true
			}
		}
	}
	return false
}

// matchAny reports whether a path, or a folder above it, is one that ok accepts.
func matchAny(at string, ok func(string) bool) bool {
	for at = filepath.ToSlash(at); at != "." && at != "/"; at = path.Dir(at) {
		if ok(at) {
			return true
		}
	}
	return false
}

func match(pattern, name string) bool {
	ok, _ := path.Match(pattern, name) // the pattern was tried
	return ok
}
