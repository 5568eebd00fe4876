package adapter

import (
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/adapter/names"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// What is for opencode goes into the file that exists, and of several into the
// one that counts.
func TestSettingsGoIntoTheFileThatExists(t *testing.T) {
	for _, test := range []struct {
		there []string
		want  string
		note  string
	}{
		{nil, "opencode.json", ""},
		{[]string{"opencode.json"}, "opencode.json", ""},
		{[]string{"opencode.jsonc"}, "opencode.jsonc", ""},
		{[]string{".opencode/opencode.json"}, ".opencode/opencode.json", ""},
		{[]string{"opencode.json", "opencode.jsonc"}, "opencode.jsonc", "opencode reads opencode.json, then opencode.jsonc, and the last of them counts where they differ: what aisync sets goes into opencode.jsonc"},
	} {
		d, err := neutralProject(t, everything, "claude", "opencode")
		if err != nil {
			t.Fatal(err)
		}
		d.Declarations = append(d.Declarations, reconcile.Declaration{Target: "file:waits", DependsOn: []reconcile.Address{"file:opencode.json"}})
		leaves := len(declared(d, "opencode.json").Leaves)
		notes := names.Use(d.Declarations, catalog.Runtimes(), func(rt spec.Runtime) spec.Scope { return rt.Project }, func(name string) bool { return slices.Contains(test.there, name) })
		got := declared(d, test.want)
		if leaves == 0 || len(got.Leaves) != leaves || test.want != "opencode.json" && len(declared(d, "opencode.json").Leaves) > 0 {
			t.Errorf("%q: %d leaves in %s, want %d", test.there, len(got.Leaves), test.want, leaves)
		}
		if want := test.want[strings.LastIndex(test.want, ".")+1:]; got.Format != want {
			t.Errorf("%s has format %s", test.want, got.Format)
		}
		if on := declared(d, "waits").DependsOn; !slices.Equal(on, []reconcile.Address{fileAt(test.want)}) {
			t.Errorf("%q: depends on %q", test.there, on)
		}
		if noted := slices.ContainsFunc(notes, func(n reconcile.Note) bool { return n.Text == test.note }); noted != (test.note != "") {
			t.Errorf("%q: notes %v", test.there, notes)
		}
	}
}

func declared(d Decls, name string) reconcile.Declaration {
	i := slices.IndexFunc(d.Declarations, func(decl reconcile.Declaration) bool { return decl.Target == fileAt(name) })
	if i < 0 {
		return reconcile.Declaration{}
	}
	return d.Declarations[i]
}
