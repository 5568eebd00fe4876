package ensemble

import (
	"strings"
	"testing"
	"time"
)

func TestTopEndsOnKeys(t *testing.T) {
	dir := t.TempDir()
	var out strings.Builder
	run := func(args []string, keys string) int {
		p := Program{Args: args, Out: &out, Err: &out, Getenv: func(string) string { return "" }, Dir: dir, Width: 80, Height: 24}
		p.Keys = func() (<-chan byte, func()) {
			typed := make(chan byte, len(keys))
			for _, k := range []byte(keys) {
				typed <- k
			}
			return typed, func() { out.WriteString("restored") }
		}
		return Run(p)
	}
	if code := run([]string{"init", "--agent", "pi"}, ""); code != 0 {
		t.Fatalf("init: %d\n%s", code, out.String())
	}
	for _, keys := range []string{"q", "xQ", "\x03"} {
		out.Reset()
		ended := make(chan int, 1)
		go func() { ended <- run([]string{"top", "--interval", "60s"}, keys) }()
		select {
		case code := <-ended:
			if code != 0 || !strings.Contains(out.String(), "restored") {
				t.Errorf("%q: exit code %d\n%q", keys, code, out.String())
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%q does not end top", keys)
		}
	}
}
