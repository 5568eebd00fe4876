package proof

import (
	"testing"
	"time"
)

func TestLineFormat(t *testing.T) {
	got, err := Line(1, "TestEveryFault", 1234*time.Millisecond, "faults", 12, "kills", 3)
	if want := "proof: 1/TestEveryFault faults=12 kills=3 seconds=1.2"; got != want || err != nil {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	for _, counts := range [][]any{{"two words", 1}, {"faults", 0}, {1, 1}, {"", 1}, {"faults", "many"}} {
		if line, err := Line(1, "T", time.Second, counts...); err == nil {
			t.Errorf("%v: %q", counts, line)
		}
	}
}
