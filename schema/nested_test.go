package schema

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/tools/txtar"

	"aisync.dev/aisync/schema/spec"
)

const monorepo = `
-- aisync.cue --
package aisync

project: {
	name:     "root"
	runtimes: ["claude"]
	sources: rules: "../rules"
	bundles: ["rules//."]
	places: "packages/api": bundles: ["rules//go"]
	nested: ["packages/*", "tools/gen", "nowhere/*"]
}
-- packages/api/aisync.cue --
package aisync

project: {
	name:    "api"
	extends: "../.."
	sources: {own: "rules", far: "git::https://example.com/r", rules: "../../../rules"}
	bundles: ["own//api", "rules//sql"]
	teams:   ["own//team"]
}
-- packages/other/aisync.cue --
package aisync

project: name: "other"
-- packages/no/go.mod --
module no
-- tools/gen/aisync.cue --
package aisync

project: name: "gen"
project: extends: "../.."
-- tools/unlisted/aisync.cue --
package aisync

project: {name: "unlisted", extends: "../.."}
`

func TestNestedSpecsExtendTheRoots(t *testing.T) {
	dir := unpack(t, txtar.Parse([]byte(monorepo)))
	if err := os.Symlink("../packages", filepath.Join(dir, "nowhere")); err != nil {
		t.Fatal(err)
	}
	o := Options{ProjectDir: dir, Cwd: dir, Scope: ProjectOnly, From: filepath.Join(dir, "packages/api")}
	s, err := Load(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	ignore := cmpopts.IgnoreTypes(spec.Position{})
	places := []spec.Place{
		{Folder: "packages/api", Bundles: []spec.BundleRef{{Source: "rules", Name: "go"}, {Source: "own", Name: "api", Place: "packages/api"}, {Source: "rules", Name: "sql", Place: "packages/api"}}, Teams: []spec.BundleRef{{Source: "own", Name: "team", Place: "packages/api"}}},
		{Folder: "tools/gen"},
	}
	if diff := cmp.Diff(places, s.Project.Places, ignore); diff != "" {
		t.Error(diff)
	}
	sources := []spec.Source{
		{Name: "rules", URL: "../rules", Dir: dir},
		{Name: "far", URL: "git::https://example.com/r", Dir: dir, Place: "packages/api"},
		{Name: "own", URL: "packages/api/rules", Dir: dir, Place: "packages/api"},
	}
	if diff := cmp.Diff(sources, s.Project.Sources, ignore); diff != "" {
		t.Error(diff)
	}
	nested := []spec.Nesting{{Pattern: "packages/*", Found: 1}, {Pattern: "tools/gen", Found: 1}, {Pattern: "nowhere/*"}}
	if diff := cmp.Diff(nested, s.Project.Nested, ignore); diff != "" {
		t.Error(diff)
	}
	var files []string
	for _, f := range s.Files {
		rel, err := filepath.Rel(dir, f)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, rel)
	}
	if want := []string{"aisync.cue", "packages/api/aisync.cue", "tools/gen/aisync.cue"}; !cmp.Equal(files, want) {
		t.Errorf("files %q, want %q", files, want)
	}

	if err := os.WriteFile(filepath.Join(dir, "tools/gen/aisync.cue"), []byte("package aisync\n\nproject: {name: \"gen2\", extends: \"../..\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if again, err := Load(context.Background(), o); err != nil || again.Digest == s.Digest {
		t.Errorf("the digest does not cover a nested spec (error %v)", err)
	}

	o.From = filepath.Join(dir, "tools/unlisted")
	_, err = Load(context.Background(), o)
	if want := `tools/unlisted/aisync.cue:3:1: project.extends: the spec of the root does not list this folder under nested; write into project of aisync.cue: nested: ["packages/*", "tools/gen", "nowhere/*", "tools/unlisted"]`; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}

	foreign := errors.New("another user's")
	o.From, o.Owned = "", func(project, file string) error {
		if project != dir || !strings.HasSuffix(file, "/aisync.cue") {
			t.Errorf("asked about %s in %s", file, project)
		}
		return foreign
	}
	if _, err := Load(context.Background(), o); !errors.Is(err, foreign) {
		t.Errorf("a nested spec of another user is read: %v", err)
	}
}
