package termtext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSafe(t *testing.T) {
	for _, c := range []struct{ text, safe, masked string }{
		{"plain – ünï, 日本", "plain – ünï, 日本", "plain – ünï, 日本"},
		{"a\tb", "a\tb", "a·b"},
		{"a\nb\r", `a\x0ab\x0d`, "a·b·"},
		{"\x1b[2Jx\x07\x7f", `\x1b[2Jx\x07\x7f`, "·[2Jx··"},
		{"\u009b31m", `\u009b31m`, "·31m"},
		{"\u202eevil\u2066\u2069", `\u202eevil\u2066\u2069`, "·evil··"},
		{"\u200e\u200f\u061c", `\u200e\u200f\u061c`, "···"},
		{"\u2028\u2029", `\u2028\u2029`, "··"},
		{"o\u200bk\ufeff\u00ad\u2060", `o\u200bk\ufeff\u00ad\u2060`, "o·k···"},
		{"\U000e0041", `\ue0041`, "·"},
		{"\xff", `\xff`, "\ufffd"},
	} {
		if got := Safe(c.text); got != c.safe {
			t.Errorf("Safe(%q) = %q, want %q", c.text, got, c.safe)
		}
		if got := Mask(c.text, '·'); got != c.masked {
			t.Errorf("Mask(%q) = %q, want %q", c.text, got, c.masked)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got := OneLine(" a\n\t b\u2028c\u00a0d\r\n"); got != "a b c d" {
		t.Errorf("%q", got)
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 0, ""}, {"ab", 0, ""}, {"ab", -1, ""}, {"ab", 1, "…"}, {"ab", 2, "ab"}, {"abc", 2, "a…"},
		{"äöü", 3, "äöü"}, {"äöüß", 3, "äö…"},
	} {
		if got := Clip(c.text, c.n); got != c.want {
			t.Errorf("Clip(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
	if got := Clip(strings.Repeat("€", 5000), 2001); !utf8.ValidString(got) || utf8.RuneCountInString(got) != 2001 {
		t.Errorf("a character was cut: %q", got[len(got)-8:])
	}
}

func TestSafeLinesKeepsLinesApart(t *testing.T) {
	if got := SafeLines("a\x1b\nb"); got != "a\\x1b\nb" {
		t.Errorf("got %q", got)
	}
}

// FuzzPlain compares the quick ways for plain text with the general ones.
func FuzzPlain(f *testing.F) {
	for _, s := range []string{"", " ", "a b", "a  b", " a", "a ", "a\tb", "é\xff\xffé", "a\u200bb", "abcdef"} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = min(n, 1000)
		if got, want := OneLine(s), strings.Join(strings.Fields(s), " "); got != want {
			t.Errorf("OneLine(%q) = %q, want %q", s, got, want)
		}
		want := s
		if runes := []rune(s); len(s) > n && len(runes) > n {
			if want = ""; n > 0 {
				want = string(runes[:n-1]) + "…"
			}
		}
		if got := Clip(s, n); got != want {
			t.Errorf("Clip(%q, %d) = %q, want %q", s, n, got, want)
		}
		masked := strings.Map(func(r rune) rune {
			if r == '\t' || Hidden(r) {
				return '·'
			}
			return r
		}, s)
		if got := Mask(s, '·'); got != masked {
			t.Errorf("Mask(%q) = %q, want %q", s, got, masked)
		}
	})
}
