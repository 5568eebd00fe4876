package schema

import (
	"strings"
	"testing"
)

func TestCheckRunConfigPositions(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"all of the seed", seedConfig, ""},
		{"the least", `{"schemaVersion":1}`, ""},
		{"too many workers", "{\n \"schemaVersion\":1,\n \"runtime\":{\"maxWorkers\":99}}", "c.json:3:26: runtime.maxWorkers: want a whole number from 1 to 32, got 99"},
		{"cleanup without a command", `{"schemaVersion":1,"retention":{"safeCleanupRequiresCommand":false}}`, "want true: nothing is ever closed but by run cleanup --safe, got false"},
		{"another root", `{"schemaVersion":1,"storage":{"root":".kapi"}}`, `storage.root: want ".ilchul": runs lie nowhere else, got ".kapi"`},
		{"no version", `{}`, "schemaVersion is missing"},
		{"a later version", `{"schemaVersion":2}`, "want schemaVersion 1"},
		{"a list", `[]`, "want an object, got a list"},
		{"a typing error", `{"schemaVersion":1,"runtime":{"maxWorker":3}}`, `did you mean "maxWorkers"?`},
		{"no JSON", "{\n\"schemaVersion\":1,\n}", "c.json:3:1: not JSON"},
		{"CUE", `{schemaVersion: 1}`, "not JSON"},
		{"nothing", ``, "not JSON"},
		{"an interpolation stays text", `{"schemaVersion":1,"runtime":{"worktreeRoot":"\\(1+1)"}}`, ""},
		{"a surrogate pair and a slash", `{"schemaVersion":1,"runtime":{"worktreeRoot":"\ud83d\ude00\/x"}}`, ""},
		{"twice, and different", `{"schemaVersion":1,"runtime":{"maxWorkers":3,"maxWorkers":4}}`, "maxWorkers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := CheckRun("config", "c.json", []byte(c.text))
			if c.want == "" && err != nil {
				t.Error(err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestCheckRunGraphPositions(t *testing.T) {
	err := CheckRun("graph", "g.json", []byte(`{"schemaVersion":1,"tasks":[{"id":"a b","evidence":["tests"]}]}`))
	for _, want := range []string{"tasks.0.id: want 1 to 128 letters", "tasks.0.evidence.0: want command, output or artifact, perhaps with :NAME"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// An error says what is wanted in words, whatever part of a value is wrong.
func TestCheckRunWords(t *testing.T) {
	for _, c := range []struct{ kind, text, want string }{
		{"graph", `{"schemaVersion":1,"tasks":[]}`, "f.json:1:28: tasks: want a list of at least one task, got an empty list"},
		{"graph", `{"schemaVersion":1,"tasks":[{"id":"a","command":[]}]}`, "f.json:1:49: tasks.0.command: want a list: the program, and its arguments, got an empty list"},
		{"graph", `{"schemaVersion":1,"tasks":[{"id":"a","command":[""]}]}`, `f.json:1:50: tasks.0.command.0: want a string that is not empty, got ""`},
		{"active", `{"schemaVersion":1,"runId":"../../x","updatedAt":"2026-01-02T03:04:05.006Z"}`, `f.json:1:28: runId: want 1 to 64 of a-z, 0-9, dot, underscore and hyphen, the first a letter or digit or null, got "../../x"`},
		{"active", `{}`, "runId is missing; want 1 to 64 of a-z"},
	} {
		if err := CheckRun(c.kind, "f.json", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", c.text, err, c.want)
		}
	}
	if err := CheckRun("graph", "f.json", []byte(`{"schemaVersion":1,"tasks":[{"id":"a","command":["echo",""]}]}`)); err != nil {
		t.Error(err)
	}
}

// A worker that runs is written with the kernel's id of this boot.
func TestCheckRunTakesRunningWorkers(t *testing.T) {
	const workers = `{"schemaVersion":1,"runId":"r","asOf":{"seq":3,"offset":500,"sum":"00000000000000000000000000000000"},"workers":[{"id":"w.1","adapter":"command","substrate":"process","owned":true,"state":"active",
 "handle":{"pid":7,"start":9,"boot":"19cb1487-0f3a-4b0e-9d2c-5a1f8c7e6b2d","command":["sleep","600"]},"registeredAt":"2026-01-02T03:04:05.006Z","transitions":[]}]}`
	if err := CheckRun("workers", "workers.json", []byte(workers)); err != nil {
		t.Error(err)
	}
}

func TestRunFileKindsHaveSchemas(t *testing.T) {
	for kind := range runKinds {
		if err := CheckRun(kind, kind, []byte(`{"nothing of all":1}`)); err == nil || strings.Contains(err.Error(), "embedded") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func FuzzCheckRunNeverPanics(f *testing.F) {
	f.Add("config", seedConfig)
	f.Add("task-graph", `{"schemaVersion":1,"tasks":[{"id":"a","status":"pending"}]}`)
	f.Add("active", `{"schemaVersion":1,"runId":null,"updatedAt":"2026-01-02T03:04:05.006Z"}`)
	f.Fuzz(func(t *testing.T, kind, text string) { CheckRun(kind, "f.json", []byte(text)) })
}

func BenchmarkCheckRun(b *testing.B) {
	for b.Loop() {
		if err := CheckRun("config", "c.json", []byte(seedConfig)); err != nil {
			b.Fatal(err)
		}
	}
}

const seedConfig = `{
  "schemaVersion": 1,
  "storage": {"root": ".ilchul", "legacyRootPolicy": "preserve-without-active-fallback"},
  "adapters": {
    "codex": {"enabled": true, "defaultSubstrate": "tmux"},
    "pi": {"enabled": true, "defaultSubstrate": "tmux"},
    "claudeCode": {"enabled": false, "defaultSubstrate": "process"}
  },
  "runtime": {"worktreeRoot": ".ilchul/worktrees", "maxWorkers": 3, "readinessTimeoutSeconds": 60, "leaseDurationSeconds": 900, "heartbeatTimeoutSeconds": 120},
  "retention": {"completedDefault": "completed-retained", "safeCleanupRequiresCommand": true, "retainLogsDays": 7},
  "verification": {"defaultDepth": "standard", "requireEvidenceForTaskCompletion": true}
}`
