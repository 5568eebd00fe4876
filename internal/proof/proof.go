// Package proof prints what a test of a guarantee tried, as one line for the
// table of docs/guarantees.md. It proves nothing itself. Call Start.
package proof

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// Start starts measuring the proof of a guarantee (1 to 10 of the list in
// docs/guarantees.md, higher numbers beside it). Call its result once, at the
// end, with pairs of a word and a count; it prints nothing for a failed test.
func Start(t testing.TB, guarantee int) func(counts ...any) {
	began := time.Now()
	return func(counts ...any) {
		t.Helper()
		if t.Failed() {
			return
		}
		line, err := Line(guarantee, t.Name(), time.Since(began), counts...)
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(os.Stdout, "\n"+line+"\n")
	}
}

// Line returns
//
//	proof: GUARANTEE/TEST WHAT=N … seconds=S
//
// with the seconds last, to one decimal.
func Line(guarantee int, test string, took time.Duration, counts ...any) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "proof: %d/%s", guarantee, test)
	for i := 0; i+1 < len(counts); i += 2 {
		what, ok := counts[i].(string)
		if !ok || strings.ContainsAny(what, " =\n") || what == "" {
			return "", fmt.Errorf("proof: %v is not a word", counts[i])
		}
		n, ok := counts[i+1].(int)
		if !ok || n <= 0 {
			return "", fmt.Errorf("proof: %s=%v: want a positive count", what, counts[i+1])
		}
		fmt.Fprintf(&b, " %s=%d", what, n)
	}
	fmt.Fprintf(&b, " seconds=%.1f", took.Seconds())
	return b.String(), nil
}
