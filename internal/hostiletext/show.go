package hostiletext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"aisync.dev/aisync/internal/termtext"
)

// maxExcerpt bounds an excerpt, in characters.
const maxExcerpt = 160

// show returns b as it can be shown anywhere: one line, and every character that
// is not visible by its code.
func show(b []byte) string { return escaped(b, invisible) }

// showASCII is show, with every character outside ASCII by its code.
func showASCII(b []byte) string { return escaped(b, func(r rune) bool { return r >= utf8.RuneSelf }) }

func escaped(b []byte, hide func(rune) bool) string {
	var out strings.Builder
	space, n := false, 0
	for len(b) > 0 && n <= maxExcerpt {
		r, size := utf8.DecodeRune(b)
		switch {
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			space = true
			b = b[size:]
			continue
		case space && out.Len() > 0:
			out.WriteByte(' ')
			n++
		}
		space = false
		n++
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&out, `\x%02x`, b[0])
		} else if hide(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
			n += 4
		} else {
			out.WriteRune(r)
		}
		b = b[size:]
	}
	return termtext.Clip(termtext.Safe(out.String()), maxExcerpt)
}

// invisible reports whether r leaves no mark where it is shown.
func invisible(r rune) bool {
	switch {
	case r < ' ' || r == 0x7f:
		return r != '\t'
	case r < 0x80:
		return false
	case termtext.Hidden(r), variation(r):
		return true
	case r == 0x034f, r >= 0x17b4 && r <= 0x17b5, r >= 0x180b && r <= 0x180f, r >= 0x200b && r <= 0x200f, r >= 0x2060 && r <= 0x206f, r == 0x2800:
		return true
	case r >= 0xfff0 && r <= 0xfffb, r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a, r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return unicode.Is(unicode.Cf, r) && !visibleFormat(r)
}

// visibleFormat reports whether r is a format character with a glyph: signs of
// Arabic, Syriac and Kaithi.
func visibleFormat(r rune) bool {
	return r >= 0x0600 && r <= 0x0605 || r == 0x06dd || r == 0x070f || r >= 0x0890 && r <= 0x0891 || r == 0x08e2 || r == 0x110bd || r == 0x110cd
}

// variation reports whether r is a variation selector.
func variation(r rune) bool { return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef }
