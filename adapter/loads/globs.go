package loads

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"aisync.dev/aisync/internal/frontmatter"
	"aisync.dev/aisync/schema/spec"
)

// patterns are those of a field of front matter in a dialect; there is false
// where the field is not.
func patterns(g spec.Globs, fields frontmatter.Fields, field string) (list []string, there bool) {
	switch v := fields[field].(type) {
	case nil:
		return nil, false
	case string:
		if g.Commas {
			return fields.List(field), true
		}
		if v = strings.TrimSpace(v); v == "" {
			return nil, true
		}
		return []string{v}, true
	}
	return fields.List(field), true
}

// matches reports whether rel, a path below the folder that patterns start from,
// is one that they name.
func matches(g spec.Globs, patterns []string, rel string) bool {
	yes := false
	for _, p := range patterns {
		switch {
		case g.Syntax != "gitignore":
			yes = yes || matchPath(g, p, rel)
		case strings.HasPrefix(p, "!"):
			yes = yes && !matchIgnore(p[1:], rel)
		default:
			yes = yes || matchIgnore(p, rel)
		}
	}
	return yes
}

// matchPath matches the whole path.
func matchPath(g spec.Globs, pattern, rel string) bool {
	if g.Dot {
		pattern = strings.TrimPrefix(pattern, "./")
	}
	if g.AnyName && !strings.Contains(pattern, "/") {
		rel = path.Base(rel)
	}
	ok, err := doublestar.Match(pattern, rel)
	return ok && err == nil
}

// matchIgnore matches as git does with a line of .gitignore: a pattern without a
// slash in the middle names files in every folder, and what names a folder names
// all that lies in it. Braces are alternatives, which git does not know, but the
// programs do. https://git-scm.com/docs/gitignore
func matchIgnore(pattern, rel string) bool {
	pattern = strings.TrimRight(pattern, " ")
	body := strings.TrimSuffix(pattern, "/")
	if body == "" || body == "." {
		return false
	}
	if rooted := strings.TrimPrefix(body, "/"); strings.Contains(body, "/") {
		body = rooted
	} else {
		body = "**/" + body
	}
	if !strings.HasSuffix(pattern, "/") {
		if ok, err := doublestar.Match(body, rel); ok && err == nil {
			return true
		}
	}
	ok, err := doublestar.Match(body+"/**/*", rel)
	return ok && err == nil
}
