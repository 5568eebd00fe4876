// Package versions compares versions as their makers mean them, and ranges of them.
// It reads nothing. Call Compare, or ParseRange.
package versions

import (
	"errors"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Range is what versions must be: words such as ">=1.18" and "<2", all of which
// hold. A Range of no words holds for every version.
type Range []string

// comparisons begin the words of a range, the longer ones first.
var comparisons = []string{">=", "<=", ">", "<", "="}

// ParseRange reads a range such as ">=1.18 <2".
func ParseRange(text string) (Range, error) {
	words := strings.Fields(text)
	for _, w := range words {
		_, v := cut(w)
		if v == "" || v == w || !isDigit(Plain(v)[0]) {
			return nil, errors.New(`want a range of versions such as ">=1.18 <2"`)
		}
	}
	return words, nil
}

// cut returns the comparison of a word, and its version.
func cut(word string) (comparison, version string) {
	i := slices.IndexFunc(comparisons, func(c string) bool { return strings.HasPrefix(word, c) })
	if i < 0 {
		return "", word
	}
	return comparisons[i], word[len(comparisons[i]):]
}

// Has reports whether v is in r. A version before the release of a bound, such as
// 2.0.0-beta.1, belongs to what it leads to: it is not less than 2.
func (r Range) Has(v string) bool {
	for _, word := range r {
		comparison, bound := cut(word)
		n := Compare(v, bound)
		if n < 0 && Compare(release(v), bound) == 0 {
			n = 0
		}
		ok := map[string]bool{">=": n >= 0, "<=": n <= 0, ">": n > 0, "<": n < 0, "=": n == 0}[comparison]
		if !ok {
			return false
		}
	}
	return true
}

// release is v without what stands before a release.
func release(v string) string {
	v, _, _ = strings.Cut(v, "-")
	return v
}

// Plain is version without the leading v of Go's versions.
func Plain(version string) string {
	if len(version) > 1 && version[0] == 'v' && isDigit(version[1]) {
		return version[1:]
	}
	return version
}

// Compare compares by the rules of semver where both follow them, else
// number by number and word by word, as package managers do.
func Compare(a, b string) int {
	x, errX := semver.NewVersion(a)
	y, errY := semver.NewVersion(b)
	if errX == nil && errY == nil {
		return x.Compare(y)
	}
	p, q := runs(Plain(a)), runs(Plain(b))
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
