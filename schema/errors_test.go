package schema

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

var update = flag.Bool("update", false, "write what was got into testdata")

// Each archive holds specs and, in the file errors, every line that Load has
// to say about them: all of it, in order.
func TestBadSpecErrors(t *testing.T) {
	archives, err := filepath.Glob("testdata/bad/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			last := len(a.Files) - 1
			if a.Files[last].Name != "errors" {
				t.Fatal("the last file must be errors")
			}
			dir := unpack(t, &txtar.Archive{Files: a.Files[:last]})
			o := Options{HostDir: filepath.Join(dir, "host"), HostName: "me", Cwd: dir, Scope: ProjectOnly}
			if _, err := os.Stat(o.HostDir); err == nil {
				o.Scope = Both
			}
			if _, err := os.Stat(filepath.Join(dir, "project")); err == nil {
				o.ProjectDir = filepath.Join(dir, "project")
			}
			_, err = Load(context.Background(), o)
			if err == nil {
				t.Fatal("no error")
			}
			known := ids(catalog.Runtimes(), func(r spec.Runtime) string { return r.ID })
			got := strings.ReplaceAll(err.Error()+"\n", strings.Join(known, ", "), "{runtimes}")
			if *update {
				a.Files[last].Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(a.Files[last].Data); got != want {
				t.Errorf("\ngot\n%s\nwant\n%s", got, want)
			}
		})
	}
}
