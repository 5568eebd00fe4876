//go:build linux

package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ledgerLines is the length of the audit trail that a ledger has after years.
const ledgerLines = 100_000

// ledger is what agents call many times a minute: on a new ledger, and on one
// with a long audit trail, where appending must cost the same. PI_ENSEMBLE_PEER
// names a checkout of the original, whose overview is then measured beside ours
// (its program is taken to be bin/ensemble.mjs, or what ENSEMBLE_BIN says).
func (w *world) ledger() ([]row, error) {
	program := filepath.Join(w.dir, "ensemble")
	if err := os.Symlink(w.binary, program); err != nil {
		return nil, err
	}
	small, big := filepath.Join(w.dir, "ledger-new"), filepath.Join(w.dir, "ledger-old")
	for _, dir := range []string{small, big} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		if _, err := run(dir, nil, program, "init", "--agent", "pi"); err != nil {
			return nil, err
		}
	}
	if err := longTrail(filepath.Join(big, ".pi-ensemble/audit.jsonl")); err != nil {
		return nil, err
	}
	var rows []row
	measure := func(what, dir, against string, floor time.Duration, words ...string) (sample, error) {
		s, err := median(w.runs, dir, nil, append([]string{program}, words...)...)
		rows = append(rows, row{what: what, cost: s, against: against, floor: floor})
		return s, err
	}
	if _, err := measure("ensemble claim, cold", small, "the target, 10 ms", 10*time.Millisecond, "claim", "src"); err != nil {
		return nil, err
	}
	note, err := measure("ensemble note, new ledger", small, "", 0, "note", "a fact", "--from", "pi")
	if err != nil {
		return nil, err
	}
	if _, err := measure("ensemble note, 100,000 lines of audit trail", big, "the same on a new ledger", note.time, "note", "a fact", "--from", "pi"); err != nil {
		return nil, err
	}
	if _, err := measure("ensemble overview, 100,000 lines", big, "the target, 300 ms and 64 MB", 300*time.Millisecond, "overview"); err != nil {
		return nil, err
	}
	if peer := os.Getenv("PI_ENSEMBLE_PEER"); peer != "" {
		script := os.Getenv("ENSEMBLE_BIN")
		if script == "" {
			script = "bin/ensemble.mjs"
		}
		s, err := median(w.runs, big, nil, "node", filepath.Join(peer, script), "overview")
		if err != nil {
			return nil, err
		}
		rows[len(rows)-1].against, rows[len(rows)-1].floor = "the original", s.time
	}
	for i := range 40 {
		if _, err := run(big, nil, program, "send", fmt.Sprintf("reader-%d", i), "a question", "--from", "pi"); err != nil {
			return nil, err
		}
	}
	if _, err := measure("ensemble status, the same, 40 agents that never read", big, "the target, 300 ms", 300*time.Millisecond, "status"); err != nil {
		return nil, err
	}
	open := filepath.Join(w.dir, "ledger-open")
	if err := openLedger(open, program); err != nil {
		return nil, err
	}
	for _, words := range [][]string{{"status"}, {"overview"}, {"overview", "--json"}} {
		what := "ensemble " + strings.Join(words, " ") + ", 100,000 open messages"
		s, err := median(w.runs, open, nil, "sh", "-c", "exec "+program+" "+strings.Join(words, " ")+" >/dev/null") // 50 MB
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{what: what, cost: s, against: "the target, 300 ms and 64 MB", floor: 300 * time.Millisecond})
	}
	hooks, err := w.hooks(small)
	return append(rows, hooks...), err
}

// openLedger makes a ledger in which forty agents keep all their messages, of
// which none is done.
func openLedger(dir, program string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if _, err := run(dir, nil, program, "init", "--agent", "pi"); err != nil {
		return err
	}
	agents := filepath.Join(dir, ".pi-ensemble/agents")
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	trail, err := os.Create(filepath.Join(dir, ".pi-ensemble/audit.jsonl"))
	if err != nil {
		return err
	}
	defer trail.Close()
	// In pieces: the memory of this process would count as that of those it measures.
	lines := bufio.NewWriter(trail)
	var inboxes [40]*bufio.Writer
	for i := range inboxes {
		name := fmt.Sprintf("reader-%d", i)
		if err := os.MkdirAll(filepath.Join(agents, name), 0o700); err != nil {
			return err
		}
		f, err := os.Create(filepath.Join(agents, name, "inbox.md"))
		if err != nil {
			return err
		}
		defer f.Close()
		inboxes[i] = bufio.NewWriter(f)
		fmt.Fprintf(inboxes[i], "# inbox: %s\n\n", name)
	}
	for i := range ledgerLines {
		ts := at.Add(time.Duration(i) * time.Minute).Format("2006-01-02T15:04:05.000Z")
		to, body := fmt.Sprintf("reader-%d", i%len(inboxes)), fmt.Sprintf("Please review the change in src/parser/file%d.go, and say where your findings are", i)
		fmt.Fprintf(lines, `{"ts":%q,"action":"send","from":"pi","to":%q,"type":"handoff","body":%q,"messageId":"msg_%016x"}`+"\n", ts, to, body, i)
		fmt.Fprintf(inboxes[i%len(inboxes)], "\n## %s — pi → %s [handoff] {#msg_%016x}\n\n%s\n\n<!-- reply with: ensemble send pi \"<result>\" --from %[2]s --type result --reply-to msg_%016[3]x -->\n", ts, to, i, body)
	}
	for _, w := range append(inboxes[:], lines) {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// hooks are the calls for which a program waits at every prompt and tool, as it
// makes them: by a shell, with the input on stdin. Another agent claims a file.
func (w *world) hooks(dir string) ([]row, error) {
	for name, text := range map[string]string{
		"start": `{"session_id":"one","source":"startup"}`, "prompt": `{"session_id":"one","prompt":"go on"}`,
		"edit":  `{"session_id":"one","tool_name":"Edit","tool_input":{"file_path":"main.go"}}`,
		"shell": `{"session_id":"one","tool_name":"Bash","tool_input":{"command":"cd src && make | tee log"}}`,
		"plain": `{"session_id":"one","tool_name":"Bash","tool_input":{"command":"cd src && make 2>&1 | tail -5"}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	var rows []row
	for _, c := range []struct{ event, input, what string }{
		{"SessionStart", "start", "SessionStart"}, {"UserPromptSubmit", "prompt", "UserPromptSubmit"}, {"PreToolUse", "edit", "PreToolUse, an edit"},
		{"PreToolUse", "plain", "PreToolUse, a command"},
		{"PreToolUse", "shell", "PreToolUse, a command that writes"}, {"PostToolUse", "shell", "PostToolUse"}, {"Stop", "prompt", "Stop"},
	} {
		all, err := inTurns(w.runs, dir, w.binaries(), func(binary string) []string {
			return []string{"sh", "-c", "exec " + binary + " hook " + c.event + " --runtime claude <" + c.input + ".json"}
		})
		if err != nil {
			return nil, err
		}
		what := "aisync hook " + c.what
		for _, s := range all {
			rows = append(rows, row{what: what, cost: s, against: "the target, 10 ms", floor: 10 * time.Millisecond})
			what += ", older"
		}
	}
	return rows, nil
}

// longTrail appends messages that are done and claims that are released.
func longTrail(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range ledgerLines / 4 {
		ts := at.Add(time.Duration(i) * time.Minute).Format("2006-01-02T15:04:05.000Z")
		fmt.Fprintf(b, `{"ts":%q,"action":"send","from":"pi","to":"codex","type":"handoff","body":"Please review the change in src/parser/file%d.go, and say where your findings are","messageId":"msg_%016x"}`+"\n", ts, i, i)
		fmt.Fprintf(b, `{"ts":%q,"action":"claim","agent":"codex","path":"/p/src/parser/file%d.go","force":false}`+"\n", ts, i)
		fmt.Fprintf(b, `{"ts":%q,"action":"release","agent":"codex","path":"/p/src/parser/file%d.go","previous":{"agent":"codex","since":%q},"force":false}`+"\n", ts, i, ts)
		fmt.Fprintf(b, `{"ts":%q,"action":"done","from":"codex","messageId":"msg_%016x","body":"see docs/review.md"}`+"\n", ts, i)
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return f.Close()
}
