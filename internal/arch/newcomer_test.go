package arch

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newcomer is the entry of a runtime that the catalog does not have. Its id, its
// program and its processes have different names, so that none stands for another.
const newcomer = `package runtimes

newcomer: {
	displayName: "The Newcomer"
	command:     "newcomer-cli"
	packages: npm: "@example/newcomer"
	homepage: "https://example.org/newcomer"
	hooks:    "manual"
	mcp:      true
	apis: ["chat"]
	detect: {
		processes: ["newcomer-agent"]
		markers: [{name: "NEWCOMER_SESSION", strength: "proof"}]
	}
	session: idVars: ["NEWCOMER_SESSION"]
	launch: {
		args: ["--plain"]
		interactive: ["--ask", "{prompt}"]
		headless: ["--once", "{prompt}"]
		reads: "NOTES.md": ["--notes", "NOTES.md"]
		environment: NEWCOMER_QUIET: "1"
	}
	driver: {
		order: 9
		file:  "newcomer.json"
		settings: [{path: "newcomer.json", format: "json", pointer: "/updates", value: false}]
		environment: NEWCOMER_CONFIG: "{file}"
	}
	user: {
		dir: "~/.newcomer"
		endpoint: [{path: "~/.newcomer/newcomer.json", format: "json", pointer: "/server", value: {at: "{url}/v1", model: "{model}"}}]
	}
	project: {
		dir:   ".newcomer"
		rules: ".newcomer/rules"
		rulesForm: "paths"
		rulesBlock: "AGENTS.md"
		instructions: ["AGENTS.md"]
		settings: {path: ".newcomer/settings.json", format: "json"}
		mcp: {path: ".newcomer/settings.json", format: "json", pointer: "/servers", shape: "claude"}
		obeys: [{
			files: [".newcomer/settings.json"], format: "json"
			effects: [{key: "/servers/*", class: "runs", says: "starts the MCP server {1}: {value}"}]
			source: "https://example.org/newcomer/settings"
		}]
	}
}
`

// standIn says of itself that it is no agent. It writes down how it was started
// and what aisync detects from within it, and goes on as a process of the name
// that the entry has, until it is told to end.
const standIn = `#!/bin/sh
echo "a stand-in for the program of a runtime, which is no agent"
[ "$1" = --version ] && exit
printf '%s\n' "$@" >"$HOME/arguments"
env >"$HOME/environment"
export NEWCOMER_SESSION=s1
aisync detect --json >"$HOME/detected.new"
mv "$HOME/detected.new" "$HOME/detected"
exec newcomer-agent "$HOME/end"
`

// waits is the process that the stand-in goes on as.
const waits = `#!/bin/sh
while [ ! -e "$1" ]; do sleep 0.05; done
`

// A runtime is one file: a clone of the module in which nothing but that file and
// what go generate makes of it is new finds, plans, writes, starts, lists and
// examines the program.
func TestARuntimeIsOneFile(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program in a clone")
	}
	clone, world := cloneOfModule(t), t.TempDir()
	put(t, clone, "catalog/runtimes/newcomer.cue", newcomer)
	goIn(t, clone, "generate", "./catalog")
	goIn(t, clone, "build", "-o", filepath.Join(world, "bin", "aisync"), "./cmd/aisync")
	put(t, world, "bin/newcomer-cli", standIn)
	put(t, world, "bin/newcomer-agent", waits)
	put(t, world, "home/.config/aisync/host.cue", `package aisync

hosts: me: {
	match: {}
	runtimes: {newcomer: {}, "local-openai": {cli: "newcomer"}}
	services: near: {kind: "external", url: "http://127.0.0.1:9/v1", model: "tiny", apis: ["chat"]}
	endpoint: "near"
}
`)
	put(t, world, "app/aisync.cue", `package aisync

project: {
	name:     "app"
	runtimes: ["newcomer"]
	sources: rules: "../rules"
	bundles: ["rules//go"]
	mcp: notes: command: "notes-mcp"
}
`)
	put(t, world, "app/NOTES.md", "notes\n")
	put(t, world, "rules/languages/go/common/rules/go.md", "# Go\n\nRun gofmt.\n")
	m := machine{t, world}

	m.has("facts --json", `"newcomer-cli": "`+world+`/bin/newcomer-cli"`)
	m.has("runtimes ls", "newcomer")
	m.has("runtimes show newcomer", "The Newcomer", "newcomer-cli")
	m.has("plan", "file:.newcomer/rules/go.md", "file:.newcomer/settings.json", "~/.config/rulesets/runtimes/local-openai/newcomer.json")
	m.has("apply --yes --trust", "Applied")
	m.holds("app/.newcomer/rules/go.md", "Run gofmt.")
	m.holds("app/.newcomer/settings.json", `"notes-mcp"`)
	m.holds("home/.config/rulesets/runtimes/local-openai/newcomer.json", `"updates": false`, `"at": "http://127.0.0.1:9/v1"`)
	m.has("doctor", "runtime-newcomer", "runtime-local-openai")
	m.has("launch --list-runtimes", "The Newcomer", "near")
	m.has("launch --print --runtime newcomer .", "newcomer-cli --plain --notes NOTES.md --ask")
	m.has("launch --print --runtime tiny .", "newcomer-cli --plain", "NEWCOMER_CONFIG="+world+"/home/.config/rulesets/runtimes/local-openai/newcomer.json")

	agent := m.command("launch --no-tmux --runtime newcomer .")
	var said bytes.Buffer
	agent.Stdout, agent.Stderr = &said, &said
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	defer agent.Wait()
	defer put(t, world, "home/end", "")
	detected := func() bool { _, err := os.Stat(filepath.Join(world, "home/detected")); return err == nil }
	for end := time.Now().Add(20 * time.Second); !detected() || !strings.Contains(m.out("roster --json"), `"runtime": "newcomer"`); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the roster has no agent:\n%s\nlaunch says:\n%s", m.out("roster --json"), said.String())
		}
	}
	m.holds("home/arguments", "--plain\n--notes\nNOTES.md\n--ask\n")
	m.holds("home/environment", "NEWCOMER_QUIET=1\n", "AI_RUNTIME=newcomer\n")
	m.holds("home/detected", `"runtime": "newcomer"`, `"session_id": "s1"`)
}

// machine is a person's machine in a folder: home, bin and app, a project.
type machine struct {
	t   *testing.T
	dir string
}

func (m machine) command(words string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Minute)
	m.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, filepath.Join(m.dir, "bin", "aisync"), strings.Fields(words)...)
	cmd.Dir = filepath.Join(m.dir, "app")
	cmd.Env = []string{"HOME=" + m.dir + "/home", "PATH=" + m.dir + "/bin:/usr/bin:/bin", "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8"}
	return cmd
}

// out is what a command prints, whatever its exit code.
func (m machine) out(words string) string {
	m.t.Helper()
	out, err := m.command(words).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.t.Fatalf("aisync %s: %v", words, err)
	}
	return string(out)
}

func (m machine) has(words string, all ...string) {
	m.t.Helper()
	out := m.out(words)
	for _, want := range all {
		if !strings.Contains(out, want) {
			m.t.Errorf("aisync %s does not say %q:\n%s", words, want, out)
		}
	}
}

func (m machine) holds(name string, all ...string) {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, name))
	for _, want := range all {
		if err != nil || !strings.Contains(string(text), want) {
			m.t.Errorf("%s does not hold %q (%v):\n%s", name, want, err, text)
		}
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// cloneOfModule copies what the program is built from.
func cloneOfModule(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	clone := t.TempDir()
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		switch base := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && rel != "." && (strings.HasPrefix(base, ".") || base == "testdata" || rel == "bin"):
			return fs.SkipDir
		case !d.Type().IsRegular() || strings.HasSuffix(base, "_test.go") || filepath.Dir(rel) == "." && !strings.HasPrefix(base, "go."):
			return nil
		}
		text, err := os.ReadFile(name)
		if err == nil {
			put(t, clone, rel, string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return clone
}

// goIn runs the go command in a clone, with the modules that are there already.
func goIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command to build a clone with")
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if bytes.Contains(out, []byte("GOPROXY=off")) {
		t.Skipf("modules are missing in the cache: %s", out)
	}
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
