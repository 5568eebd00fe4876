package jsontext

import (
	"encoding/json"
	"unicode/utf8"
)

// Writer writes JSON piece by piece, with the bytes of a json.Encoder that does not
// escape HTML. The zero value writes it on one line. The caller cares for the order
// of the calls.
type Writer struct {
	Text []byte

	line   []byte // what begins a line; empty: all is on one
	depth  int
	filled bool // something follows the last opening
}

// Indented returns a Writer whose lines begin with prefix and, for each level, two
// spaces.
func Indented(prefix string) *Writer { return &Writer{line: []byte("\n" + prefix)} }

// Begin writes { or [.
func (w *Writer) Begin(c byte) {
	w.Text = append(w.Text, c)
	w.depth++
	w.filled = false
}

// End writes } or ].
func (w *Writer) End(c byte) {
	w.depth--
	if w.filled {
		w.newLine()
	}
	w.Text = append(w.Text, c)
	w.filled = true
}

// Next begins an element of an array.
func (w *Writer) Next() {
	if w.filled {
		w.Text = append(w.Text, ',')
	}
	w.filled = true
	w.newLine()
}

// Key begins a member. The key has no character that must be escaped.
func (w *Writer) Key(key string) {
	w.Next()
	w.Text = append(w.Text, '"')
	w.Text = append(w.Text, key...)
	if w.Text = append(w.Text, '"', ':'); len(w.line) > 0 {
		w.Text = append(w.Text, ' ')
	}
}

// Member writes a member with a string.
func (w *Writer) Member(key, value string) {
	w.Key(key)
	w.string(value)
}

// MemberUnlessEmpty is Member for a string that is left out where it is empty.
func (w *Writer) MemberUnlessEmpty(key, value string) {
	if value != "" {
		w.Member(key, value)
	}
}

// Raw writes a member with a value that is JSON on one line.
func (w *Writer) Raw(key string, value json.RawMessage) {
	w.Key(key)
	w.Text = append(w.Text, value...)
}

func (w *Writer) newLine() {
	if len(w.line) == 0 {
		return
	}
	w.Text = append(w.Text, w.line...)
	for range w.depth {
		w.Text = append(w.Text, ' ', ' ')
	}
}

// string writes s. Most texts need no escape: of those it finds out eight bytes at
// a time.
func (w *Writer) string(s string) {
	b := append(w.Text, '"')
	from := 0 // here the unwritten text begins
	for i := 0; i < len(s); {
		if i+8 <= len(s) {
			if x := word(s[i : i+8]); x&(0x80*0x0101010101010101) == 0 {
				if n := special(x); n > 0 {
					i += n
					continue
				}
			}
		}
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && n == 1:
				b = append(append(b, s[from:i]...), `\ufffd`...)
				from = i + n
			case r == '\u2028' || r == '\u2029':
				b = append(append(b, s[from:i]...), `\u202`...)
				b = append(b, hexDigit[r&15])
				from = i + n
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, `\b`...)
		case '\f':
			b = append(b, `\f`...)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigit[c>>4], hexDigit[c&15])
		}
		i++
		from = i
	}
	w.Text = append(append(b, s[from:]...), '"')
}

// word returns eight bytes as binary.LittleEndian does, without a copy of them.
func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

const hexDigit = "0123456789abcdef"
