package schema

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aisync.dev/aisync/schema/spec"
)

// The files have the forms of the older program's queue and of what it made of
// an issue.
func TestFlatTaskWithoutEdits(t *testing.T) {
	const noGlobs = "scope.allowed_write_globs: missing: without edits the task is work for an executor, which may write nowhere; " +
		`list what may change under scope: allowed_write_globs, as in ["src/**"]; a task that only checks has constraints: max_files_changed: 0, and verify`
	for name, want := range map[string]spec.Task{
		"generate": {
			Goal: "Generate templates/greeting.txt.j2 for the greeting service",
			Steps: []spec.TaskStep{{ID: "edit-1", Action: "edit", File: "templates/greeting.txt.j2", Pos: spec.Position{File: "generate.yaml", Line: 2, Col: 7},
				Instructions: "Write the template of the greeting.\n\nFile to generate: templates/greeting.txt.j2\n\nOne line:\n  hello, {{ greeting_name }}"}},
			Write: []string{"templates/greeting.txt.j2"}, Read: []string{"templates/greeting.txt.j2"}, MaxFiles: 1,
		},
		"folder": {
			Goal: "Greet the world.",
			Steps: []spec.TaskStep{{ID: "edit-1", Action: "edit", Pos: spec.Position{File: "folder.yaml", Line: 2, Col: 7},
				Instructions: "Change the program first.\n\n- Print hello, world instead of hi\n- Say so in the manual"}},
			Assumptions: []string{"nothing else is printed"}, Verify: []string{"sh src/hello.sh | grep -q world"},
			Write: []string{"src/**", "docs/manual.md"}, Read: []string{"src/**", "docs/manual.md"}, MaxFiles: 10,
		},
		"materialized": {
			Goal: "Greet the world.", Assumptions: []string{"Print hello, world instead of hi", "Say so in the manual", "nothing else is printed"},
			Verify: []string{"sh src/hello.sh | grep -q world"}, MaxFiles: 10,
			Lack: &spec.TaskLack{Pos: spec.Position{File: "materialized.yaml", Line: 3, Col: 1}, Text: noGlobs},
		},
		"finished": { // read all the same: others may require it
			Goal: "Establish the queue and describe its files.", MaxFiles: 10,
			Lack: &spec.TaskLack{Pos: spec.Position{File: "finished.yaml", Line: 3, Col: 1}, Text: noGlobs},
		},
		"nowhere": {
			Goal: "Greet the world.\n\nIn the program and in the manual.\n", Read: []string{"src/**"}, MaxFiles: 10,
			Lack: &spec.TaskLack{Pos: spec.Position{File: "nowhere.yaml", Line: 3, Col: 1}, Text: noGlobs},
		},
		"checks": {Goal: "The program still greets.\n\nNothing is to change.\n", Verify: []string{"sh src/hello.sh"}, MaxFiles: 10},
		"looks":  {Goal: "The program still greets.", Verify: []string{"sh src/hello.sh"}},
		"idle": {
			Goal: "The program still greets.",
			Lack: &spec.TaskLack{Pos: spec.Position{File: "idle.yaml", Line: 4, Col: 1}, Text: "verify: no command: the task may change nothing, so verify is all that it does; add the commands that check, as in verify: [\"make test\"]"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata/task/flat", name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := taskReader(t).Read(name+".yaml", text)
			if err != nil {
				t.Fatal(err)
			}
			ignore := cmpopts.IgnoreFields(spec.Task{}, "File", "Form", "ID", "Source", "Issue", "Priority", "MaxDiff", "Timeout", "Retries")
			if diff := cmp.Diff(want, got, ignore, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
