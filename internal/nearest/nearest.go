// Package nearest finds the known name nearest to a mistyped one, for "did you
// mean" messages. Call Name for the name, Unknown for a whole error, Suggest for
// the end of a sentence, and Hint for a sentence alone.
package nearest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/internal/termtext"
)

// Name returns the known name with the fewest edits from got, if these are at
// most a third of got and fewer than the name's length; of several, the
// alphabetically first. It returns "" if there is none, and never got.
func Name(got string, known []string) string {
	best, fewest := "", max(1, (len(got)+1)/3)+1
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := edits(got, k); k != got && d < min(fewest, len(got), len(k)) {
			best, fewest = k, d
		}
	}
	return best
}

// Unknown returns an error for a name that is not in known, with the nearest one.
func Unknown(what, name string, known []string) error {
	return fmt.Errorf("unknown %s %q%s", what, termtext.Safe(name), Suggest(name, known))
}

// Suggest returns the end of a message about an unknown name: the nearest known
// name and the list of all.
func Suggest(name string, known []string) string {
	known = slices.Clone(known)
	slices.Sort(known)
	known = slices.Compact(known)
	if len(known) == 0 {
		return "; none is known"
	}
	list := "there is " + strings.Join(known, ", ")
	if best := Name(name, known); best != "" {
		return fmt.Sprintf("; did you mean %q? %s", best, list)
	}
	return "; " + list
}

// Hint returns a hint with the nearest of known, or a short list of them;
// "" if neither applies.
func Hint(got string, known []string) string {
	if near := Name(got, known); near != "" {
		return "did you mean " + strconv.Quote(near) + "?"
	}
	known = slices.Compact(slices.Sorted(slices.Values(known)))
	if len(known) == 0 || len(known) > 32 {
		return ""
	}
	return "known: " + strings.Join(known, ", ")
}

// edits returns the number of insertions, removals, changes and swaps of
// neighbours from a to b, ignoring case: the optimal string alignment distance.
func edits(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			if a[i] == b[j] {
				row[j+1] = last[j]
				continue
			}
			row[j+1] = 1 + min(last[j], last[j+1], row[j])
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], 1+before[j-1])
			}
		}
	}
	return row[len(b)]
}
