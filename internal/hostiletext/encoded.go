package hostiletext

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// minBlob is the length of text in base64 that may hold a command; maxBlobs bounds how
// much of it is read, in bytes.
const (
	minBlob  = 24
	maxBlobs = 256 << 10
)

// isBase64 are the bytes of base64, of both alphabets.
var isBase64 = func() (out [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_") {
		out[c] = true
	}
	return out
}()

// encoded looks at what is written in base64 as at the text itself: who runs it
// decodes it first, by whatever means.
func (s *scan) encoded() {
	work := 0
	for at := 0; at < len(s.text); at++ {
		start := at
		for at < len(s.text) && isBase64[s.text[at]] {
			at++
		}
		if at-start < minBlob {
			continue
		}
		if work += at - start; work > maxBlobs {
			return
		}
		text, ok := decoded(string(s.text[start:at]))
		if !ok {
			continue
		}
		inner := &scan{raw: text, text: text}
		inner.units()
		for _, f := range inner.out {
			s.add(f.rule, f.says+", in base64", f.excerpt, start)
		}
	}
}

// decoded is what text means in base64; ok is false if that is no text.
func decoded(text string) (plain []byte, ok bool) {
	of := base64.RawStdEncoding
	if strings.ContainsAny(text, "-_") {
		of = base64.RawURLEncoding
	}
	plain, err := of.DecodeString(text)
	if err != nil || !utf8.Valid(plain) {
		return nil, false
	}
	for _, c := range plain {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' {
			return nil, false
		}
	}
	return plain, true
}
