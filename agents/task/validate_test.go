package task

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/schema/spec"
)

func TestForeseeFindsFlaws(t *testing.T) {
	task := spec.Task{
		File: "t.yaml", Write: []string{"src/*", `a\[1\].txt`}, MaxFiles: 2, Denied: []string{"rm -rf"},
		Steps: []spec.TaskStep{
			{ID: "a", Action: "create", File: "src/x", Pos: spec.Position{File: "t.yaml", Line: 7, Col: 5}},
			{ID: "b", Action: "edit", File: "src/deep/x", Pos: spec.Position{File: "t.yaml", Line: 9, Col: 5}},
			{ID: "c", Action: "write", File: "a[1].txt", Pos: spec.Position{File: "t.yaml", Line: 11, Col: 5}},
			{ID: "d", Action: "run", Command: "cd src && rm  -r -f x", Pos: spec.Position{File: "t.yaml", Line: 13, Col: 5}},
			{ID: "e", Action: "run", Command: "rm x", Pos: spec.Position{File: "t.yaml", Line: 15, Col: 5}},
		},
		Verify: []string{"sh -c 'rm -rf /'"},
	}
	var got []string
	for _, f := range Foresee(task) {
		got = append(got, f.Error())
	}
	want := []string{
		"t.yaml:9:5: step b: no allowed_write_globs names src/deep/x",
		`t.yaml:13:5: step d: command "rm -r -f x" is denied by "rm -rf"`,
		"t.yaml: its steps write 3 files, but max_files_changed is 2",
		`t.yaml: verify: command "rm -rf /" is denied by "rm -rf"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := Foresee(spec.Task{File: "t.yaml", Write: []string{"src/["}}); len(got) != 1 {
		t.Errorf("%v", got)
	}
}
