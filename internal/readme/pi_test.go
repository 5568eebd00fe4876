package readme

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakePi is as much of Pi as the extension uses: it hands the tool and the
// command what the test says, and runs programs as pi.exec does.
const fakePi = `
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
const make = (await import(process.argv[2])).default;
const steps = JSON.parse(readFileSync(0, "utf8"));
let tool, command, out = [];
make({
  exec: async (name, args, o) => {
    out.at(-1).args = args;
    const r = spawnSync(name, args, { cwd: o.cwd, encoding: "utf8" });
    return { stdout: r.stdout ?? "", stderr: r.stderr ?? String(r.error), code: r.status ?? 1, killed: false };
  },
  registerTool: (t) => { tool = t; },
  registerCommand: (name, c) => { command = { name, ...c }; },
});
const ctx = { cwd: process.cwd(), ui: { notify: (text, kind) => Object.assign(out.at(-1), { text, kind }) } };
for (const s of steps) {
  out.push({});
  if (s.line !== undefined) { await command.handler(s.line, ctx); continue; }
  try {
    const r = await tool.execute("1", s.tool, undefined, undefined, ctx);
    out.at(-1).text = r.content[0].text;
  } catch (e) { out.at(-1).error = e.message; }
}
console.log(JSON.stringify({ tool: tool.name, command: command.name, required: tool.parameters.required, properties: Object.keys(tool.parameters.properties), out }));
`

// The extension itself is real, and so is the program that it calls.
func TestThePiExtensionSpeaksForPi(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("needs node")
	}
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		Line *string        `json:"line,omitempty"`
		Tool map[string]any `json:"tool,omitempty"`
		want string         // in the text or the error
		args string         // of the program; "" for whatever
	}{
		{Tool: map[string]any{"action": "status"}, want: "No .pi-ensemble/ found"},
		{Tool: map[string]any{"action": "init"}, want: `"action": "init"`, args: "init --json --agent pi"},
		{Tool: map[string]any{"action": "note", "body": "--from is no flag here"}, want: `"body": "--from is no flag here"`},
		{Tool: map[string]any{"action": "send", "to": "codex", "type": "question", "body": "where?"}, want: `"type": "question"`, args: "send --json --from pi --type question -- codex where?"},
		{Tool: map[string]any{"action": "send", "to": "codex"}, want: "ensemble send: body is required"},
		{Tool: map[string]any{"action": "nonsense"}, want: "no action nonsense"},
		{Tool: map[string]any{"action": "inbox", "agent": "codex"}, want: "where?", args: "inbox --agent codex --since-last-read"},
		{Tool: map[string]any{"action": "inbox", "agent": "codex"}, want: "(nothing)"},
		{Tool: map[string]any{"action": "inbox", "agent": "codex", "sinceLastRead": false}, want: "where?", args: "inbox --agent codex --no-clear"},
		{Tool: map[string]any{"action": "inbox", "agent": "codex", "clear": true, "sinceLastRead": false}, want: "where?", args: "inbox --agent codex --clear"},
		{Tool: map[string]any{"action": "claim", "path": "src", "agent": "codex"}, want: `"action": "claim"`, args: "claim --json --agent codex -- src"},
		{Tool: map[string]any{"action": "claim", "path": "src"}, want: "Path already claimed by codex"},
		{Tool: map[string]any{"action": "claim", "path": "src", "force": true}, want: `"force": true`},
		{Tool: map[string]any{"action": "claims"}, want: `"agent": "pi"`},
		{Tool: map[string]any{"action": "release", "path": "src"}, want: `"action": "release"`},
		{Tool: map[string]any{"action": "messages", "open": true, "limit": 5}, want: `"status": "open"`, args: "messages --json --limit 5 --open"},
		{Tool: map[string]any{"action": "ack", "messageId": "msg_0123456789abcdef", "body": "seen"}, want: `"body": "seen"`},
		{Tool: map[string]any{"action": "done", "messageId": "msg_0123456789abcdef"}, want: `"action": "done"`},
		{Tool: map[string]any{"action": "board"}, want: "--from is no flag here"},
		{Tool: map[string]any{"action": "timeline", "limit": 3}, want: "resolved msg_0123456789abcdef"},
		{Tool: map[string]any{"action": "overview"}, want: "open messages (1)"},
		{Tool: map[string]any{"action": "audit", "limit": 3}, want: `"action": "done"`},
		{Tool: map[string]any{"action": "doctor"}, want: "✓ root"},
		{Line: words(`send codex "two  words" 'and more' --type handoff`), want: "sent to codex", args: "send --from pi codex two  words and more --type handoff"},
		{Line: words("inbox --agent codex"), want: "two  words and more", args: "inbox --since-last-read --agent codex"},
		{Line: words(""), want: "agents (", args: "overview"},
		{Line: words("nonsense"), want: "usage: ensemble"},
	}
	in, err := json.Marshal(steps)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	harness := filepath.Join(dir, "pi.mjs")
	if err := os.WriteFile(harness, []byte(fakePi), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", harness, filepath.Join(top, "extensions/pi/ensemble/index.js"))
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, strings.NewReader(string(in)), os.Stderr
	cmd.Env = append(os.Environ(), "PATH="+binary(t)+":"+os.Getenv("PATH"), "PI_ENSEMBLE_AGENT=", "PI_ENSEMBLE_ROOT=", "PI_ENSEMBLE_COMMAND=")
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Tool, Command        string
		Required, Properties []string
		Out                  []struct {
			Text, Error string
			Args        []string
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if want := "action agent to type body messageId replyTo path sinceLastRead clear force open limit root"; got.Tool != "ensemble" || got.Command != "ensemble" || strings.Join(got.Properties, " ") != want {
		t.Errorf("%+v", got)
	}
	for i, s := range steps {
		o := got.Out[i]
		if !strings.Contains(o.Text+o.Error, s.want) {
			t.Errorf("%v: %q %q, want %q", s.Tool, o.Text, o.Error, s.want)
		}
		if args := strings.Join(o.Args, " "); s.args != "" && args != s.args {
			t.Errorf("%v: called with %q, want %q", s.Tool, args, s.args)
		}
	}
}

func words(line string) *string { return &line }
