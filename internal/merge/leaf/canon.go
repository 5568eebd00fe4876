package leaf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth bounds how deep documents and values nest, so that no input can
// exhaust the stack.
const MaxDepth = 1000

// Canonical returns v compact, with sorted keys and one spelling for each
// number and string, so that equal values are equal bytes. Take fingerprints
// of it, not of v.
func Canonical(v Value) (Value, error) {
	if !utf8.Valid(v) {
		return nil, errors.New("not UTF-8")
	}
	if isQuoted(v) {
		return v, nil
	}
	if depth(v) > MaxDepth {
		return nil, fmt.Errorf("nests more than %d deep", MaxDepth)
	}
	dec := json.NewDecoder(bytes.NewReader(v))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("not JSON: text after the value")
	}
	return appendCanonical(nil, x), nil
}

// isQuoted reports whether v, which is UTF-8, is a string as Quote writes it, of
// which most large values are one: the text of a block. It may say no of one with
// rare characters in it.
func isQuoted(v Value) bool {
	if len(v) < 2 || v[0] != '"' || v[len(v)-1] != '"' {
		return false
	}
	text := v[1 : len(v)-1]
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			if i++; i == len(text) || strings.IndexByte(`"\nrt`, text[i]) < 0 {
				return false
			}
		case c == '"' || c < ' ':
			return false
		case c == 0xe2 && text[i+1] == 0x80 && (text[i+2] == 0xa8 || text[i+2] == 0xa9): // U+2028 and U+2029 are escaped
			return false
		}
	}
	return true
}

// depth returns how deep brackets nest in v, outside of strings.
func depth(v Value) int {
	deepest, now, quoted := 0, 0, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '[' || c == '{':
			now++
			deepest = max(deepest, now)
		case c == ']' || c == '}':
			now--
		}
	}
	return deepest
}

// Equal reports whether a and b are the same JSON value: order of keys and
// spelling do not count. What is not JSON equals nothing.
func Equal(a, b Value) bool {
	ca, err := Canonical(a)
	if err != nil {
		return false
	}
	cb, err := Canonical(b)
	return err == nil && bytes.Equal(ca, cb)
}

func appendCanonical(b []byte, x any) []byte {
	switch x := x.(type) {
	case map[string]any:
		b = append(b, '{')
		for i, k := range slices.Sorted(maps.Keys(x)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(b, Quote(k)...), ':')
			b = appendCanonical(b, x[k])
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, e := range x {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCanonical(b, e)
		}
		return append(b, ']')
	case string:
		return append(b, Quote(x)...)
	case json.Number:
		return append(b, canonicalNumber(string(x))...)
	case bool:
		return strconv.AppendBool(b, x)
	}
	return append(b, "null"...)
}

// canonicalNumber spells a JSON number in one way without losing a digit:
// plain where it is an integer of up to 30 digits, else d.ddde±x.
func canonicalNumber(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	mant, exp := s, new(big.Int)
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mant = s[:i]
		exp.SetString(strings.TrimPrefix(s[i+1:], "+"), 10)
	}
	whole, frac, _ := strings.Cut(mant, ".")
	digits := whole + frac
	exp.Sub(exp, big.NewInt(int64(len(frac))))
	trimmed := strings.TrimRight(digits, "0")
	exp.Add(exp, big.NewInt(int64(len(digits)-len(trimmed))))
	digits = strings.TrimLeft(trimmed, "0")
	if digits == "" {
		return "0"
	}
	if exp.Sign() >= 0 && exp.IsInt64() && exp.Int64() <= int64(30-len(digits)) {
		return sign + digits + strings.Repeat("0", int(exp.Int64()))
	}
	exp.Add(exp, big.NewInt(int64(len(digits)-1)))
	out := sign + digits[:1]
	if len(digits) > 1 {
		out += "." + digits[1:]
	}
	if exp.Sign() == 0 {
		return out
	}
	return out + "e" + exp.String()
}

// Quote writes a JSON string without the escapes that only HTML needs.
func Quote(s string) Value {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string and a buffer: cannot fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
