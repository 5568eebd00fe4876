package spec

import (
	"fmt"
	"strings"
)

// OwnSource is the source that aisync provides.
const OwnSource = "aisync"

// ParseBundleRef parses source//name or a bare name.
func ParseBundleRef(s string) (BundleRef, error) {
	source, name, both := strings.Cut(s, "//")
	if !both {
		source, name = "", s
	}
	if both && !wellFormed(source) || !wellFormed(name) && !(both && name == ".") {
		return BundleRef{}, fmt.Errorf("bad bundle %q", s)
	}
	return BundleRef{Source: source, Name: name}, nil
}

// wellFormed reports whether a name has letters, digits, dots, hyphens and
// underscores, and begins with a letter or a digit. The package that every quick
// command imports has no regular expressions.
func wellFormed(name string) bool {
	for i, r := range name {
		alnum := r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !alnum && (i == 0 || !strings.ContainsRune("_.-", r)) {
			return false
		}
	}
	return name != ""
}
