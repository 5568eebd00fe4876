package advice

import "strings"

// Split takes a joined error apart, as deep as it is joined.
func Split(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, Split(e)...)
	}
	if !strings.Contains(err.Error(), "\n") && len(out) != 1 {
		return []error{err} // fmt.Errorf with several %w: one sentence
	}
	return out
}
