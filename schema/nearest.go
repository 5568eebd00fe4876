package schema

import (
	"slices"
	"strconv"
	"strings"
)

// didYouMean is a hint with the nearest of known, or the list of them where
// none is near and the list is short; "" if there is nothing to say.
func didYouMean(got string, known []string) string {
	if near := nearest(got, known); near != "" {
		return "did you mean " + strconv.Quote(near) + "?"
	}
	known = slices.Compact(slices.Sorted(slices.Values(known)))
	if len(known) == 0 || len(known) > 24 {
		return ""
	}
	return "known: " + strings.Join(known, ", ")
}

// nearest is the name that got was probably meant to be: the one with the
// fewest edits, if these are at most a third of it. "" if there is none.
func nearest(got string, known []string) string {
	best, fewest := "", min(max(1, (len(got)+1)/3)+1, len(got))
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := edits(got, k); d < fewest && k != got {
			best, fewest = k, d
		}
	}
	return best
}

// edits is the Levenshtein distance of a and b, in bytes, ignoring case.
func edits(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
