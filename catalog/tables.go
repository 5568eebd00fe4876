package catalog

import (
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// obeyed parses the generator's text.
func obeyed(text string) (out []spec.Obeyed) {
	for record := range strings.SplitSeq(text, "\x1e") {
		g := strings.Split(record, "\x1d")
		format, local, _ := strings.Cut(g[1], "\t")
		o := spec.Obeyed{
			Files: lines(g[0]), Format: format, Local: local != "", Reads: lines(g[2]), Safe: lines(g[3]), Paths: lines(g[5]), Restricts: lines(g[6]), Source: g[9], Prompts: lines(g[10]),
		}
		for _, f := range rows(g[4]) {
			o.SafeValues = append(o.SafeValues, spec.SafeValues{Key: f[0], Values: more(f, 1)})
		}
		for _, f := range rows(g[7]) {
			o.Ignored = append(o.Ignored, spec.Ignored{Key: f[0], Why: f[1], Values: more(f, 2)})
		}
		for _, f := range rows(g[8]) {
			o.Effects = append(o.Effects, spec.EffectRule{Key: f[0], Has: f[1], Class: f[2], Says: f[3], Values: more(f, 4)})
		}
		out = append(out, o)
	}
	return out
}

func lines(group string) []string {
	if group == "" {
		return nil
	}
	return strings.Split(group, "\n")
}

// rows returns the lines of a group, split into fields.
func rows(group string) (out [][]string) {
	for _, line := range lines(group) {
		out = append(out, strings.Split(line, "\t"))
	}
	return out
}

// more returns the fields after the first n.
func more(fields []string, n int) []string {
	if len(fields) == n {
		return nil
	}
	return fields[n:]
}
