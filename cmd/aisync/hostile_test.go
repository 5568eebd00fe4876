package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	reports "aisync.dev/aisync/app/fleet"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
)

// evil renames a window, clears it, moves the cursor in the way of old
// terminals, reverses a line and begins another.
const evil = "\x1b]0;owned\x07\x1b[2J\u009b1;1H\u202etxt\r\nforged: all is well"

// hostileWorld is a home and a project of which everything has a bad name.
type hostileWorld struct{ root, specs, project, facts string }

func newHostileWorld(t *testing.T, host, project string) hostileWorld {
	t.Helper()
	dir, inLine := t.TempDir(), strings.ReplaceAll(evil, "\n", "")
	w := hostileWorld{root: filepath.Join(dir, "root"), specs: filepath.Join(dir, "host"), project: filepath.Join(dir, "pro"+evil), facts: filepath.Join(dir, "facts.json")}
	f, ok := hosts.Recorded("velox")
	if !ok {
		t.Fatal("no recorded facts of velox")
	}
	f.Managers, f.Programs["claude"], f.Programs["opencode"] = nil, "/usr/bin/claude", "/usr/bin/opencode"
	facts, err := json.Marshal(f)
	must(t, err)
	rules := filepath.Join("..", "..", "golden", "contract", "rulesets")
	must(t, os.CopyFS(filepath.Join(w.project, "good"), os.DirFS(rules)))
	must(t, os.CopyFS(filepath.Join(w.project, "rules"), os.DirFS(rules)))
	for path, text := range map[string]string{
		w.facts:                                string(facts),
		filepath.Join(w.specs, "velox.cue"):    "package aisync\n" + host,
		filepath.Join(w.project, "aisync.cue"): "package aisync\n" + project,
		filepath.Join(w.root, "home/me/.local/share/llm/models/"+evil+"/loose"+evil+".gguf"): "GGUF",
		filepath.Join(w.root, "home/me/.claude/rules/stray"+evil+".md"):                      "# stray\n",
		filepath.Join(w.root, "home/me/.local/state/aisync/journal/x"+evil):                  "",
		filepath.Join(w.project, ".claude/rules/stray"+evil+".md"):                           "# stray\n",
		filepath.Join(w.project, "rules/languages/elisp/claude/rules/a"+evil+".md"):          "# A " + evil + "\n",
		filepath.Join(w.project, "good/languages/elisp/claude/rules/a.md"):                   "---\npaths: [\"" + evil + "\"]\n---\n# A " + evil + "\n",
		filepath.Join(w.project, "good/languages/elisp/gitignore-add.txt"):                   "*.x" + evil + "\n",
		filepath.Join(w.project, "good/languages/elisp/githooks/pre-commit"):                 "#!/bin/sh\n# " + evil + "\n",
		filepath.Join(w.project, "good/languages/elisp/CLAUDE.md"):                           "# " + evil + "\n",
		filepath.Join(w.project, "inbox/from-agents/plain.org"):                              "#+TITLE: x" + inLine + "\n#+SENDER_RUNTIME: " + inLine + "\n\nsays " + inLine,
		filepath.Join(w.project, "inbox/from-agents/for.org"):                                "#+TARGET_AGENT_ID: velox.p.claude.a83f\n#+MODEL: " + inLine + "\n\n" + inLine,
		filepath.Join(w.project, "inbox/from-agents/x"+evil+".org"):                          "#+FROM: " + evil + "\n\nx",
		filepath.Join(w.project, ".ai/session-context.d/evil"+evil+".org"):                   "#+TITLE: " + evil + "\n#+ROLE: " + evil + "\n",
		filepath.Join(w.project, ".ai/session-context.org"):                                  "#+TITLE: " + evil + "\n#+ROLE: " + evil + "\n#+STATUS: " + evil + "\n",
		filepath.Join(w.project, ".mcp.json"):                                                `{"mcpServers": {"` + `a\u001b]0;owned\u0007` + `": {"command": "x\u001b[2J"}}}`,
	} {
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return w
}

// say runs the program with its output in a buffer, as in a pipe of a CI.
func (w hostileWorld) say(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	at := []string{"aisync", "--offline", "--root", w.root, "--host", "velox", "--config", w.specs, "--facts", w.facts, "--project", w.project}
	code = run(append(at, args...), strings.NewReader("n\n"), &o, &e, []string{"HOME=/home/me", "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"})
	return code, o.String(), e.String()
}

// playing returns where text does more to a terminal than stand there; "" for
// nowhere. A line that others began counts too.
func playing(text string) string {
	at := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && termtext.Hidden(r) })
	if forged := strings.Index("\n"+text, "\nforged:"); forged >= 0 {
		at = forged
	}
	if at < 0 && utf8.ValidString(text) {
		return ""
	}
	at = max(at, 0)
	return text[max(0, at-100):min(len(text), at+40)]
}

// quoted is text within quotes of CUE and JSON.
func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

func TestReportsContainNoControlCharacters(t *testing.T) {
	q := quoted("x" + evil)
	host := func(body string) string { return "hosts: velox: {match: {}, " + body + "}\n" }
	const plain = `runtimes: {claude: {}, opencode: {}}`
	project := func(body string) string { return "project: {" + body + "}\n" }
	const sources = `name: "p", runtimes: ["claude", "opencode"], sources: {r: "good"}, bundles: ["r//elisp"], agents: {sessions: true, ledger: true}`
	reports := [][]string{
		{"validate"}, {"plan"}, {"plan", "--diff=full"}, {"apply", "--yes"}, {"status"}, {"drift", "--fail-on", "both"}, {"doctor"}, {"context"},
		{"apply", "--yes", "--trust", "--keep-going"}, {"status"}, {"drift", "--scope", "project", "--format", "github"},
	}
	worlds := map[string][2]string{
		"files":           {host(plain), project(sources)},
		"source's files":  {host(plain), project(strings.ReplaceAll(sources, `"good"`, `"rules"`))},
		"source":          {host(plain), project(strings.ReplaceAll(sources, `"good"`, q))},
		"git source":      {host(plain), project(strings.ReplaceAll(sources, `"good"`, quoted("git::https://me.example/"+evil+"?ref=v1")))},
		"name":            {host(plain), project(strings.ReplaceAll(sources, `"p"`, q))},
		"bundle":          {host(plain), project(strings.ReplaceAll(sources, `["r//elisp"]`, "["+q+"]"))},
		"runtime":         {host(plain), project(strings.ReplaceAll(sources, `"opencode"]`, q+"]"))},
		"server's name":   {host(plain), project(sources + ", mcp: " + q + `: {command: "x"}`)},
		"server's words":  {host(plain), project(sources + ", mcp: notes: {command: " + q + ", args: [" + q + "], env: {A: " + q + "}}")},
		"server's url":    {host(plain), project(sources + ", mcp: notes: {url: " + quoted("https://x.example/"+evil) + "}")},
		"queue":           {host(plain), project(sources + ", agents: tasks: queues: [" + q + "]")},
		"unknown field":   {host(plain), project(sources + ", " + q + ": 1")},
		"own server":      {host(plain + ", mcp: notes: {command: " + q + ", env: {A: {env: " + q + "}, B: {file: " + q + "}}}"), project(sources)},
		"settings":        {host(plain + ", settings: claude: {" + q + ": " + q + ", permissions: {allow: [" + q + "]}}"), project(sources)},
		"store":           {host(plain + ", store: " + quoted("~/"+evil)), project(sources)},
		"roots":           {host(plain + ", roots: [" + quoted("~/"+evil) + "]"), project(sources)},
		"packages":        {host(plain + ", packages: [" + q + "]"), project(sources)},
		"model":           {host(plain + ", models: " + q + ": {}"), project(sources)},
		"model's quant":   {host(plain + ", models: tiny: {}"), project(sources) + `catalog: models: tiny: {}`},
		"model's source":  {host(plain+", models: tiny: {}") + `catalog: models: tiny: {license: ` + q + `, context: 2048, quants: F32: files: [{path: "tiny.gguf", size: 4, sha256: "59a6a710d9e58c690949b25c2e6f3f0fcb4d57393c2c1e1ebcf773869ecd5bcd", sources: [` + quoted("http://127.0.0.1:1/"+evil) + "]}]}\n", project(sources)},
		"model's path":    {host(plain+", models: tiny: {}") + `catalog: models: tiny: {license: "MIT", context: 2048, quants: F32: files: [{path: ` + quoted("t"+evil+".gguf") + `, size: 4, sha256: "59a6a710d9e58c690949b25c2e6f3f0fcb4d57393c2c1e1ebcf773869ecd5bcd", sources: ["http://127.0.0.1:1/"]}]}` + "\n", project(sources)},
		"service":         {host(plain + `, services: s: {kind: "external", url: ` + quoted("http://127.0.0.1:1/"+evil) + `, model: ` + q + `, apis: ["chat"]}, endpoint: "s"`), project(sources)},
		"service's name":  {host(plain + `, services: ` + q + `: {kind: "external", url: "http://127.0.0.1:1/v1", model: "m", apis: ["chat"]}`), project(sources)},
		"no CUE at all":   {host(plain), evil},
		"remark and junk": {host(plain), project(sources) + "// " + strings.ReplaceAll(evil, "\n", "") + "\n}" + evil},
	}
	runs, shown, tree := 0, map[string]bool{}, rootCommand(&cli.App{Env: environ.Env{}})
	for name, specs := range worlds {
		t.Run(name, func(t *testing.T) {
			w := newHostileWorld(t, specs[0], specs[1])
			said := 0
			try := func(args ...string) {
				code, out, errs := w.say(t, args...)
				runs++
				if c, _, _ := tree.Find(args); c != nil {
					shown[c.CommandPath()] = true
				}
				said += len(out) + len(errs)
				for stream, text := range map[string]string{"stdout": out, "stderr": errs} {
					if bad := playing(text); bad != "" {
						t.Errorf("%s (exit %d): %s has %q", strings.Join(args, " "), code, stream, bad)
					}
				}
			}
			for _, args := range reports {
				if name == "files" || args[0] != "doctor" {
					try(args...)
				}
			}
			if name == "files" {
				servers := evilServers(t)
				for _, args := range [][]string{
					{"session", "list"}, {"session", "gate"}, {"session", "close"}, {"who"}, {"roster"}, {"detect"}, {"hook", evil}, {"hook", "Stop", "--runtime", evil}, {"hook", "SessionStart", "--runtime", "claude"}, {"hook", "pre-commit"}, {"mcp"}, {"mcp", "--runtime", evil}, {"models"}, {"models", "ls"}, {"models", "du"}, {"models", "search", evil}, {"models", "adopt", "--scan"}, {"add", "model", evil}, {"add", "model", "me/" + evil}, {"add", "model", "./" + evil}, {"models", "gc", "--dry-run"}, {"models", "verify"}, {"models", "fit", evil}, {"models", "path", evil},
					{"models", "adopt", "--dry-run"}, {"services"}, {"services", "ls"}, {"services", "status", evil}, {"services", "logs", evil}, {"runtimes"}, {"runtimes", "ls"}, {"runtimes", "show", evil}, {"runtimes", "matrix"}, {"lint", w.project + "/good"}, {"lint", w.project + "/rules"}, {"lint", w.project + "/rules", "--format", "sarif"}, {"lint", w.project},
					{"import", "--dry-run"}, {"drift", "--all"}, {"prune", "--dry-run"}, {"rollback", evil}, {"show", evil}, {"adopt", evil}, {"add", "mcp", evil, evil}, {"add", "skill", evil}, {"add", "plugin", evil + "@" + evil}, {"remove", "mcp", evil}, {"remove", "skill", evil}, {"remove", "plugin", evil}, {"outdated"}, {"outdated", evil}, {"update", "--dry-run"}, {"update", evil}, {"show", "source", "r"}, {"show", "source", evil},
					{"show", "mcp", evil}, {"show", "mcp", evil + "/x"}, {"show", "mcp", "a.b/c", "--offline=false", "--registry", servers}, {"show", "mcp", "b", "--offline=false", "--registry", servers}, {"show", "mcp", "a.b/c", "--offline=false", "--registry", servers + evil},
					{"add", "mcp", "a.b/c", "--dry-run", "--offline=false", "--registry", servers}, {"add", "mcp", "a.b/c", "--package", evil, "--arg", evil + "=" + evil, "--env", "A=" + evil, "--as", evil, "--offline=false", "--registry", servers}, {"add", "mcp", "a.b/d", "--offline=false", "--registry", servers}, {"add", "mcp", "a.b/c@" + evil},
					{"lock"}, {"facts"}, {"version"}, {evil}, {"plan", "--" + evil}, {"plan", "--target", evil}, {"apply", evil}, {"launch", "--print", evil}, {"message", "send", evil, evil}, {"message", "send", evil, "--file", evil}, {"message", "send", "--list"}, {"roster", evil}, {"session", "path", evil}, {"session", "edit", evil, "--heading", evil, "--state", evil}, {"message"}, {"message", "inbox"}, {"message", "inbox", "--all"}, {"message", "read", "plain"}, {"message", "read", "for", "--take-over"}, {"message", "read", evil},
					{"drift", "--format", "junit"}, {"drift", "--format", "sarif"}, {"destroy", "--scope", "project"}, {"rollback"},
				} {
					if slices.Contains(args, "--yes") {
						t.Fatal("these only look")
					}
					try(args...)
				}
				w.ledger(t, try)
				w.work(t, try)
				w.fleet(t, try)
			}
			if said < 100 {
				t.Errorf("only %d bytes were said", said)
			}
		})
	}
	t.Logf("proof: reports=%d", runs)
	if only := flag.Lookup("test.run").Value.String(); !strings.Contains(only, "/") { // one world tells nothing of the others
		everyReaderIsAmong(t, tree, shown)
	}
}

// quiet are read-only commands that show nothing which others have said.
var quiet = map[string]string{
	"aisync completion":   "the program's own words",
	"aisync bundles":      "help",
	"aisync run":          "help",
	"aisync run worker":   "help",
	"aisync models serve": "stays, and what it says goes to those who ask it",
	"aisync session path": "a path, for programs: it is what it is",
}

// everyReaderIsAmong fails for a read-only command that is not in shown: a new command
// must be tried with bad names too.
func everyReaderIsAmong(t *testing.T, c *cobra.Command, shown map[string]bool) {
	t.Helper()
	path := c.CommandPath()
	if c.Runnable() && c.Annotations["effect"] == "read-only" && quiet[path] == "" && !shown[path] {
		t.Errorf("%s is not among the reports: show it bad names, or say in quiet why not", path)
	}
	for _, sub := range c.Commands() {
		everyReaderIsAmong(t, sub, shown)
	}
}

// fleet has machines report bad words, and shows them.
func (w hostileWorld) fleet(t *testing.T, try func(...string)) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "reports")
	must(t, os.MkdirAll(dir, 0o755))
	word := "x" + evil
	r := reports.Report{
		FormatVersion: reports.Version, Kind: reports.Kind, Hostname: word, Host: word, Made: time.Now(), Aisync: reports.Program{Version: word, OS: word, Arch: word},
		Spec: reports.Spec{Error: word, Digest: word, Commit: word, Date: word}, Bases: []reports.Base{{Name: word, Pin: word}},
		Runtimes: []reports.Runtime{{ID: word, Version: word, State: reports.Outside, Wanted: word, Why: word}, {ID: word, State: word}},
		Pins:     []reports.Pin{{Kind: word, Name: word, At: word}}, Drift: reports.Drift{Addresses: []string{word}},
	}
	text, err := json.Marshal(r)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "a.json"), text, 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "b.json"), []byte(evil), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, strings.ReplaceAll(evil, "/", "")+".json"), text[:len(text)/2], 0o644))
	for _, args := range [][]string{{"report"}, {"fleet", dir}, {"fleet", evil}} {
		try(args...)
	}
}

// ledger fills one with bad words, and shows all of it.
func (w hostileWorld) ledger(t *testing.T, try func(...string)) {
	t.Helper()
	in := func(args ...string) []string { return append([]string{"ledger", "--root", w.project}, args...) }
	for _, args := range [][]string{
		{"init"}, {"send", "codex", evil, "--from", "pi"}, {"note", evil, "--from", "pi"}, {"claim", "src/" + evil, "--agent", "pi"}, {"send", evil, "x", "--from", evil},
		{"inbox", "--agent", "codex"}, {"claims"}, {"status"}, {"board"}, {"messages"}, {"audit"}, {"timeline"}, {"overview"}, {"stale", "--days", "0"}, {"verify"}, {"doctor"}, {"top"}, {"release", "src/" + evil, "--agent", "pi"}, {"ack", evil}, {"retire", evil, "--dry-run"},
	} {
		try(in(args...)...)
	}
	must(t, os.MkdirAll(filepath.Join(w.project, ".pi-ensemble"), 0o700))
	must(t, os.WriteFile(filepath.Join(w.project, ".pi-ensemble/audit.jsonl"), []byte(`{"ts":"`+evil+`"}`), 0o600))
	must(t, os.WriteFile(filepath.Join(w.project, ".pi-ensemble/blackboard.md"), []byte("# "+evil+"\n### "+evil+"\n- **From**: "+evil+"\n"), 0o600))
	for _, args := range [][]string{{"doctor"}, {"verify"}, {"top"}, {"status"}, {"board"}, {"audit"}, {"timeline"}, {"overview"}, {"messages"}, {"inbox", "--agent", "pi"}} {
		try(in(args...)...)
	}
}

func TestQuotedNamesSurviveShells(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	for _, name := range []string{evil, "it's\n\\x", "\x01" + `2\'`, "\xff\xfe"} {
		quoted := shellquote.Terminal(name)
		out, err := exec.Command(bash, "-c", "printf %s "+quoted).Output()
		if err != nil || string(out) != name || termtext.Safe(quoted) != quoted {
			t.Errorf("%q is quoted as %q, and that is %q, %v", name, quoted, out, err)
		}
	}
}
