package main

import (
	"os"
	"strings"
	"testing"
)

// A model does flat tasks without edits, in the forms of an older program's
// queue and of what it made of an issue: what is done is on a branch.
func TestFlatTasksAreWorkForModel(t *testing.T) {
	d := newDesk(t, "```cue ~/.config/aisync/host.cue\npackage aisync\n\nhosts: pearl: {\n\tmatch: {}\n"+
		"\tservices: coder: {kind: \"external\", url: \"http://127.0.0.1:8081/v1\", model: \"tiny\", context: 32768, apis: [\"chat\"]}\n\tendpoint: \"coder\"\n}\n```\n"+
		"```cue ~/src/chiffon/aisync.cue\npackage aisync\n\nproject: name: \"chiffon\"\n```\n")
	queue := "home/src/chiffon/tasks/queue/core/"
	d.write(queue+"one.yml", "id: one\ngoal: Greet the world\ngitea_issue: 16\n\ndescription: |\n  Print zqhello.\n\nscope:\n  allowed_write_globs:\n    - src/hello.sh\n\nedits: []\nverify: []\n")
	d.write(queue+"task-42.yml", "id: task-42\ngoal: Greet the world.\nedits: []\nverify:\n- cmd: sh src/hello.sh | grep -q world\nsteps:\n- Print zqhello\nacceptance_criteria:\n- nothing else\n"+
		"source: gitea:core:42\nscope: {allowed_write_globs: [\"src/*\"]}\n")
	out, err := d.types("aisync task run --trust")
	if err != nil || !strings.Contains(out, "2 done, 0 failed\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, id := range []string{"one", "task-42"} {
		if got, err := d.types("git diff --name-only main $(cat tasks/runs/" + id + "/branch-name.txt)"); err != nil || got != "src/hello.sh\n" {
			t.Errorf("%s changed %q, %v", id, got, err)
		}
	}
	asked := d.model.Take()
	if len(asked) != 2 {
		t.Fatalf("%d questions", len(asked))
	}
	for i, a := range asked {
		// The second names no file: it may write several, and sees them all.
		if body := string(a.Body); !strings.Contains(body, "zqhello") || !strings.Contains(body, "echo hi") || strings.Contains(body, "In src/hello.sh:") != (i == 0) || strings.Contains(body, "It says hi") {
			t.Errorf("question %d:\n%s", i, body)
		}
	}
	text, err := os.ReadFile(d.dir + "/home/src/chiffon/tasks/runs/task-42/report.md")
	if err != nil || !strings.Contains(string(text), "Before the steps, `sh src/hello.sh | grep -q world` failed (exit code 1).") {
		t.Errorf("%v\n%s", err, text)
	}
}
