// Package jsontext reads and writes JSON as the files of a ledger have it: the bytes
// are those of JavaScript's JSON.stringify, and what other programs wrote stays as it
// is. Call Parse, Fields and Quote.
package jsontext

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// Quote writes s exactly as JavaScript's JSON.stringify does, so that our lines
// and the original's are identical.
func Quote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		default:
			if r < 0x20 {
				b.WriteString(`\u00` + string("0123456789abcdef"[r>>4]) + string("0123456789abcdef"[r&15]))
				continue
			}
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

var errNotRecord = errors.New("not a JSON object")

// Fields calls set for each member of the object in line, with the member's raw
// text. It checks the line only as far as it reads: every overview reads the
// whole ledger, for which encoding/json takes five times as long.
func Fields(line []byte, set func(key, value []byte) error) error {
	i := space(line, 0)
	if i >= len(line) || line[i] != '{' {
		return errNotRecord
	}
	i = space(line, i+1)
	if i < len(line) && line[i] == '}' {
		return trailing(line, i+1)
	}
	for {
		end := stringEnd(line, i)
		if end < 0 {
			return errNotRecord
		}
		key := line[i+1 : end-1]
		i = space(line, end)
		if i >= len(line) || line[i] != ':' {
			return errNotRecord
		}
		i = space(line, i+1)
		end = valueEnd(line, i)
		if end < 0 {
			return errNotRecord
		}
		if err := set(key, line[i:end]); err != nil {
			return err
		}
		i = space(line, end)
		if i >= len(line) {
			return errNotRecord
		}
		switch line[i] {
		case ',':
			i = space(line, i+1)
		case '}':
			return trailing(line, i+1)
		default:
			return errNotRecord
		}
	}
}

func trailing(line []byte, i int) error {
	if space(line, i) != len(line) {
		return errNotRecord
	}
	return nil
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns the index after the string that starts at i, or -1.
func stringEnd(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i++; i < len(b); i++ {
		for i+16 <= len(b) && specials(binary.LittleEndian.Uint64(b[i:]))|specials(binary.LittleEndian.Uint64(b[i+8:])) == 0 {
			i += 16
		}
		for i+8 <= len(b) {
			at := special(binary.LittleEndian.Uint64(b[i:]))
			if i += at; at < 8 {
				break
			}
		}
		if i == len(b) {
			return -1
		}
		c := b[i]
		switch {
		case c == '"':
			return i + 1
		case c == '\\':
			if i++; i >= len(b) {
				return -1
			}
			if b[i] == 'u' {
				if i+4 >= len(b) || !hexDigits(b[i+1:i+5]) {
					return -1
				}
				i += 4
			} else if strings.IndexByte(`"\/bfnrt`, b[i]) < 0 {
				return -1
			}
		case c < ' ':
			return -1
		}
	}
	return -1
}

// special returns the index of the first of eight bytes that is a quotation mark, a
// backslash or a control character; 8 if none is.
func special(x uint64) int { return bits.TrailingZeros64(specials(x)) / 8 }

// specials has the highest bit of each byte that is one of those. It is the known
// test for a byte in a word, whose lowest hit is exact.
func specials(x uint64) uint64 {
	const each = 0x0101010101010101
	quote, escape := x^'"'*each, x^'\\'*each
	return ((quote-each)&^quote | (escape-each)&^escape | (x-' '*each)&^x) & (0x80 * each)
}

func hexDigits(b []byte) bool {
	for _, c := range b {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
			return false
		}
	}
	return true
}

// valueEnd returns the index after the value that starts at i, or -1.
// encoding/json checks the inside of objects and arrays.
func valueEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	if b[i] == '"' {
		return stringEnd(b, i)
	}
	if b[i] != '{' && b[i] != '[' {
		end := i
		for end < len(b) && b[end] != ',' && b[end] != '}' && space(b, end) == end {
			end++
		}
		if !json.Valid(b[i:end]) {
			return -1
		}
		return end
	}
	depth := 0
	for j := i; j < len(b); j++ {
		switch b[j] {
		case '"':
			if j = stringEnd(b, j) - 1; j < 0 {
				return -1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				if !json.Valid(b[i : j+1]) {
					return -1
				}
				return j + 1
			}
		}
	}
	return -1
}

// Unquote returns the value of a JSON string, and false for any other value.
func Unquote(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	text := value[1 : len(value)-1]
	if bytes.IndexByte(text, '\\') >= 0 || !utf8.Valid(text) {
		var s string
		err := json.Unmarshal(value, &s)
		return s, err == nil
	}
	return string(text), true
}
