package jsontext

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzWriter compares a Writer with the encoder whose bytes it promises.
func FuzzWriter(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"\\\b\f\n\r\t\x01\x1f\x7f<>&", "é日本😀\u2028\u2029", "a\xffb\xc3", "a long text with \"one\" more é and the rest of it\u2029"} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, indented bool) {
		type inner struct {
			A, B []string
			C    string          `json:",omitempty"`
			D    json.RawMessage `json:"D"`
		}
		v := inner{A: []string{}, B: []string{text, text}, C: text, D: json.RawMessage("null")}
		w := &Writer{}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if indented {
			w = Indented("  ")
			enc.SetIndent("  ", "  ")
		}
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
		w.Begin('{')
		w.Key("A")
		w.Begin('[')
		w.End(']')
		w.Key("B")
		w.Begin('[')
		for _, s := range v.B {
			w.Next()
			w.string(s)
		}
		w.End(']')
		w.MemberUnlessEmpty("C", v.C)
		w.Raw("D", v.D)
		w.End('}')
		if got := string(w.Text) + "\n"; got != want.String() {
			t.Errorf("%q:\n%s\nwant\n%s", text, got, want.String())
		}
	})
}
