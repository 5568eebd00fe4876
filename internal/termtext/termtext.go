// Package termtext makes foreign text safe for a terminal: harmless, on one
// line, short enough. It imports nothing of ours. Call Safe for all shown text
// that aisync did not write.
package termtext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Safe makes foreign text harmless on a terminal: it shows control characters,
// invalid UTF-8 and characters that reorder a line by their codes. Tabs stay.
func Safe(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case Hidden(r) && r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case Hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}

func clean(s string) bool {
	if printable(s) {
		return true
	}
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if Hidden(r) {
			return false
		}
	}
	return true
}

// printable reports whether s has only visible ASCII characters and spaces, as most
// text has: a list of many thousand lines is quicker by it.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Mask is Safe for columns: it replaces each character that Safe would change,
// and tabs, by one by, so that the width stays.
func Mask(s string, by rune) string {
	if printable(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == '\t' || Hidden(r) {
			return by
		}
		return r
	}, s)
}

// SafeLines is Safe for text that may have several lines.
func SafeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = Safe(l)
	}
	return strings.Join(lines, "\n")
}

// OneLine joins the words of s with single spaces.
func OneLine(s string) string {
	for i, last := 0, byte(' '); ; i++ {
		if i == len(s) {
			if last == ' ' {
				break
			}
			return s
		}
		if s[i] < ' ' || s[i] > '~' || s[i] == ' ' && last == ' ' {
			break
		}
		last = s[i]
	}
	return strings.Join(strings.Fields(s), " ")
}

// Clip shortens s to at most n characters, the last of which is then "…".
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	if printable(s[:n]) {
		return s[:n-1] + "…"
	}
	chars, cut := 0, 0 // cut is where character n begins
	for i := range s {
		if chars++; chars == n {
			cut = i
		}
		if chars > n {
			if s = s[:cut]; !utf8.ValidString(s) {
				s = string([]rune(s))
			}
			return s + "…"
		}
	}
	return s
}

// Hidden reports whether r affects a terminal, or the order of a line, instead
// of being visible.
func Hidden(r rune) bool {
	switch {
	case r == '\t':
		return false
	case unicode.IsControl(r):
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x061c, r == 0x2028, r == 0x2029:
		return true
	case r == 0x00ad, r == 0x115f, r == 0x1160, r == 0x180e, r == 0x200b, r >= 0x2060 && r <= 0x2064, r == 0x3164, r == 0xfeff, r == 0xffa0, r >= 0xe0000 && r <= 0xe007f:
		return true // zero width: two texts would look alike
	}
	return false
}
