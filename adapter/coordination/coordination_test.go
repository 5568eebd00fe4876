package coordination

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/schema/spec"
)

// The hook that runs the guard does not depend on a file that aisync made: what an
// apply leaves asks for nothing else.
func TestGuardIsRunOnce(t *testing.T) {
	const own, runs = "#!/bin/sh\nmake lint\n", "#!/bin/sh\nfor f in githooks/pre-commit.d/*; do \"$f\" || exit 1; done\n"
	for name, c := range map[string]struct {
		there, brought string
		made           bool
		want, note     bool
	}{
		"nothing":               {want: true},
		"a person's":            {there: own, note: true},
		"a person's that runs":  {there: runs},
		"made, of no bundle":    {there: own, made: true, want: true},
		"made, and runs":        {there: runs, made: true, want: true},
		"a bundle's":            {brought: own, note: true},
		"a bundle's that runs":  {brought: runs},
		"a bundle's, made here": {there: own, made: true, brought: own, note: true},
	} {
		dir := t.TempDir()
		if c.there != "" {
			if err := os.MkdirAll(filepath.Join(dir, "githooks"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "githooks/pre-commit"), []byte(c.there), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		var brought []bundle.File
		if c.brought != "" {
			brought = append(brought, bundle.File{Rel: "pre-commit", Embedded: []byte(c.brought)})
		}
		files, note := Guard(dir, brought, func(name string) bool { return c.made && name == "githooks/pre-commit" })
		if got := len(files) == 2 && files[1].Rel == "pre-commit" && runsFolder(files[1].Embedded); got != c.want || files[0].Rel != guardFile {
			t.Errorf("%s: %+v", name, files)
		}
		if (note != "") != c.note || c.note && !strings.Contains(note, "|| exit 1") {
			t.Errorf("%s: note %q", name, note)
		}
	}
}

// A program gets hooks or a server, and never both.
func TestProgramsAreToldOnce(t *testing.T) {
	own := []spec.MCPServer{{Name: "aisync", Runtimes: []string{"amp"}}}
	for _, rt := range catalog.Runtimes() {
		servers, told := Servers(rt, spec.Position{}, nil)
		hooks := len(Hooks(rt.ID)) > 0
		if takes := rt.MCPSupport && rt.Project.MCP != nil; told != (hooks || takes) || len(servers) > 0 && (hooks || !takes) {
			t.Errorf("%s: %+v, told %v, with hooks %v", rt.ID, servers, told, hooks)
		}
		if told && !hooks && (len(servers) != 1 || !slices.Contains(servers[0].Args, rt.ID)) {
			t.Errorf("%s: %+v", rt.ID, servers)
		}
		if again, told2 := Servers(rt, spec.Position{}, own); told2 != told || rt.ID == "amp" && len(again) > 0 || rt.ID != "amp" && len(again) != len(servers) {
			t.Errorf("%s beside the spec's own: %+v, told %v", rt.ID, again, told2)
		}
	}
}
