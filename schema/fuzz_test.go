package schema

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A project's spec comes from strangers. Whatever it says, it is loaded or
// refused with what is wrong, and it never brings a host along.
func FuzzProjectSpec(f *testing.F) {
	text, err := os.ReadFile(filepath.Join(contract, "project", ProjectFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	for _, s := range []string{
		"package aisync\nproject: name: \"a\"\n", "package aisync\nhosts: a: {}\nproject: {}\n",
		"package aisync\nimport \"strings\"\nproject: {name: strings.ToUpper(x), bundles: [for i in [1, 2] {\"\\(i)\"}]}\nx: \"a\"\n",
		"package aisync\n#a: {b: #a | *null}\nproject: #a & {mcp: [string]: command: \"x\"}\n", "package aisync\nproject: x\nx: y\ny: project\n", "project: {...}",
	} {
		f.Add(s)
	}
	dir, err := filepath.Abs(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Load(context.Background(), Options{ProjectDir: dir, Scope: ProjectOnly, Texts: map[string][]byte{filepath.Join(dir, ProjectFile): []byte(text)}})
		if err != nil {
			if wrong := (Errors)(nil); !errors.As(err, &wrong) || len(wrong) == 0 {
				t.Fatalf("%v does not say what is wrong with the spec", err)
			}
			return
		}
		if s.Host != nil || !strings.HasPrefix(s.Digest, "sha256:") {
			t.Fatalf("%+v", s)
		}
	})
}
