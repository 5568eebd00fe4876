package packages

import (
	"errors"
	"strings"

	"aisync.dev/aisync/internal/versions"
)

// constraint tells the allowed versions: "any", ">=1.2" or "=1.2.3". Records
// keep it in this form. "" allows none.
type constraint string

const anyVersion constraint = "any"

func exactly(version string) constraint { return constraint("=" + version) }

// parseConstraint reads the version of a spec, which is not empty.
func parseConstraint(text string) (constraint, error) {
	text = strings.TrimSpace(text)
	rest, atLeast := strings.CutPrefix(text, ">=")
	if atLeast {
		text = strings.TrimSpace(rest)
	}
	switch {
	case !versionForm.MatchString(text):
		return "", errors.New(`want a version such as "1.2.3", at least one such as ">=1.2", or "any"`)
	case text == "any" && !atLeast:
		return anyVersion, nil
	case atLeast:
		return constraint(">=" + text), nil
	}
	return exactly(text), nil
}

// String is c for people.
func (c constraint) String() string {
	if c == anyVersion {
		return "any version"
	}
	if v, ok := strings.CutPrefix(string(c), ">="); ok {
		return v + " or newer"
	}
	return strings.TrimPrefix(string(c), "=")
}

// exact returns the only version that c allows, or "".
func (c constraint) exact() string {
	v, ok := strings.CutPrefix(string(c), "=")
	if !ok {
		return ""
	}
	return v
}

// atLeast returns the oldest version that c allows, or "".
func (c constraint) atLeast() string {
	v, ok := strings.CutPrefix(string(c), ">=")
	if !ok {
		return ""
	}
	return v
}

// allows reports whether c allows the version v.
func (c constraint) allows(v string) bool {
	switch {
	case c == anyVersion:
		return true
	case c.atLeast() != "":
		return versions.Compare(v, c.atLeast()) >= 0
	}
	return c != "" && versions.Plain(v) == versions.Plain(c.exact())
}

// implies reports whether d allows everything that c allows.
func (c constraint) implies(d constraint) bool {
	switch {
	case c == d || d == anyVersion:
		return c != ""
	case c.exact() != "":
		return d.allows(c.exact())
	case c.atLeast() != "" && d.atLeast() != "":
		return versions.Compare(c.atLeast(), d.atLeast()) >= 0
	}
	return false
}

// upstream is the version of a distribution's package without epoch and revision.
func upstream(version string) string {
	if _, rest, ok := strings.Cut(version, ":"); ok {
		version = rest
	}
	if i := strings.LastIndexByte(version, '-'); i > 0 {
		version = version[:i]
	}
	return version
}
