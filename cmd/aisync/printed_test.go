package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/environ"
)

// printed is a command that a message names, and the text before it on its line.
type printed struct {
	before string
	args   []string
	line   string
	tells  bool // it says what the command does, or the command only shows something
}

// printedIn finds the commands in a text. A word belongs to a command while it
// is a subcommand, a flag or its value, or an argument that looks like none of a
// sentence: with a sign such as : or /, or in capitals, a place holder.
func printedIn(root *cobra.Command, text string) (out []printed) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		rest, before := line, ""
		for {
			head, tail, ok := strings.Cut(rest, "aisync ")
			if !ok {
				break
			}
			before, rest = before+head, tail
			if head != "" && !strings.ContainsAny(head[len(head)-1:], " (`\"") {
				before += "aisync "
				continue
			}
			var args []string
			cmd, value, words := root, false, 0
			for _, word := range strings.Fields(tail) {
				bare := strings.Trim(word, "`\"'")
				end := strings.TrimRight(bare, ".,;:)`'\"")
				sub := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == end })
				if cmd == root && sub < 0 {
					break
				}
				name, _, _ := strings.Cut(strings.TrimLeft(end, "-"), "=")
				edits := func(c *cobra.Command) bool { return c.Name() == "add" || c.Name() == "remove" }
				noun := words == 0 && cmd != root && (edits(cmd) || edits(cmd.Parent()))
				if sub >= 0 && len(args) > 0 && !cmd.HasSubCommands() || sub < 0 && !value && !noun && !strings.HasPrefix(bare, "-") && !strings.ContainsAny(end, ":/.=~*#") && strings.ToUpper(end) != end {
					break
				}
				if sub >= 0 {
					cmd = cmd.Commands()[sub]
				}
				if sub < 0 && !value && !strings.HasPrefix(bare, "-") {
					words++
				}
				flag := cmd.Flag(name)
				value = strings.HasPrefix(bare, "--") && !strings.Contains(end, "=") && flag != nil && flag.NoOptDefVal == ""
				args = append(args, end)
				if end != bare {
					break
				}
			}
			if len(args) > 0 {
				out = append(out, printed{before, args, line, strings.Contains(tail, "asks)") || slices.Contains(args, "--list")})
			}
			before += "aisync "
		}
	}
	return out
}

// printedStates are states of a project and a home, each made by a shell script
// that stands in the project, and the commands whose messages are read there.
// HOST is the host's spec, OWN the bundle of both.
var printedStates = []struct{ name, script, probes string }{
	{"nothing", `rm aisync.cue`, "plan|apply --yes|drift|status|validate|doctor --offline --no-prompt|adopt file:x|destroy --scope project --yes|rollback --yes|lock|add runtime codex|remove mcp a|import|models ls|services status|prune --yes"},
	{"new", ``, "plan|apply|drift|status|doctor --offline --no-prompt|adopt file:.mcp.json|rollback --yes|destroy --scope project --yes|import|init --here"},
	{"applied", `aisync apply --yes --trust`, "plan|apply --yes|drift|status|doctor --offline --no-prompt|adopt file:.mcp.json|rollback --list|init --here|import"},
	{"unknown address", `aisync apply --yes --trust`, "adopt file:none|apply --yes --target file:none|rollback none --yes|plan --target nothing:x"},
	{"conflict in JSON", `echo '{"mcpServers": {"a": {"command": "mine"}}}' > .mcp.json`, "plan|apply --yes --trust|drift|status|doctor --offline --no-prompt"},
	{"conflict in JSON, and more to add", `echo '{"mcpServers": {"a": {"command": "mine"}}}' > .mcp.json; sed -i 's/mcp: a/mcp: b: {command: "b"}, mcp: a/' aisync.cue`, "plan|apply --yes --trust|doctor --offline --no-prompt"},
	{"conflict in TOML", `mkdir .codex; printf '[mcp_servers.a]\ncommand = "mine"\n' > .codex/config.toml`, "plan|apply --yes --trust|doctor --offline --no-prompt"},
	{"conflict in JSONC", `printf '{"mcp": {"a": {"type": "local", "command": ["mine"]}}} // mine\n' > opencode.json`, "plan|apply --yes --trust|doctor --offline --no-prompt"},
	{"conflict in a whole file", `mkdir -p .claude/rules; echo mine > .claude/rules/go.md`, "plan|apply --yes --trust|doctor --offline --no-prompt"},
	{"conflict in a skill", `mkdir -p .claude/skills/x; echo mine > .claude/skills/x/SKILL.md`, "plan|apply --yes --trust|doctor --offline --no-prompt"},
	{"conflict in the home", `mkdir -p ~/.claude; echo '{"verbose": false}' > ~/.claude/settings.json`, "plan|apply --yes --trust|doctor --offline --no-prompt|status"},
	{"conflicts everywhere", `mkdir -p ~/.claude .claude/rules; echo '{"verbose": false}' > ~/.claude/settings.json; echo mine > .claude/rules/go.md; echo '{"mcpServers": {"a": {"command": "mine"}}}' > .mcp.json`, "plan|apply --yes --trust|doctor --offline --no-prompt"},
	{"edited JSON", `aisync apply --yes --trust; sed -i s/run-a/run-b/ .mcp.json`, "plan|apply --yes --trust|apply --yes --trust --merge|drift|status|doctor --offline --no-prompt"},
	{"edited TOML", `aisync apply --yes --trust; sed -i s/run-a/run-b/ .codex/config.toml`, "plan|apply --yes --trust|drift|doctor --offline --no-prompt"},
	{"edited whole file", `aisync apply --yes --trust; echo mine >> .claude/rules/go.md`, "plan|apply --yes --trust|apply --yes --trust --merge|drift|doctor --offline --no-prompt"},
	{"edited block", `aisync apply --yes --trust; sed -i 's/Use gofmt/Use more/' AGENTS.md`, "plan|apply --yes --trust|drift|doctor --offline --no-prompt"},
	{"edited in the home", `aisync apply --yes --trust; sed -i s/true/false/ ~/.claude/settings.json`, "plan|apply --yes --trust|drift --scope host|doctor --offline --no-prompt"},
	{"edited, and something new", `aisync apply --yes --trust; sed -i s/run-a/run-b/ .mcp.json; sed -i 's/mcp: a/mcp: b: {command: "b"}, mcp: a/' aisync.cue`, "plan|apply --yes --trust|drift|doctor --offline --no-prompt"},
	{"both moved, apart", `aisync apply --yes --trust; sed -i 's/^# Go/# Golang/' .claude/rules/go.md; echo more >> own/languages/p/common/rules/go.md`, "plan|apply --yes --trust|drift|doctor --offline --no-prompt"},
	{"both moved, together", `aisync apply --yes --trust; sed -i 's/gofmt/one/' .claude/rules/go.md; sed -i 's/gofmt/two/' own/languages/p/common/rules/go.md`, "plan|apply --yes --trust|drift|doctor --offline --no-prompt"},
	{"both moved in JSON", `aisync apply --yes --trust; sed -i s/run-a/run-b/ .mcp.json; sed -i s/run-a/run-c/ aisync.cue`, "plan|apply --yes --trust|drift|doctor --offline --no-prompt"},
	{"conflict markers", `aisync apply --yes --trust; sed -i 's/gofmt/one/' .claude/rules/go.md; sed -i 's/gofmt/two/' own/languages/p/common/rules/go.md; aisync apply --yes --trust --merge`, "plan|apply --yes --trust|drift|doctor --offline --no-prompt"},
	{"deleted", `aisync apply --yes --trust; rm .mcp.json .claude/rules/go.md`, "plan|drift|status|doctor --offline --no-prompt|adopt file:.mcp.json"},
	{"adopted, and the spec moved", `aisync apply --yes --trust; sed -i s/run-a/run-b/ .mcp.json; aisync adopt file:.mcp.json; sed -i s/run-a/run-c/ aisync.cue`, "plan|apply --yes --trust|drift|doctor --offline --no-prompt"},
	{"broken JSON", `echo '{' > .mcp.json`, "plan|apply --yes --trust|doctor --offline --no-prompt|import"},
	{"broken JSON that was made", `aisync apply --yes --trust; echo '{' > .mcp.json`, "plan|apply --yes --trust|drift|doctor --offline --no-prompt"},
	{"broken TOML", `mkdir .codex; echo '[' > .codex/config.toml`, "plan|apply --yes --trust|doctor --offline --no-prompt"},
	{"folder in the way", `mkdir .mcp.json`, "plan|apply --yes --trust|doctor --offline --no-prompt"},
	{"file in the way of a folder", `echo x > .claude`, "plan|apply --yes --trust|doctor --offline --no-prompt"},
	{"read-only", `echo '{}' > .mcp.json; chmod 444 .mcp.json`, "plan|apply --yes --trust|doctor --offline --no-prompt"},
	{"read-only that was made", `aisync apply --yes --trust; chmod 444 .mcp.json; sed -i s/run-a/run-c/ aisync.cue`, "plan|apply --yes --trust|doctor --offline --no-prompt"},
	{"dangling link", `ln -s none .mcp.json; ln -s none/x AGENTS.md`, "plan|apply --yes --trust|doctor --offline --no-prompt|import"},
	{"circle of links", `ln -s .mcp.json x.json; ln -s x.json .mcp.json`, "plan|apply --yes --trust|doctor --offline --no-prompt|import"},
	{"link out", `echo '{}' > ../out.json; ln -s ../out.json .mcp.json`, "plan|apply --yes --trust|doctor --offline --no-prompt|import"},
	{"link in place of a whole file", `mkdir -p .claude/rules; echo mine > m.md; ln -s ../../m.md .claude/rules/go.md`, "plan|apply --yes --trust|doctor --offline --no-prompt"},
	{"edited behind a link", `mkdir -p .claude/rules; cp own/languages/p/common/rules/go.md m.md; ln -s ../../m.md .claude/rules/go.md; aisync apply --yes --trust; echo mine >> m.md`, "plan|apply --yes --trust|drift|doctor --offline --no-prompt"},
	{"store link", `mkdir ../store ~/.claude; echo '{"model": "x"}' > ../store/s.json; chmod 444 ../store/s.json; ln -s $PWD/../store/s.json ~/.claude/settings.json`, "plan|apply --yes --trust|doctor --offline --no-prompt|import --scope host"},
	{"invalid spec", `echo 'project: nme: "x"' >> aisync.cue`, "plan|apply --yes|drift|validate|doctor --offline --no-prompt|add runtime gemini|import|lock"},
	{"invalid host spec", `echo 'hosts: 1' >> ~/.config/aisync/me.cue`, "plan|apply --yes|validate|doctor --offline --no-prompt|init|import --scope host"},
	{"missing source", `rm -r own`, "plan|apply --yes|drift|validate|doctor --offline --no-prompt|lint|lock"},
	{"missing bundle", `sed -i 's#own//p#own//q#' aisync.cue`, "plan|apply --yes|validate|doctor --offline --no-prompt|lock"},
	{"two that differ", `mkdir -p own/languages/q/common/rules; echo other > own/languages/q/common/rules/go.md; sed -i 's#"own//p"#"own//p", "own//q"#' aisync.cue`, "plan|apply --yes|validate|doctor --offline --no-prompt"},
	{"no host", `rm ~/.config/aisync/me.cue`, "plan|apply --yes --trust|doctor --offline --no-prompt|import --scope host|add mcp x --scope host -- x"},
	{"effects wait", ``, "apply --yes|apply --yes --keep-going|doctor --offline --no-prompt"},
	{"program removed", `aisync apply --yes --trust; sed -i 's/"codex", //' aisync.cue`, "plan|drift|doctor --offline --no-prompt"},
	{"dropped, but edited", `aisync apply --yes --trust; sed -i s/run-a/run-b/ .mcp.json; sed -i '/mcp: a/d' aisync.cue`, "plan|apply --yes|drift|doctor --offline --no-prompt"},
	{"rolled back", `aisync apply --yes --trust; aisync rollback --yes`, "plan|rollback --yes|rollback --list|drift|doctor --offline --no-prompt"},
	{"destroyed", `aisync apply --yes --trust; aisync destroy --scope project --yes`, "plan|drift|rollback --list|doctor --offline --no-prompt|destroy --scope project --yes"},
	{"not a project", `cd ~; rm -rf .git`, "plan --scope project|add mcp x -- x|drift"},
}

const printedSpec = `package aisync

project: {
	name: "p"
	runtimes: ["claude", "codex", "opencode"]
	sources: own: "./own"
	bundles: ["own//p"]
	mcp: a: {command: "run-a"}
}
`

// TestPrintedCommandsWork types each command that the messages of many states
// name, in that state: it must not be wrong usage, name what is not known, or
// leave the message that named it. Only the first message of a state is taken;
// AISYNC_TEST_PRINTED=full takes all.
func TestPrintedCommandsWork(t *testing.T) {
	if len(printedStates) < 40 {
		t.Fatalf("%d states", len(printedStates))
	}
	for _, s := range printedStates {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			root := rootCommand(&cli.App{Env: environ.Env{}}) // cobra changes commands when it looks for one
			st := &printedState{t: t, top: t.TempDir(), script: s.script}
			done := map[string]bool{}
			probes := strings.Split(s.probes, "|")
			if os.Getenv("AISYNC_TEST_PRINTED") != "full" {
				probes = probes[:1]
			}
			for _, probe := range probes {
				st.make()
				first, code := st.run(strings.Fields(probe))
				if code == cli.ExitUsage {
					t.Errorf("%s: wrong usage\n%s", probe, first)
				}
				for _, p := range printedIn(root, first) {
					if key := fmt.Sprint(p.args, p.line); !done[key] {
						done[key] = true
						st.check(root, strings.Fields(probe), p)
					}
				}
			}
		})
	}
}

type printedState struct {
	t           *testing.T
	top, script string
}

// make makes the state anew, in the same place.
func (s *printedState) make() {
	s.t.Helper()
	entries, _ := os.ReadDir(s.top)
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(s.top, e.Name())); err != nil {
			s.t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"p/aisync.cue":                               printedSpec,
		"p/own/languages/p/common/rules/go.md":       "---\npaths: [\"**/*.go\"]\n---\n# Go\n\nUse gofmt.\n\n## Tests\n\nWrite them first.\n",
		"p/own/languages/p/common/rules/all.md":      "# All\n\nUse gofmt everywhere.\n",
		"p/own/languages/p/common/skills/x/SKILL.md": "---\nname: x\ndescription: does x\n---\nDo x.\n",
		"home/.config/aisync/me.cue":                 "package aisync\n\nhosts: me: {match: {}, runtimes: {claude: {}, codex: {}, opencode: {}}, settings: claude: verbose: true}\n",
		"facts.json":                                 `{"format_version": 1, "hostname": "me", "os": "linux", "arch": "amd64", "programs": {"claude": "/bin/true", "codex": "/bin/true", "opencode": "/bin/true", "git": "git"}}`,
	} {
		name = filepath.Join(s.top, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	if out, err := s.command("sh", "-c", "git init -q . && { "+s.script+"\n:; } >/dev/null 2>&1").CombinedOutput(); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
}

func (s *printedState) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = filepath.Join(s.top, "p")
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(s.top, "home"), "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "XDG_DATA_HOME=",
		"AISYNC_CLI_ARGS=--facts "+filepath.Join(s.top, "facts.json"), "AISYNC_OFFLINE=1", "NO_COLOR=1", "COLUMNS=400", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	return cmd
}

func (s *printedState) run(args []string) (string, int) {
	s.t.Helper()
	cmd := s.command("aisync", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

// check runs the command that p names, in the state in which probe printed it.
func (s *printedState) check(root *cobra.Command, probe []string, p printed) {
	s.t.Helper()
	cmd, rest, err := root.Find(p.args)
	if err != nil {
		s.t.Errorf("%q: %v", p.line, err)
		return
	}
	args := slices.Clone(p.args)
	for i, a := range args {
		if strings.HasPrefix(a, "--") {
			name, _, _ := strings.Cut(a[2:], "=")
			if name != "help" && cmd.Flag(name) == nil && root.PersistentFlags().Lookup(name) == nil {
				s.t.Errorf("%q: %s has no flag %s", p.line, cmd.CommandPath(), a)
			}
		} else if a != "" && strings.ToUpper(a) == a && strings.ToLower(a) != a {
			return // a place holder
		} else if i > 0 && strings.ContainsAny(a, "…<>[]") {
			return
		}
	}
	if cmd != root && cmd.HasSubCommands() && len(rest) > 0 {
		s.t.Errorf("%q: %s has no command %s", p.line, cmd.CommandPath(), rest[0])
	}
	if !cmd.Runnable() || cmd.HasSubCommands() {
		return
	}
	later := false // the command comes after something else, or finds more out
	for _, word := range []string{"then", "once", "again", "next", "undo", "instead", "or with", "if ", "until", "after"} {
		later = later || strings.Contains(p.before, word)
	}
	s.make()
	s.run(probe)
	for name, value := range map[string]string{"yes": "--yes", "trust": "--trust"} {
		if cmd.Flags().Lookup(name) != nil && !slices.Contains(args, value) {
			args = append(args, value)
		}
	}
	out, code := s.run(args)
	switch {
	case code == cli.ExitUsage && len(rest) > 0, strings.Contains(out, "unknown command"), strings.Contains(out, "unknown flag"), strings.Contains(out, "unknown part"):
		s.t.Errorf("after aisync %s\n%q\naisync %s: exit code %d\n%s", strings.Join(probe, " "), p.line, strings.Join(args, " "), code, out)
	case code == cli.ExitUsage:
		// The command is named without its arguments.
	case later || p.tells || cmd.Annotations["effect"] == "read-only" || cmd.Name() == "init" || cmd.Name() == "import":
	default:
		again, _ := s.run(probe)
		if slices.ContainsFunc(strings.Split(again, "\n"), func(l string) bool { return strings.TrimSpace(l) == p.line }) {
			s.t.Errorf("after aisync %s, and again after aisync %s (exit code %d):\n%q\n%s", strings.Join(probe, " "), strings.Join(args, " "), code, p.line, out)
		}
	}
}

// Commands are found in sentences, with their arguments and without the words
// that follow.
func TestCommandsAreFoundInMessages(t *testing.T) {
	root := rootCommand(&cli.App{Env: environ.Env{}})
	for line, want := range map[string]string{
		"→ keep what is there: aisync adopt file:.mcp.json":                                  "adopt file:.mcp.json",
		"fix: aisync apply --restore --target 'file:~/x', or aisync adopt file:x to keep it": "apply --restore --target file:~/x|adopt file:x",
		"run: aisync lock, then aisync apply --target model:tiny":                            "lock|apply --target model:tiny",
		"change it there: aisync remove source own":                                          "remove source",
		"see what is asked for: aisync plan --scope host":                                    "plan --scope host",
		"use aisync services restart or stop":                                                "services restart",
		"/home/me/.config/aisync is a folder of aisync and of no command":                    "",
		"for one: aisync adopt ADDRESS; --keep-going does the rest":                          "adopt ADDRESS",
	} {
		var got []string
		for _, p := range printedIn(root, line) {
			got = append(got, strings.Join(p.args, " "))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
