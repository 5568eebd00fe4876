package launch

import (
	"strings"
	"testing"
)

func TestPickerNarrowsAndMoves(t *testing.T) {
	rows := []string{"archsetup  ~/code/archsetup", "org-drill  ~/code/org-drill", "org-notes  ~/projects/org-notes"}
	for _, c := range []struct {
		keys []string
		want int // -1: left
	}{
		{[]string{"\r"}, 0},
		{[]string{"org", "\r"}, 1},
		{[]string{"org", "\x1b[B", "\r"}, 2},
		{[]string{"org", "\x1b[B", "\x1b[B", "\x1b[B", "\x1b[A", "\r"}, 1},
		{[]string{"PROJ ORG\r"}, 2},
		{[]string{"zzz", "\r", "\x7f\x7f\x7f", "\r"}, 0},
		{[]string{"notes\x15", "\r"}, 0},
		{[]string{"\x1b"}, -1},
		{[]string{"x\x03"}, -1},
	} {
		p := newPicker("project", rows, 80, 24)
		got := -2
		for _, k := range c.keys {
			switch p.keys(k) {
			case taken:
				got = p.shown[p.at]
			case left:
				got = -1
			}
		}
		if got != c.want {
			t.Errorf("%q: %d, want %d", c.keys, got, c.want)
		}
	}
}

func TestPickerMasksControlCharacters(t *testing.T) {
	p := newPicker("project", []string{"\x1b[2Jevil " + strings.Repeat("long", 40)}, 40, 5)
	var b strings.Builder
	p.draw(&b)
	if got := b.String(); strings.Contains(got, "\x1b[2J") || !strings.Contains(got, "?[2Jevil") || !strings.Contains(got, "…") {
		t.Errorf("drew %q", got)
	}
}
