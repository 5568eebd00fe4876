package hook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/catalog"
)

// Copilot calls Claude's hooks besides: the agent has one seat, is told once who it
// is, and gets its mail once.
func TestProgramThatCallsHooksOfAnother(t *testing.T) {
	b := newBench(t)
	both := func(event string) (own, others answer) {
		t.Helper()
		b.env["COPILOT_CLI"] = "1"
		others = b.call("claude", event, map[string]any{"session_id": "c"})
		own = b.call("copilot", event, map[string]any{"sessionId": "c"})
		delete(b.env, "COPILOT_CLI")
		return own, others
	}
	file := filepath.Join(b.root, ".github/hooks/aisync.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, event := range Events {
		text += `{"bash": "` + catalog.HookCommand(event, "copilot") + ` || true"}`
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	own, others := both("SessionStart")
	if !strings.Contains(own.Context, "Your name there is copilot.") || strings.Contains(own.Context, "Other agents here: claude") || others != (answer{}) {
		t.Errorf("%+v\n%+v", own, others)
	}
	b.send(ledger.Message{From: "lead", To: "copilot", Type: "note", Body: "once"})
	if own, others := both("PostToolUse"); !strings.Contains(own.Context, "once") || others != (answer{}) {
		t.Errorf("%+v\n%+v", own, others)
	}
	if names, err := os.ReadDir(filepath.Join(b.root, ".ai/session-context.d/.hooks")); err != nil || len(names) != 2 { // and the lock
		t.Errorf("seats %v, error %v", names, err)
	}
	// Claude, which copilot started, and the other way round, is itself.
	b.env["CLAUDECODE"] = "1"
	if _, others := both("SessionStart"); !strings.Contains(others.Specific.Context, "Your name there is claude.") {
		t.Errorf("%+v", others)
	}
	delete(b.env, "CLAUDECODE")

	// A program without hooks takes part by the other's, under its own name.
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	b.env["COPILOT_CLI"] = "1"
	if got := b.call("claude", "SessionStart", map[string]any{"session_id": "d"}); !strings.Contains(got.Specific.Context, "Your name there is copilot-2.") {
		t.Errorf("%+v", got)
	}
}
