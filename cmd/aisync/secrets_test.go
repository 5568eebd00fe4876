package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/secret/secrettest"
)

// secretFixture is a home and two projects with configuration that holds secrets.
type secretFixture struct {
	dir, home, project, rulesync string
	samples                      []secrettest.Sample
	placed                       map[string]int // files by the number of secrets put there
}

// take removes count samples that fit.
func (f *secretFixture) take(count int, fits func(secrettest.Sample) bool) []secrettest.Sample {
	var out, rest []secrettest.Sample
	for _, s := range f.samples {
		if len(out) < count && fits(s) && !strings.Contains(s.Value, "\n") {
			out = append(out, s)
		} else {
			rest = append(rest, s)
		}
	}
	f.samples = rest
	return out
}

func anySample(secrettest.Sample) bool        { return true }
func knownSample(s secrettest.Sample) bool    { return s.Known }
func textSample(s secrettest.Sample) bool     { return s.Text }
func addressSample(s secrettest.Sample) bool  { return strings.HasPrefix(s.Value, "https://") }
func variableName(s secrettest.Sample) string { return strings.ReplaceAll(s.Name, "-", "_") }

// write writes one file; holds is how many secrets are in it.
func (f *secretFixture) write(t *testing.T, path, text string, holds int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	f.placed[path] = holds
}

func (f *secretFixture) json(t *testing.T, path string, v any, holds int) {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	f.write(t, path, string(text)+"\n", holds)
}

// servers returns MCP servers with six secrets: in the environment, after a flag, in
// an argument, in an address and in headers.
func (f *secretFixture) servers(prefix string) map[string]any {
	env := f.take(3, anySample)
	args := f.take(1, knownSample)
	headers := f.take(1, anySample)
	address := f.take(1, addressSample)
	out := map[string]any{
		prefix + "plain": map[string]any{"command": "npx", "args": []any{"-y", "@acme/plain-mcp@1.2.3"}, "env": map[string]any{"MAX_TOKENS": "64000", "LOG_LEVEL": "debug"}},
	}
	vars := map[string]any{}
	for _, s := range env {
		vars[variableName(s)] = s.Value
	}
	out[prefix+"env"] = map[string]any{"command": "env-mcp", "env": vars}
	for _, s := range args {
		out[prefix+"args"] = map[string]any{"command": "args-mcp", "args": []any{"--dsn", s.Value}}
	}
	for _, s := range headers {
		out[prefix+"headers"] = map[string]any{"url": "https://mcp.corp/" + prefix, "headers": map[string]any{"X-Api-Key": s.Value}}
	}
	for _, s := range address {
		out[prefix+"address"] = map[string]any{"url": s.Value}
	}
	return out
}

// settings are those of Claude Code with four secrets and as many harmless values.
func (f *secretFixture) settings() map[string]any {
	env := map[string]any{"MAX_THINKING_TOKENS": "31999"}
	for _, s := range f.take(2, anySample) {
		env[variableName(s)] = s.Value
	}
	hook, allow := f.take(1, knownSample)[0], f.take(1, textSample)[0]
	return map[string]any{
		"model": "opus", "env": env,
		"permissions": map[string]any{"allow": []any{"Bash(make test)", "Bash(curl -H 'X: " + allow.Value + "' *)"}},
		"hooks": map[string]any{"PostToolUse": []any{map[string]any{"matcher": "Edit", "hooks": []any{
			map[string]any{"type": "command", "command": "notify --dsn '" + hook.Value + "'"},
			map[string]any{"type": "command", "command": "make fmt"},
		}}}},
	}
}

// text is Markdown with one secret, and a harmless one beside it.
func (f *secretFixture) text(t *testing.T, path, front string) {
	t.Helper()
	s := f.take(1, textSample)[0]
	f.write(t, path, front+"# Deploy\n\nCall it so:\n\n    export "+variableName(s)+"='"+s.Value+"'\n", 1)
	f.write(t, filepath.Join(filepath.Dir(path), "fine"+filepath.Ext(path)), front+"# Fine\n\nSet `API_KEY=YOUR_API_KEY` first.\n", 0)
}

func newSecretFixture(t *testing.T) *secretFixture {
	t.Helper()
	dir := t.TempDir()
	f := &secretFixture{dir: dir, home: filepath.Join(dir, "home"), samples: secrettest.Samples(), placed: map[string]int{}}
	f.project, f.rulesync = filepath.Join(f.home, "code/shop"), filepath.Join(f.home, "code/sync")
	in, at := f.project, filepath.Join
	f.json(t, at(in, ".mcp.json"), map[string]any{"mcpServers": f.servers("a")}, 6)
	f.json(t, at(in, ".cursor/mcp.json"), map[string]any{"mcpServers": f.servers("b")}, 6)
	f.json(t, at(in, ".vscode/mcp.json"), map[string]any{"servers": f.servers("c")}, 6)
	f.json(t, at(in, ".github/mcp.json"), map[string]any{"mcpServers": f.servers("d")}, 6)
	f.json(t, at(in, ".gemini/settings.json"), map[string]any{"mcpServers": f.servers("e"), "model": map[string]any{"name": "gemini-2.5-pro"}}, 6)
	f.json(t, at(in, "opencode.json"), map[string]any{"mcp": f.servers("f"), "provider": map[string]any{"a": map[string]any{"options": map[string]any{"apiKey": f.take(1, anySample)[0].Value}}}}, 7)
	f.json(t, at(in, ".claude/settings.json"), f.settings(), 4)
	for _, list := range []string{".cursor/hooks.json", ".cursor/cli.json"} {
		f.json(t, at(in, list), map[string]any{"version": 1, "hooks": map[string]any{"stop": []any{
			map[string]any{"command": "say --dsn '" + f.take(1, knownSample)[0].Value + "'"}, map[string]any{"command": "make lint"}}}}, 1)
	}
	toml := f.take(5, func(s secrettest.Sample) bool { return s.Known && !strings.ContainsAny(s.Value, `"\`) })
	f.write(t, at(in, ".codex/config.toml"), fmt.Sprintf("model = \"gpt-5\"\n\n[mcp_servers.g]\ncommand = \"g-mcp\"\nargs = [\"--dsn\", %q]\n\n[mcp_servers.h]\ncommand = \"h-mcp\"\nenv = { A = %q, B = %q }\n\n[mcp_servers.i]\nurl = \"https://mcp.corp/i\"\nhttp_headers = { X-Team = %q }\n\n[shell_environment_policy.set]\nC = %q\n",
		toml[0].Value, toml[1].Value, toml[2].Value, toml[3].Value, toml[4].Value), 5)
	for _, name := range []string{"CLAUDE.md", ".claude/rules/a.md", ".claude/commands/a.md", ".claude/output-styles/a.md", ".cursor/commands/a.md", ".github/copilot-instructions.md", ".github/prompts/a.prompt.md", ".gemini/commands/a.md"} {
		f.text(t, at(in, name), "")
	}
	f.text(t, at(in, ".claude/agents/a.md"), "---\nname: a\ndescription: reviews\n---\n")
	f.text(t, at(in, ".cursor/rules/a.mdc"), "---\ndescription: deploys\nglobs: '*.go'\n---\n")
	f.text(t, at(in, ".claude/skills/deploy/SKILL.md"), "---\nname: deploy\ndescription: deploys\n---\n")
	f.text(t, at(in, ".claude/hooks/a.sh"), "#!/bin/sh\n")
	f.text(t, at(in, ".opencode/plugins/a.js"), "//\n")
	f.write(t, at(in, ".claude/skills/fine/SKILL.md"), "---\nname: fine\ndescription: does well\n---\n\nDo well.\n", 0)
	f.write(t, at(in, "AGENTS.md"), "# Shop\n\nRun `make`.\n", 0)

	in = f.rulesync
	f.json(t, at(in, ".rulesync/mcp.json"), map[string]any{"mcpServers": f.servers("r")}, 6)
	f.json(t, at(in, ".rulesync/hooks.json"), map[string]any{"hooks": map[string]any{"stop": []any{map[string]any{"command": "say --dsn '" + f.take(1, knownSample)[0].Value + "'"}, map[string]any{"command": "make lint"}}}}, 1)
	f.json(t, at(in, ".rulesync/permissions.json"), map[string]any{"permission": map[string]any{"bash": map[string]any{"make *": "allow", "curl " + f.take(1, textSample)[0].Value: "allow"}}}, 1)
	f.write(t, at(in, "rulesync.jsonc"), "{\"targets\": [\"claudecode\", \"codexcli\"]}\n", 0)
	f.text(t, at(in, ".rulesync/rules/a.md"), "")
	f.text(t, at(in, ".rulesync/commands/a.md"), "")
	f.text(t, at(in, ".rulesync/subagents/a.md"), "---\nname: a\ndescription: reviews\n---\n")

	in = f.home
	f.json(t, at(in, ".claude.json"), map[string]any{"mcpServers": f.servers("u")}, 6)
	f.json(t, at(in, ".claude/settings.json"), f.settings(), 4)
	f.json(t, at(in, ".cursor/mcp.json"), map[string]any{"mcpServers": f.servers("v")}, 6)
	f.json(t, at(in, ".gemini/settings.json"), map[string]any{"mcpServers": f.servers("w")}, 6)
	f.text(t, at(in, ".claude/rules/a.md"), "")
	f.text(t, at(in, ".claude/skills/deploy/SKILL.md"), "---\nname: deploy\ndescription: deploys\n---\n")
	// All that is left, one server for each.
	rest := map[string]any{}
	for i, s := range f.samples {
		rest["x"+fmt.Sprint(i)] = map[string]any{"command": "x-mcp", "env": map[string]any{variableName(s): s.Value}}
	}
	f.json(t, at(in, ".config/opencode/opencode.json"), map[string]any{"mcp": rest}, len(rest))
	f.samples = nil
	for _, p := range []string{f.project, f.rulesync} {
		if out, err := exec.Command("git", "init", "-q", "-b", "main", p).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return f
}

// run runs aisync in dir and returns all that it prints.
func (f *secretFixture) run(dir string, args ...string) string {
	cmd := exec.Command("aisync", args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + f.home, "PATH=" + os.Getenv("PATH"), "AISYNC_OFFLINE=1", "AISYNC_LOG=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", quickRaceExit}
	out, _ := cmd.CombinedOutput() // what a conflict comes to is not asked here
	return string(out)
}

// held returns the samples whose secret is in text. No secret has a byte that JSON
// writes in another way.
func held(text string) (names []string) {
	for _, s := range secrettest.Samples() {
		if strings.Contains(text, s.Secret) {
			names = append(names, s.Name)
		}
	}
	return names
}

// check fails for each secret in a file that aisync wrote. It leaves out the backups
// of originals, in the state folder that only its owner can open, and counts them.
func (f *secretFixture) check(t *testing.T, before map[string]string, after string) (backups int) {
	t.Helper()
	err := filepath.WalkDir(f.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.Contains(path, "/.git/") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		names := held(string(b))
		switch {
		case len(names) == 0:
		case before[path] != "":
			for _, name := range names {
				if !strings.Contains(" "+strings.Join(held(before[path]), " ")+" ", " "+name+" ") {
					t.Errorf("%s: %s is new in %s", after, name, path)
				}
			}
		case strings.Contains(path, "/.local/state/aisync/backups/"):
			backups++
		default:
			t.Errorf("%s: %s is in %s", after, names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(f.home, ".local/state/aisync")
	if info, err := os.Stat(state); err == nil && info.Mode().Perm() != 0o700 {
		t.Errorf("%s has mode %o", state, info.Mode().Perm())
	}
	return backups
}

// The secrets that people have in their files are in no file that aisync writes and in
// nothing that it prints; all that is no secret comes in.
func TestNoSecretLeavesItsFile(t *testing.T) {
	f := newSecretFixture(t)
	total, before := 0, map[string]string{}
	for path, n := range f.placed {
		total += n
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before[path] = string(b)
	}
	if total != 200 {
		t.Fatalf("%d secrets are placed", total)
	}
	say := func(dir string, args ...string) string {
		t.Helper()
		out := f.run(dir, args...)
		if names := held(out); len(names) > 0 {
			var lines []string
			for line := range strings.Lines(out) {
				if len(held(line)) > 0 {
					lines = append(lines, line[:min(len(line), 300)])
				}
			}
			t.Errorf("aisync %s prints %s:\n%s", strings.Join(args, " "), names, strings.Join(lines, "\n"))
		}
		return out
	}
	say(f.home, "init")
	for _, scope := range []struct {
		dir   string
		flags []string
	}{{f.home, []string{"--scope", "host"}}, {f.project, nil}, {f.rulesync, nil}} {
		say(scope.dir, append([]string{"import", "--dry-run"}, scope.flags...)...)
		say(scope.dir, append([]string{"import", "--dry-run", "--json"}, scope.flags...)...)
		out := say(scope.dir, append([]string{"import"}, scope.flags...)...)
		if strings.Contains(out, "aisync: error") || !strings.Contains(out, "wrote") {
			t.Errorf("import in %s:\n%s", scope.dir, out)
		}
	}
	for _, want := range []string{".mcp.json:", "not copied, it holds ", ".claude/rules/a.md:5)", "a skill comes in whole"} {
		if out := f.run(f.project, "import", "--dry-run"); !strings.Contains(out, want) {
			t.Errorf("an import does not print %q:\n%s", want, out)
		}
	}
	made := ""
	if err := filepath.WalkDir(f.project, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && before[path] == "" {
			var b []byte
			b, err = os.ReadFile(path)
			made += string(b)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`MAX_TOKENS: "64000"`, "aplain:", "bplain:", "YOUR_API_KEY", "Do well", "MAX_THINKING_TOKENS", "make fmt", "Bash(make test)", `"opus"`, "make lint"} {
		if !strings.Contains(made, want) {
			t.Errorf("%s did not come in", want)
		}
	}
	look := func(dirs ...string) {
		t.Helper()
		defer f.check(t, before, "looking around")
		for _, dir := range dirs {
			for _, args := range [][]string{{"validate"}, {"plan"}, {"plan", "--diff=full"}, {"status", "--all"}, {"drift"}, {"doctor", "--offline"}, {"context"}} {
				say(dir, args...)
				if args[len(args)-1] != "--diff=full" {
					say(dir, append(args, "--json")...)
				}
			}
		}
	}
	f.check(t, before, "import")
	look(f.home, f.project, f.rulesync)
	say(f.project, "plan", "--out", filepath.Join(f.home, "saved.plan"))
	say(f.project, "show", filepath.Join(f.home, "saved.plan"))
	say(f.project, "lint", ".aisync")
	say(f.project, "add", "mcp", "typed", "--env", "GITHUB_TOKEN="+secrettest.Samples()[5].Value, "--env", "STORE="+secrettest.Samples()[125].Value, "--", "typed-mcp")
	say(f.project, "add", "mcp", "remote", "--json", "--url", "https://mcp.corp/x", "--header", "Authorization=Bearer "+secrettest.Samples()[0].Value)
	for _, i := range []int{0, 82, 120, 140, 150} {
		s := secrettest.Samples()[i]
		if out := say(f.project, "add", "mcp", "refused", "--", "x-mcp", "--"+strings.ReplaceAll(s.Name, "_", "-"), s.Value); !strings.Contains(out, "nothing was written") {
			t.Errorf("%s is taken as an argument:\n%s", s.Name, out)
		}
	}
	say(f.project, "add", "mcp", "refused", "--url", "https://mcp.corp/sse?api_key="+secrettest.Samples()[0].Value)
	say(f.project, "apply", "--yes", "--trust", "--keep-going")
	say(f.project, "adopt", "file:.mcp.json")
	f.check(t, before, "adopt")
	say(f.project, "apply", "--yes", "--trust", "--adopt")
	say(f.home, "apply", "--yes", "--trust", "--adopt", "--scope", "host")
	look(f.project)
	rule := filepath.Join(f.project, ".claude/rules/fine.md")
	f.write(t, rule, "# Fine\n\nUse "+secrettest.Samples()[5].Value+"\n", 0)
	before[rule] = "Use " + secrettest.Samples()[5].Value
	if out := say(f.project, "adopt", "file:.claude/rules/fine.md", "--to-bundle"); !strings.Contains(out, "a bundle is made for git") {
		t.Errorf("adopt --to-bundle:\n%s", out)
	}
	say(f.project, "apply", "--yes", "--trust", "--force", "--restore", "--json")
	look(f.project)
	if f.check(t, before, "apply --force") == 0 {
		t.Error("no original was kept: the case does not replace any")
	}
}

// Values that are no secrets come in as they are.
func TestHarmlessValuesAreImported(t *testing.T) {
	dir := t.TempDir()
	f := &secretFixture{dir: dir, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "home/code/shop"), placed: map[string]int{}}
	servers, values := map[string]any{}, []string{}
	for i, s := range secrettest.Harmless() {
		server := map[string]any{"command": "x-mcp", "args": []any{"--" + strings.Trim(s.Name, "*/"), s.Value}}
		if !strings.ContainsAny(s.Name, "*/- ") && !strings.Contains(s.Value, "${") {
			server["env"] = map[string]any{s.Name: s.Value}
		}
		servers["h"+fmt.Sprint(i)] = server
		values = append(values, s.Value)
	}
	f.json(t, filepath.Join(f.project, ".mcp.json"), map[string]any{"mcpServers": servers}, 0)
	out := f.run(f.project, "import")
	spec, err := os.ReadFile(filepath.Join(f.project, "aisync.cue"))
	if err != nil {
		t.Fatal(err, out)
	}
	for i, v := range values {
		quoted, _ := json.Marshal(v) // a string: cannot fail
		if text := strings.Trim(string(quoted), `"`); !strings.Contains(string(spec), text) && !strings.Contains(string(spec), v) && !strings.Contains(v, `"`) {
			t.Errorf("%q (server h%d) did not come in", v, i)
		}
	}
	if strings.Contains(out, "kept as is: .mcp.json") || strings.Contains(out, "out of the spec") {
		t.Errorf("something was left out:\n%s", out)
	}
}
