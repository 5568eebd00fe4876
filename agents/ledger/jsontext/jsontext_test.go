package jsontext

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// What is no object is refused; what is one means the same when it is written.
func FuzzObject(f *testing.F) {
	for _, s := range []string{
		"{}", "{}\n", `{"/a":{"agent":"pi","since":"x"}}`, `{"a":1,"a":2}`, `{"a":{"b":[1.50,"\u00e9",null]}}`, "", "null", "[]", `{"a":1}{`, `{"a":1} x`, `{"a"`, "{\"\\ud800\":1}", `{"a":"` + "\xff" + `"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := Parse([]byte(text))
		var want map[string]any
		if valid := json.Unmarshal([]byte(text), &want) == nil && want != nil; valid != (err == nil) {
			t.Fatalf("%q: %v", text, err)
		}
		if err != nil || !utf8.ValidString(text) {
			return
		}
		again, err := Parse(o.Text())
		if err != nil || !bytes.Equal(again.Text(), o.Text()) || len(again) != len(want) {
			t.Fatalf("%q became %q: %v", text, o.Text(), err)
		}
		if i := again.Index("no such key"); i < 0 && len(o.With("no such key", json.RawMessage("1")).Without("no such key")) != len(o) {
			t.Error("with and without are no opposites")
		}
	})
}

// Quote is JSON.stringify: encoding/json reads back what was quoted.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a\"\\\b\f\n\r\t\x01\x7f\u2028<>&é😀", "\xff\xfe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		if err := json.Unmarshal([]byte(Quote(s)), &back); err != nil || back != strings.ToValidUTF8(s, "\uFFFD") && utf8.ValidString(s) {
			t.Errorf("%q: %q %v", s, back, err)
		}
		if got, ok := Unquote([]byte(Quote(s))); !ok || got != back {
			t.Errorf("%q: %q", s, got)
		}
	})
}
