package message

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An address that is understood is written as one that means the same.
func FuzzAddress(f *testing.F) {
	f.Add("pearl.org-drill")
	f.Add("pearl.org-drill.claude.a83f")
	f.Add(" pearl.org-drill.helper-01ab\n")
	f.Add("a.b.a.b.claude.0000")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(a.String()); err != nil || again.String() != a.String() {
			t.Fatalf("%q is %+v, and %q is %+v: %v", text, a, a, again, err)
		}
		if strings.ContainsAny(a.String(), "/\n\x00") {
			t.Fatalf("%q can be no name of a file", a)
		}
	})
}

// Whatever lies in an inbox, it is read; a body keeps its words, and a message
// that is written is read as what it was.
func FuzzMessage(f *testing.F) {
	f.Add([]byte("#+TITLE: A\n#+FROM: pearl.a\n#+TO: velox.b.claude.a83f\n#+DATE: 2030-01-02T03:04:05+01:00\n\nbody\n"), "subject", "body")
	f.Add([]byte("#+target_agent_id: x\n#+TITLE"), "a\nb", "#+FROM: x.y\n\nz")
	f.Add([]byte("\x00\xff"), "", "  x  ")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, file []byte, subject, body string) {
		at := filepath.Join(dir, "a.org")
		write := func(b []byte) {
			if err := os.WriteFile(at, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(file)
		r, err := read(at, true)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Body) > len(file) || !strings.Contains(string(file), r.Body) {
			t.Fatalf("%q", r.Body)
		}
		from, err := Parse("pearl.a.claude.a83f")
		if err != nil {
			t.Fatal(err)
		}
		m := Message{From: from, To: Address{Machine: "velox", Project: "b"}, Subject: subject, Body: body}
		if m.Check() != nil {
			return
		}
		if name := m.Name(); name != filepath.Base(name) || strings.HasPrefix(name, ".") || len(name) > 240 {
			t.Fatalf("%q is no name of a file", name)
		}
		write([]byte(m.text()))
		r, err = read(at, true)
		if err != nil || r.From != m.From || r.To != m.To || r.Body != strings.Trim(body, "\r\n") {
			t.Fatalf("%+v was read as %+v: %v", m, r, err)
		}
	})
}
