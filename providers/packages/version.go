package packages

import (
	"errors"
	"strings"

	"github.com/Masterminds/semver/v3"
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

// allows reports whether c allows version.
func (c constraint) allows(version string) bool {
	switch {
	case c == anyVersion:
		return true
	case c.atLeast() != "":
		return compareVersions(version, c.atLeast()) >= 0
	}
	return c != "" && plain(version) == plain(c.exact())
}

// implies reports whether d allows everything that c allows.
func (c constraint) implies(d constraint) bool {
	switch {
	case c == d || d == anyVersion:
		return c != ""
	case c.exact() != "":
		return d.allows(c.exact())
	case c.atLeast() != "" && d.atLeast() != "":
		return compareVersions(c.atLeast(), d.atLeast()) >= 0
	}
	return false
}

// plain is version without the leading v of Go's versions.
func plain(version string) string {
	if len(version) > 1 && version[0] == 'v' && isDigit(version[1]) {
		return version[1:]
	}
	return version
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

// compareVersions compares by the rules of semver where both follow them, else
// number by number and word by word, as package managers do.
func compareVersions(a, b string) int {
	x, errX := semver.NewVersion(a)
	y, errY := semver.NewVersion(b)
	if errX == nil && errY == nil {
		return x.Compare(y)
	}
	p, q := runs(plain(a)), runs(plain(b))
	for i := 0; i < len(p) && i < len(q); i++ {
		if c := compareRuns(p[i], q[i]); c != 0 {
			return c
		}
	}
	return len(p) - len(q)
}

// compareRuns compares numbers as numbers; a number is newer than a word.
func compareRuns(a, b string) int {
	switch na, nb := isDigit(a[0]), isDigit(b[0]); {
	case na && nb:
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		if len(a) != len(b) {
			return len(a) - len(b)
		}
	case na:
		return 1
	case nb:
		return -1
	}
	return strings.Compare(a, b)
}

// runs are the numbers and words in v.
func runs(v string) []string {
	var out []string
	for i := 0; i < len(v); {
		j := i
		for j < len(v) && isWord(v[j]) && isDigit(v[j]) == isDigit(v[i]) {
			j++
		}
		if j > i {
			out = append(out, v[i:j])
			i = j
		} else {
			i++
		}
	}
	return out
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isWord(c byte) bool  { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' }
