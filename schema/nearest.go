package schema

import (
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/internal/nearest"
)

// didYouMean returns a hint with the nearest of known, or a short list of them;
// "" if neither applies.
func didYouMean(got string, known []string) string {
	if near := nearest.Name(got, known); near != "" {
		return "did you mean " + strconv.Quote(near) + "?"
	}
	known = slices.Compact(slices.Sorted(slices.Values(known)))
	if len(known) == 0 || len(known) > 24 {
		return ""
	}
	return "known: " + strings.Join(known, ", ")
}
