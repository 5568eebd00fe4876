package schema

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aisync.dev/aisync/schema/spec"
)

func taskReader(t testing.TB) *TaskReader {
	t.Helper()
	r, err := NewTaskReader("")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTaskDecodesAllFields(t *testing.T) {
	got := readTask(t, "full.yaml")
	want := spec.Task{
		File: "full.yaml", Form: "1", ID: "task-123", Source: "gitea:guardrails:42", Issue: 42, CreatedBy: "claude",
		CreatedAt: time.Date(2026, 2, 2, 10, 0, 0, 0, time.UTC), Priority: 1,
		Tier: "simple", Capabilities: []string{"python-edit", "pytest"}, Tokens: 2000, Duration: time.Minute,
		Requires: []string{"task-122"}, Blocks: []string{"task-124"}, Goal: "Count the lines.\n",
		Write: []string{"src/app/*.py", "tests/**"}, Read: []string{"src/**"},
		MaxFiles: 0, MaxDiff: 1000, Timeout: 30 * time.Second, Retries: 0, Network: true, Denied: []string{"rm -rf", "git push.*--force"},
		Steps: []spec.TaskStep{
			{ID: "make", Action: "create", File: "tests/test_count.py", Pos: spec.Position{File: "full.yaml", Line: 32, Col: 5}},
			{ID: "change", Action: "edit", File: "src/app/count.py", Instructions: "Count them.", Description: "the work", Pos: spec.Position{File: "full.yaml", Line: 36, Col: 5}},
			{ID: "try", Action: "run", Command: "pytest -q", Pos: spec.Position{File: "full.yaml", Line: 37, Col: 5}},
		},
		Verify: []string{"pytest -q"}, Assumptions: []string{"pytest is there"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Without a scope, the files of a flat task's edits are its scope; what it
// leaves out has the limits of any task.
func TestFlatAndNestedTasksDecodeEqually(t *testing.T) {
	got := readTask(t, "flat.yaml")
	want := spec.Task{
		File: "flat.yaml", Form: "flat", ID: "task-7", Source: "gitea:core:7", Issue: 9, Priority: 3,
		Goal: "Say hello.\n\nPolitely.\n", Write: []string{`src/a\[1\].txt`, "log.txt"},
		MaxFiles: spec.TaskMaxFiles, MaxDiff: spec.TaskMaxDiff, Timeout: spec.TaskTimeout, Retries: spec.TaskRetries,
		Steps: []spec.TaskStep{
			{ID: "edit-1", Action: "write", File: "src/a[1].txt", Text: "hello\n", Pos: spec.Position{File: "flat.yaml", Line: 4, Col: 5}},
			{ID: "edit-2", Action: "append", File: "log.txt", Text: "done\n", Pos: spec.Position{File: "flat.yaml", Line: 7, Col: 5}},
		},
		Verify: []string{"test -s log.txt", "true"}, Assumptions: []string{"a person is greeted"},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func readTask(t *testing.T, name string) spec.Task {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/task/good", name))
	if err != nil {
		t.Fatal(err)
	}
	got, err := taskReader(t).Read(name, text)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A task in JSON is one in YAML.
func TestTaskMayBeJSON(t *testing.T) {
	text, err := json.Marshal(map[string]any{"id": "j", "goal": "g\u00e9", "edits": []any{}, "verify": []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := taskReader(t).Read("j", text)
	if err != nil || got.Goal != "g\u00e9" {
		t.Fatalf("%+v %v", got, err)
	}
}

// Beside each bad task lies every line that is said about it.
func TestBadTaskErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/task/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	r := taskReader(t)
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = r.Read(name, text)
			if err == nil {
				t.Fatal("no error")
			}
			said := strings.TrimSuffix(file, ".yaml") + ".errors"
			got := err.Error() + "\n"
			if *update {
				if err := os.WriteFile(said, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(said)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHugeTaskIsRefused(t *testing.T) {
	_, err := taskReader(t).Read("t.yaml", []byte("id: t\ngoal: g\nverify: ["+strings.Repeat("x,", 100_000)+"]\n"))
	if err == nil || err.Error() != "t.yaml:1:1: too many values in it for one task; make several tasks of it" {
		t.Errorf("%.200v", err)
	}
}

// Whatever a file holds: no crash, and either a task that its queue can name,
// with steps that stay in the repository, or problems, each with a place.
func FuzzTask(f *testing.F) {
	for _, dir := range []string{"good", "bad", "flat"} {
		files, err := filepath.Glob("testdata/task/" + dir + "/*.yaml")
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<16 {
			return
		}
		r := taskReader(t) // a context keeps what it has built
		began := time.Now()
		task, err := r.Read("f.yaml", text)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("took %s", took)
		}
		if err == nil {
			if task.ID == "" || strings.ContainsAny(task.ID, "/\x00") || strings.Contains(task.ID, "..") || task.Timeout <= 0 || task.Priority < 1 || task.Priority > 4 {
				t.Errorf("taken: %+v", task)
			}
			for _, s := range task.Steps {
				if s.File != "" && !filepath.IsLocal(s.File) {
					t.Errorf("taken: %q", s.File)
				}
			}
			return
		}
		var problems Errors
		if !errors.As(err, &problems) {
			t.Fatalf("%T %v", err, err)
		}
		for _, p := range problems {
			if p.Pos.File != "f.yaml" || p.Pos.Line < 1 || p.Pos.Col < 1 || p.Message == "" {
				t.Errorf("%#v", p)
			}
		}
	})
}
