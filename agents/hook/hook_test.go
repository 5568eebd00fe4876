package hook

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
)

func TestSessionStartTellsWhoIsWho(t *testing.T) {
	b := newBench(t)
	b.claim("lead", "src")
	if err := os.MkdirAll(filepath.Join(b.root, "tasks/queue/main"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.root, "tasks/queue/main/mend-parser.yml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b.start("s1")
	got := b.start("s2").Specific
	if got.Event != "SessionStart" {
		t.Errorf("event %q", got.Event)
	}
	for _, want := range []string{"Your name there is claude-2.", "Other agents here: claude (claude)", "Others claim: src (lead).", "Open tasks: mend-parser.", "--from claude-2"} {
		if !strings.Contains(got.Context, want) {
			t.Errorf("%q is missing in\n%s", want, got.Context)
		}
	}
	for i := range 20 {
		b.claim("lead", fmt.Sprintf("a-long-folder-name-for-a-file-of-no-interest/%03d.go", i))
		b.send(ledger.Message{From: "lead", To: "claude", Type: "note", Body: strings.Repeat("word ", 2000)})
	}
	if text := b.start("s1").Specific.Context; len(text) > 12_000 {
		t.Errorf("%d bytes for the model", len(text))
	}
	if n := b.unread("claude"); n == 0 || n > 19 {
		t.Errorf("%d of 20 messages are unread: what was not written out must be", n)
	}
}

func TestNamesAreStable(t *testing.T) {
	b := newBench(t)
	name := func(session string) string {
		_, rest, _ := strings.Cut(b.start(session).Specific.Context, "Your name there is ")
		name, _, _ := strings.Cut(rest, ".")
		return name
	}
	if a, c := name("one"), name("two"); a != "claude" || c != "claude-2" {
		t.Errorf("names %s and %s", a, c)
	}
	if got := name("two"); got != "claude-2" {
		t.Errorf("after a resume: %s", got)
	}
	b.call("claude", "SessionEnd", map[string]any{"session_id": "one"})
	if got := name("three"); got != "claude" {
		t.Errorf("a seat that is free: %s", got)
	}
	b.lives("claude-2", false)
	if got := name("four"); got != "claude-2" {
		t.Errorf("the seat of a process that has ended: %s", got)
	}
	b.lives("claude", true)
	if got := name("five"); got != "claude-3" {
		t.Errorf("beside a live one: %s", got)
	}
	b.env["PI_ENSEMBLE_AGENT"] = "vm.app.claude.1f3a"
	if got := name("six"); got != "vm" { // to the first dot
		t.Errorf("a given name: %s", got)
	}
	b.env = map[string]string{"USER": "claude"}
	if got := name("seven"); got == "claude" {
		t.Error("the agent has the person's name")
	}
}

func TestHeldFilesAreRefused(t *testing.T) {
	b := newBench(t)
	b.start("me")
	b.claim("lead", "src/parser")
	b.claim("lead", "main.go")
	b.claim("claude", "own")
	for _, path := range []string{"main.go", b.root + "/main.go", "src/parser/lexer.go", "src", "src/parser"} {
		if got := b.edit("me", path).Specific; got.Decision != "deny" || !strings.Contains(got.Reason, "is claimed by lead since ") || !strings.Contains(got.Reason, "aisync ledger send lead ") {
			t.Errorf("%s: %+v", path, got)
		}
	}
	for _, path := range []string{"other.go", "own/x.go", "main.go.bak", "/etc/hosts"} {
		if got := b.edit("me", path); got.Specific.Decision != "" || got.errs != "" {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if got := b.shell("PreToolUse", "me", "cd src && echo x >parser/y.go").Specific; got.Decision != "deny" {
		t.Errorf("a redirection: %+v", got)
	}
	if got := b.shell("PreToolUse", "me", "cat main.go").Specific; got.Decision != "" {
		t.Errorf("a read: %+v", got)
	}
	if got := b.call("gemini", "PreToolUse", map[string]any{"session_id": "g", "tool_name": "replace", "tool_input": map[string]any{"file_path": "main.go"}}); got.Decision != "deny" || !strings.Contains(got.Reason, "lead") {
		t.Errorf("gemini: %+v", got)
	}
	if got := b.call("copilot", "PreToolUse", map[string]any{"sessionId": "c", "toolName": "edit", "toolArgs": `{"path":"main.go"}`}); got.Permission != "deny" || !strings.Contains(got.Why, "lead") {
		t.Errorf("copilot: %+v", got)
	}
	if got := b.call("codex", "PreToolUse", map[string]any{"session_id": "x", "tool_name": "apply_patch", "tool_input": map[string]any{"command": "*** Begin Patch\n*** Update File: main.go\n*** End Patch"}}).Specific; got.Decision != "deny" {
		t.Errorf("codex: %+v", got)
	}
}

func TestEditsAreClaimedBesideOthers(t *testing.T) {
	b := newBench(t)
	b.start("one")
	b.edit("one", "alone.go")
	if got := b.owners(); len(got) > 0 {
		t.Errorf("an agent that is alone claims %v", got)
	}
	b.start("two")
	b.lives("claude-2", true)
	b.edit("one", "both.go")
	b.edit("one", ".git/config")
	b.edit("one", "/etc/hosts")
	b.shell("PreToolUse", "one", "mkdir -p x && tee x/y.go <both.go")
	if got := b.owners(); len(got) != 2 || got["both.go"] != "claude" || got["x/y.go"] != "claude" {
		t.Errorf("claims %v", got)
	}
	if got := b.edit("two", "both.go").Specific; got.Decision != "deny" {
		t.Errorf("%+v", got)
	}
	// Its owner ends, by itself or not.
	b.lives("claude", false)
	if got := b.edit("two", "both.go").Specific; got.Decision != "" {
		t.Errorf("the claim of an agent that has ended: %+v", got)
	}
	if got := b.owners(); got["both.go"] == "claude" {
		t.Errorf("claims %v", got)
	}
	b.call("claude", "SessionEnd", map[string]any{"session_id": "two"})
	b.call("claude", "SessionEnd", map[string]any{"session_id": "one"})
	if got := b.owners(); len(got) > 0 {
		t.Errorf("after the sessions: %v", got)
	}
}

func TestMailArrivesOnce(t *testing.T) {
	b := newBench(t)
	b.start("me")
	b.send(ledger.Message{From: "lead", To: "claude", Type: "note", Body: "first"})
	if got := b.raw("claude", "UserPromptSubmit", `{"session_id":"me","cwd":"`+b.root+`"}`, broken{}); !strings.Contains(got.errs, "write the answer") {
		t.Errorf("a broken pipe: %+v", got)
	}
	if n := b.unread("claude"); n != 1 {
		t.Errorf("%d unread after a failed write", n)
	}
	if got := b.call("claude", "UserPromptSubmit", map[string]any{"session_id": "me"}).Specific.Context; !strings.Contains(got, "[note from lead, msg_") || !strings.Contains(got, "first") {
		t.Errorf("%q", got)
	}
	b.send(ledger.Message{From: "lead", To: "claude", Type: "question", Body: "second"})
	if got := b.call("claude", "PostToolUse", map[string]any{"session_id": "me", "tool_name": "Read", "agent_id": "sub"}); got.Specific.Context != "" {
		t.Errorf("a subagent got the mail: %+v", got)
	}
	if got := b.call("claude", "PostToolUse", map[string]any{"session_id": "me", "tool_name": "Read"}).Specific.Context; strings.Contains(got, "first") || !strings.Contains(got, "second") || !strings.Contains(got, "--reply-to msg_") {
		t.Errorf("%q", got)
	}
	if got := b.call("claude", "UserPromptSubmit", map[string]any{"session_id": "me"}); got.Specific.Context != "" {
		t.Errorf("again: %+v", got)
	}
	b.send(ledger.Message{From: "lead", To: "claude", Type: "note", Body: "third"})
	if got := b.call("claude", "Stop", map[string]any{"session_id": "me"}); got.Decision != "" {
		t.Errorf("a note keeps it from stopping: %+v", got)
	}
	b.send(ledger.Message{From: "lead", To: "claude", Type: "handoff", Body: "fourth"})
	if got := b.call("claude", "Stop", map[string]any{"session_id": "me"}); got.Decision != "block" || !strings.Contains(got.Reason, "third") || !strings.Contains(got.Reason, "fourth") {
		t.Errorf("%+v", got)
	}
	if got := b.call("claude", "Stop", map[string]any{"session_id": "me", "stop_hook_active": true}); got.Decision != "" {
		t.Errorf("it never stops: %+v", got)
	}
	b.call("claude", "PreCompact", map[string]any{"session_id": "me"})
	if got := b.call("claude", "UserPromptSubmit", map[string]any{"session_id": "me"}).Specific.Context; !strings.Contains(got, "Your name there is claude") {
		t.Errorf("after a compaction: %q", got)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestChangedFilesAreToldToBoth(t *testing.T) {
	b := newBench(t)
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(b.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("src/a.go", "a")
	write("src/b.go", "b")
	b.start("me")
	b.start("other")
	b.claim("claude-2", "src")
	b.claim("claude-2", "new.go")
	command := "python3 build.py"
	b.shell("PreToolUse", "me", command)
	write("src/a.go", "changed")
	write("new.go", "new")
	if got := b.shell("PostToolUse", "me", command).Specific.Context; !strings.Contains(got, "files changed that claude-2 claims: new.go, src/a.go.") {
		t.Errorf("%q", got)
	}
	mail, err := b.ledger.Unread("claude-2")
	if err != nil || len(mail) != 1 || !strings.Contains(mail[0].Body, "src/a.go") || !strings.Contains(mail[0].Body, command) || strings.Contains(mail[0].Body, "b.go") {
		t.Errorf("mail %+v, error %v", mail, err)
	}
	// What the owner may have done itself is not put on another.
	b.shell("PreToolUse", "me", command)
	b.edit("other", "src/b.go")
	write("src/b.go", "by its owner")
	if got := b.shell("PostToolUse", "me", command).Specific.Context; strings.Contains(got, "files changed") {
		t.Errorf("%q", got)
	}
}

func TestHelperLeavesGitAndMemory(t *testing.T) {
	b := newBench(t)
	b.env["AI_HELPER"] = "1"
	b.start("h")
	if got := b.shell("PreToolUse", "h", "make && git commit -am done").Specific; got.Decision != "deny" || !strings.Contains(got.Reason, "git commit -am done was not run: only the primary changes git") {
		t.Errorf("%+v", got)
	}
	for _, path := range []string{"MEMORY.md", b.root + "/home/.claude/projects/-p/memory/x.md"} {
		if got := b.edit("h", path).Specific; got.Decision != "deny" || !strings.Contains(got.Reason, "only the primary writes") {
			t.Errorf("%s: %+v", path, got)
		}
	}
	for _, line := range []string{"git status", "git log --oneline"} {
		if got := b.shell("PreToolUse", "h", line).Specific; got.Decision != "" {
			t.Errorf("%s: %+v", line, got)
		}
	}
	b.env["AI_HELPER"] = ""
	if got := b.shell("PreToolUse", "h", "git commit -am done").Specific; got.Decision != "" {
		t.Errorf("not a helper: %+v", got)
	}
}

func TestBrokenLedgerStopsNothing(t *testing.T) {
	b := newBench(t)
	b.start("me")
	if err := os.WriteFile(filepath.Join(b.root, ledger.Dir, "worktrees.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.oneLine(b.edit("me", "x.go"), "worktrees.json")
	if got := b.call("claude", "SessionStart", map[string]any{"session_id": "me"}); !strings.Contains(got.Specific.Context, "Claims: unknown") {
		t.Errorf("%+v", got)
	}
	b.oneLine(b.raw("claude", "PreToolUse", "no JSON", nil), "no JSON object")
	b.oneLine(b.raw("aider", "PreToolUse", "{}", nil), "unknown")
	if err := os.RemoveAll(filepath.Join(b.root, ledger.Dir)); err != nil {
		t.Fatal(err)
	}
	for _, event := range Events {
		b.oneLine(b.call("claude", event, map[string]any{"session_id": "me"}), "run: aisync apply")
	}
}

func (b *bench) oneLine(a answer, part string) {
	b.Helper()
	if strings.Count(a.errs, "\n") != 1 || !strings.Contains(a.errs, part) || a.Specific.Decision+a.Decision != "" {
		b.Errorf("want one line with %q: %+v", part, a)
	}
}

func TestCommitsOfHeldFiles(t *testing.T) {
	b := newBench(t)
	b.claim("lead", "src")
	commit := func(env map[string]string, paths string) (int, string) {
		var errs bytes.Buffer
		code := Call{Getenv: func(n string) string { return env[n] }, Dir: b.root, In: strings.NewReader(paths), Err: &errs, Table: lone{process.System()}, Now: time.Now()}.Commit()
		return code, errs.String()
	}
	agent := map[string]string{"PI_ENSEMBLE_AGENT": "codex"}
	for _, c := range []struct {
		env   map[string]string
		paths string
		code  int
		says  string
	}{
		{agent, "src/a.go\x00x.go\x00", 1, "src/a.go (of src) is claimed by lead"},
		{agent, "x.go\x00", 0, ""},
		{map[string]string{"PI_ENSEMBLE_AGENT": "lead"}, "src/a.go\x00", 0, ""},
		{nil, "src/a.go\x00", 0, "it is committed with your changes"},
		{map[string]string{"AI_AGENT_ID": "helper-1f3a", "AI_HELPER": "1"}, "x.go\x00", 1, "helper-1f3a is a helper"},
	} {
		code, says := commit(c.env, c.paths)
		if code != c.code || !strings.Contains(says, c.says) || c.says == "" && says != "" {
			t.Errorf("%v %q: %d %q", c.env, c.paths, code, says)
		}
	}
}
