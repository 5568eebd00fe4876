package cli

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestABarSaysHowFarHowFastAndHowLongInOneLine(t *testing.T) {
	for width, bar := range map[int]int{60: 5, 80: 8, 120: 30, 300: 30} {
		f := NewFileBar("qwen3-coder-30b-a-long-name, file 2", 48_400_000_000, width)
		f.Set(100_000_000)
		time.Sleep(20 * time.Millisecond)
		f.Set(1_200_000_000)
		line := f.Line(NameWidth, width-1)
		if n := utf8.RuneCountInString(line); n > width-1 || strings.Contains(line, "\n") {
			t.Errorf("%d columns for %d: %q", n, width, line)
		}
		for _, part := range []string{"qwen3-coder-30b-a-long-na…   2% |", "/48 GB, "} {
			if !strings.Contains(line, part) {
				t.Errorf("%d columns: %q does not say %q", width, line, part)
			}
		}
		if from, to, _ := strings.Cut(line, "|"); width >= 80 && (!strings.HasSuffix(line, " left") || utf8.RuneCountInString(to[:strings.Index(to, "|")]) != bar) {
			t.Errorf("%d columns: %q%q, want a bar of %d and the time that is left", width, from, to, bar)
		}
	}
}
