package frontmatter

import (
	"bytes"
	"errors"
	"testing"
)

// Whatever a Markdown file begins with, its front matter is read or refused
// with a line of the file; cutting it off loses no byte of the body.
func FuzzReadRule(f *testing.F) {
	f.Add([]byte("---\nglobs: *.go, {a,b}/*.ts\nalwaysApply: true\ndescription: a\n---\n# A\n"))
	f.Add([]byte("\uFEFF---\r\npaths: ['a', 3]\r\n---\r\n# A\r\nApplies to: `*.el`\r\n"))
	f.Add([]byte("---\na: &a [*b]\nb: &b [*a, *a]\n---\n"))
	f.Add([]byte("---\nname: a"))
	f.Fuzz(func(t *testing.T, text []byte) {
		check := func(err error) {
			if wrong := (*Error)(nil); err != nil && (!errors.As(err, &wrong) || wrong.Line < 1 || wrong.Line > bytes.Count(text, []byte("\n"))+2) {
				t.Fatalf("%v", err)
			}
		}
		front, body, ok, err := Split(text)
		check(err)
		if !bytes.HasSuffix(text, body) || !bytes.Contains(text, front) || !ok && len(body) != len(text) {
			t.Fatalf("%q and %q", front, body)
		}
		fields, err := Parse(front)
		check(err)
		for name := range fields {
			fields.Text(name)
			fields.List(name)
		}
		_, err = ReadRule(text)
		check(err)
		scoped := ScopeByProse(text)
		r, err := ReadRule(scoped)
		check(err)
		if _, body2, _, _ := Split(scoped); !bytes.Equal(scoped, text) && (r.Kind != Scoped || !bytes.Equal(body, body2) && !bytes.HasSuffix(body, body2)) {
			t.Fatalf("%q became %q, %+v", text, scoped, r)
		}
	})
}
