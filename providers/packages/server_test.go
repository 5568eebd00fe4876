package packages

import (
	"strings"
	"testing"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/schema/spec"
)

// The choice is npx's: libnpmexec/lib/get-bin-from-manifest.js of npm 11.19.1.
func TestProgramIsTheOneThatNpxStarts(t *testing.T) {
	for _, c := range []struct {
		name     string
		programs map[string]string
		want     string
	}{
		{"@acme/notes", map[string]string{"notes-mcp": "a.js"}, "notes-mcp"},
		{"@acme/notes", map[string]string{"notes": "a.js", "other": "b.js"}, "notes"},
		{"notes", map[string]string{"x": "a.js", "y": "a.js"}, "x"},
		{"notes", map[string]string{"x": "a.js", "y": "b.js"}, ""},
		{"notes", nil, ""},
	} {
		if got := (Release{Programs: c.programs}).Program(c.name); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.name, c.programs, got, c.want)
		}
	}
}

func TestServersStartFromThePrefix(t *testing.T) {
	in := []spec.MCPServer{{Name: "a", Command: "x", Install: &spec.Install{}}, {Name: "b", Command: "npx"}}
	out := Servers("/home/me", in)
	if out[0].Command != "/home/me/.local/share/aisync/npm/bin/x" || out[1].Command != "npx" || in[0].Command != "x" {
		t.Errorf("%v from %v", out, in)
	}
}

func TestOtherIntegrity(t *testing.T) {
	for _, want := range []string{"", "sha512-a"} {
		if err := otherIntegrity("p", "1", "sha512-a", want); err != nil {
			t.Errorf("%q: %v", want, err)
		}
	}
	for _, got := range []string{"", "sha512-b"} {
		err := otherIntegrity("@a/p", "1", got, "sha512-a")
		if err == nil || !strings.Contains(err.Error(), "want sha512-a") || !strings.Contains(advice.Of(err), "aisync lock --update @a/p") {
			t.Errorf("%q: %v; %s", got, err, advice.Of(err))
		}
	}
}
