package merge

import (
	"strings"
	"testing"
)

func TestMerge3(t *testing.T) {
	base := "a\nb\nc\nd\ne\n"
	for _, tt := range []struct {
		mine, theirs, want string
		ok                 bool
	}{
		{"A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n", "A\nb\nc\nd\nE\n", true},
		{"A\nb\nc\nd\ne\n", "B\nb\nc\nd\ne\n", "", false},
		{"A\nb\nc\nd\ne\n", "a\nB\nc\nd\ne\n", "", false}, // touching
		{"A\nb\nc\nd\ne\n", base, "A\nb\nc\nd\ne\n", true},
		{"a\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\ne\ng\n", "", false}, // both append
		{"a\nc\nd\ne\n", "a\nc\nd\ne\nf\n", "a\nc\nd\ne\nf\n", true},
		{"x\x00", "a\n", "", false},
	} {
		got, ok := Merge3([]byte(base), []byte(tt.mine), []byte(tt.theirs))
		if ok != tt.ok || string(got) != tt.want {
			t.Errorf("%q %q: got %q %v", tt.mine, tt.theirs, got, ok)
		}
	}
}

func TestMergeMarksConflicts(t *testing.T) {
	base := "a\nb\nc\nd\ne\n"
	for _, tt := range []struct{ mine, theirs, want string }{
		{"A\nb\nc\nd\nE\n", "B\nb\nc\nD\ne\n",
			"<<<<<<< yours\nA\n||||||| before\na\n=======\nB\n>>>>>>> the bundle\nb\nc\n<<<<<<< yours\nd\nE\n||||||| before\nd\ne\n=======\nD\ne\n>>>>>>> the bundle\n"},
		{"a\nb\nc\nd\ne\nf", "a\nb\nc\nd\ne\ng\n",
			base + "<<<<<<< yours\nf\n||||||| before\n=======\ng\n>>>>>>> the bundle\n"},
		{"a\ne\n", "a\nb\nC\nd\nE\n", "a\n<<<<<<< yours\ne\n||||||| before\nb\nc\nd\ne\n=======\nb\nC\nd\nE\n>>>>>>> the bundle\n"},
		{"A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n", "A\nb\nc\nd\nE\n"},
	} {
		got := string(Merge3Marked([]byte(base), []byte(tt.mine), []byte(tt.theirs)))
		if got != tt.want {
			t.Errorf("%q %q: got\n%s", tt.mine, tt.theirs, got)
		}
		if HasMarkers([]byte(got)) != strings.Contains(tt.want, "<<<") {
			t.Errorf("markers of %q not seen", got)
		}
	}
	if Merge3Marked([]byte(base), []byte("x\x00"), []byte("y")) != nil {
		t.Error("a binary was merged")
	}
}

func TestDiffsNameLines(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"a\nb\n", "a\nb\n", 0}, {"a\nb\n", "a\nc\n", 2}, {"a\nb\n", "a\n", 1}, {"a\nb\nc\n", "a\nc\n", 2}, {"", "x", 1}, {"x", "", 1}, {"a", "a\n", 1},
	} {
		if got := DiffLines([]byte(tt.a), []byte(tt.b)); got != tt.want {
			t.Errorf("%q %q: got %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
	if got, want := Unified("old", "new", []byte("a\nb\n"), []byte("a\nc\n")), "--- old\n+++ new\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"; got != want {
		t.Errorf("got %q", got)
	}
	if got := Unified("old", "new", []byte("a"), []byte("\x00")); got != "Binary files old and new differ\n" {
		t.Errorf("got %q", got)
	}
}
