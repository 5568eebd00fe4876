package hook

import (
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/ledger"
)

func (b *bench) codex(event, session string) string {
	b.Helper()
	return b.call("codex", event, map[string]any{"session_id": session, "source": "startup"}).Specific.Context
}

// Mail to a seat waits for the next start of its program.
func TestMailSurvivesARestart(t *testing.T) {
	b := newBench(t)
	b.env["AI_AGENT_ID"] = "vm.app.codex.1f3a"
	if got := b.codex("SessionStart", "one"); !strings.Contains(got, "Your name there is codex.") {
		t.Fatalf("%s", got)
	}
	b.lives("codex", false)
	b.send(ledger.Message{From: "lead", To: "codex", Type: "handoff", Body: "mend the parser"})
	b.env["AI_AGENT_ID"] = "vm.app.codex.77aa"
	if got := b.codex("SessionStart", "two"); !strings.Contains(got, "Your name there is codex.") || !strings.Contains(got, "mend the parser") {
		t.Errorf("%s", got)
	}
	b.send(ledger.Message{From: "lead", To: "vm.app.codex.77aa", Type: "note", Body: "to its id"})
	time.Sleep(2 * time.Millisecond) // times in two inboxes may be equal
	b.send(ledger.Message{From: "lead", To: "codex", Type: "note", Body: "to its seat"})
	got := b.codex("UserPromptSubmit", "two")
	first, second := strings.Index(got, "[note from lead to vm.app.codex.77aa, msg_"), strings.Index(got, "[note from lead, msg_")
	if first < 0 || second < first || !strings.Contains(got, "to its id") || !strings.Contains(got, "to its seat") {
		t.Errorf("%s", got)
	}
	if got := b.codex("UserPromptSubmit", "two"); got != "" {
		t.Errorf("again: %s", got)
	}
	if b.unread("codex")+b.unread("vm.app.codex.77aa") != 0 {
		t.Error("delivered mail is unread")
	}
}

// Mail to the primary is for whichever agent leads, and for no other.
func TestMailToThePrimary(t *testing.T) {
	b := newBench(t)
	b.send(ledger.Message{From: "person", To: "primary", Type: "question", Body: "who leads?"})
	if got := b.start("one").Specific.Context; !strings.Contains(got, "You are the primary of this project: mail to primary is for you, too.") || !strings.Contains(got, "[question from person to primary, msg_") {
		t.Errorf("%s", got)
	}
	b.send(ledger.Message{From: "person", To: "primary", Type: "handoff", Body: "go on"})
	if got := b.codex("SessionStart", "two"); strings.Contains(got, "You are the primary") || strings.Contains(got, "go on") {
		t.Errorf("the second agent: %s", got)
	}
	if got := b.call("claude", "Stop", map[string]any{"session_id": "one"}); got.Decision != "block" || !strings.Contains(got.Reason, "go on") {
		t.Errorf("%+v", got)
	}
	b.send(ledger.Message{From: "person", To: "primary", Type: "handoff", Body: "for the next"})
	b.call("claude", "SessionEnd", map[string]any{"session_id": "one"})
	b.env["AI_HELPER"] = "1"
	if got := b.call("qwen", "SessionStart", map[string]any{"session_id": "h"}).Specific.Context; strings.Contains(got, "for the next") {
		t.Errorf("a helper: %s", got)
	}
	b.env["AI_HELPER"] = ""
	if got := b.codex("SessionStart", "three"); strings.Contains(got, "for the next") {
		t.Errorf("an agent that came later: %s", got)
	}
	if got := b.codex("UserPromptSubmit", "two"); !strings.Contains(got, "for the next") {
		t.Errorf("the next primary: %s", got)
	}
}

// With the end of the primary the next agent leads: its next event tells it so, once,
// and brings the mail to the primary.
func TestPrimaryPassesOn(t *testing.T) {
	for _, ends := range []func(b *bench){
		func(b *bench) { b.call("claude", "SessionEnd", map[string]any{"session_id": "one"}) },
		func(b *bench) { b.lives("claude", false) }, // killed
	} {
		b := newBench(t)
		b.start("one")
		b.lives("claude", true)
		b.codex("SessionStart", "two")
		b.codex("SessionStart", "three")
		b.send(ledger.Message{From: "person", To: "primary", Type: "handoff", Body: "go on"})
		if got := b.codex("UserPromptSubmit", "two"); got != "" {
			t.Errorf("beside the primary: %s", got)
		}
		ends(b)
		if got := b.codex("UserPromptSubmit", "three"); got != "" {
			t.Errorf("the third agent: %s", got)
		}
		if got := b.call("codex", "PreToolUse", map[string]any{"session_id": "two", "tool_name": "apply_patch", "tool_input": map[string]any{}}); got.Specific.Decision != "" || got.errs != "" {
			t.Errorf("%+v", got) // it writes the record, and tells nothing
		}
		if got := b.call("codex", "PostToolUse", map[string]any{"session_id": "two", "tool_name": "x", "agent_id": "sub"}).Specific.Context; got != "" {
			t.Errorf("a subagent: %s", got)
		}
		if got := b.codex("UserPromptSubmit", "two"); !strings.Contains(got, "You are the primary of this project: mail to primary is for you, too.") || !strings.Contains(got, "go on") {
			t.Errorf("the next primary: %s", got)
		}
		if got := b.codex("UserPromptSubmit", "two"); got != "" {
			t.Errorf("told again: %s", got)
		}
		if got := b.start("four").Specific.Context; strings.Contains(got, "You are the primary") {
			t.Errorf("a later agent: %s", got)
		}
	}
}

// An agent that another one started inherits its name, and is told once who it is.
func TestInheritedNamePrimesOnce(t *testing.T) {
	b := newBench(t)
	b.env["PI_ENSEMBLE_AGENT"] = "claude"
	b.start("one")
	if got := b.codex("SessionStart", "two"); !strings.Contains(got, "Your name there is codex.") {
		t.Errorf("%s", got)
	}
	if got := b.codex("UserPromptSubmit", "two"); got != "" {
		t.Errorf("told again: %s", got)
	}
}

// A broken inbox among several hides no mail of the others.
func TestBrokenInboxHidesNoOther(t *testing.T) {
	b := newBench(t)
	b.start("one")
	b.send(ledger.Message{From: "person", To: "claude", Type: "handoff", Body: "readable"})
	b.folderAsInbox("primary")
	got := b.call("claude", "Stop", map[string]any{"session_id": "one"})
	if got.Decision != "block" || !strings.Contains(got.Reason, "readable") || !strings.Contains(got.errs, "primary/inbox.md") {
		t.Errorf("%+v", got)
	}
}
