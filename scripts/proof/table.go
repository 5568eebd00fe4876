package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// table has a row for each guarantee: what its tests tried, and how long.
func table(rows []row, all results) string {
	var b strings.Builder
	b.WriteString("| # | guarantee | tests | tried | seconds |\n|--:|---|--:|---|--:|\n")
	for _, r := range rows {
		sum := result{tried: map[string]int{}}
		for _, name := range r.names {
			one := all.of(name)
			sum.passed += min(one.passed, 1) // in several packages, or fuzzed too: still one
			sum.seconds += one.seconds
			for what, n := range one.tried {
				sum.tried[what] += n
			}
		}
		var tried []string
		for _, what := range slices.Sorted(maps.Keys(sum.tried)) {
			tried = append(tried, grouped(sum.tried[what])+" "+what)
		}
		fmt.Fprintf(&b, "| %d | %s | %d | %s | %.1f |\n", r.n, r.title, sum.passed, strings.Join(tried, ", "), sum.seconds)
	}
	return b.String()
}

// grouped writes a number in groups of three digits.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// judge prints what failed or was skipped. A row of which no test passed is not
// proved, whatever the reason.
func judge(rows []row, all results, out io.Writer) error {
	bad := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r := all[name]
		if r.failed > 0 {
			bad++
			fmt.Fprintf(out, "FAILED %s\n%s", name, strings.Join(r.output, ""))
		} else if r.skipped > 0 {
			fmt.Fprintf(out, "skipped %s\n%s", name, strings.Join(r.output, ""))
		}
	}
	for _, r := range rows {
		passed := 0
		for _, name := range r.names {
			one := all.of(name)
			passed += one.passed
			if one.passed+one.failed+one.skipped == 0 {
				bad++
				fmt.Fprintf(out, "row %d: %s did not run\n", r.n, name)
			}
		}
		if passed == 0 {
			bad++
			fmt.Fprintf(out, "row %d: no test of it passed\n", r.n)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of the proofs failed", bad)
	}
	return nil
}
