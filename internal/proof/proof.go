// Package proof prints what a proof of a guarantee tried, as one line that the
// table of docs/guarantees.md is made from. It proves nothing itself. Start
// reading at Line.
package proof

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// Start begins to measure the proof of a guarantee (1 to 10 of the list in
// docs/guarantees.md, above that what is beside it). What it returns is called
// once, at the end, with pairs of what was counted (one word) and how many; a
// test that failed prints nothing, for it proved nothing.
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

// Line is
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
			return "", fmt.Errorf("proof: %v is no word for what was counted", counts[i])
		}
		n, ok := counts[i+1].(int)
		if !ok || n <= 0 {
			return "", fmt.Errorf("proof: %s=%v: a proof that tried nothing proves nothing", what, counts[i+1])
		}
		fmt.Fprintf(&b, " %s=%d", what, n)
	}
	fmt.Fprintf(&b, " seconds=%.1f", took.Seconds())
	return b.String(), nil
}
