package hook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Gemini calls PreCompress before each request: its model is told anew after a
// compaction alone.
func TestPreCompactThatOnlyLooksTellsNothingAnew(t *testing.T) {
	b := newBench(t)
	log := filepath.Join(b.root, "session.jsonl")
	add := func(line string) {
		t.Helper()
		f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(line + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	call := func(event, trigger string) answer {
		t.Helper()
		return b.call("gemini", event, map[string]any{"session_id": "me", "trigger": trigger, "transcript_path": log})
	}
	told := func() bool {
		t.Helper()
		return strings.Contains(call("UserPromptSubmit", "").Specific.Context, "Your name there is gemini")
	}
	call("SessionStart", "")
	add(`{"type":"user","content":[{"text":"what is a <state_snapshot>?"}]}`)
	for _, c := range []struct {
		what, line, trigger string
		told                bool
	}{
		{"nothing new", "", "auto", false},
		{"a prompt with the word", `{"type":"user","content":[{"text":"and a <state_snapshot> now?"}]}`, "auto", false},
		{"a compaction", `{"$set":{"messages":[{"content":[{"text":"<state_snapshot>one</state_snapshot>"}]}]}}`, "auto", true},
		{"the same history with a masked output", `{"$set":{"messages":[{"content":[{"text":"<state_snapshot>one</state_snapshot>"}]}]}}`, "auto", false},
		{"another compaction", `{"$set":{"messages":[{"content":[{"text":"<state_snapshot>two</state_snapshot>"}]}]}}`, "auto", true},
		{"a person's command", "", "manual", true},
	} {
		if c.line != "" {
			add(c.line)
		}
		call("PreCompact", c.trigger)
		if got := told(); got != c.told {
			t.Errorf("%s: told %v", c.what, got)
		}
	}
	b.call("claude", "SessionStart", map[string]any{"session_id": "other"})
	b.call("claude", "PreCompact", map[string]any{"session_id": "other", "trigger": "auto"})
	if a := b.call("claude", "UserPromptSubmit", map[string]any{"session_id": "other"}); !strings.Contains(a.Specific.Context, "Your name there is claude") {
		t.Errorf("claude: %+v", a)
	}
}
