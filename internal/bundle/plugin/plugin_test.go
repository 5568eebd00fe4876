package plugin

import (
	"slices"
	"strings"
	"testing"
)

var events = []string{"SessionStart", "PreToolUse", "PostToolUse", "Stop"}

func TestHooks(t *testing.T) {
	hooks, left, err := Hooks([]byte(`{"description": "later fields are ignored", "version": 9, "hooks": {
		"PreToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "a", "timeout": 1.5, "async": true}]}],
		"SessionStart": [{"matcher": "startup|clear", "hooks": [{"type": "command", "command": "b"}]}],
		"PostToolUse": [
			{"matcher": ".*", "hooks": [{"command": "c"}]},
			{"matcher": "mcp__x__.*", "hooks": [{"command": "d"}]},
			{"hooks": [{"command": "e", "if": "Bash(git push:*)"}, {"command": "e", "if": "Bash(gt submit:*)"}, {"type": "prompt", "prompt": "f"}, {"command": ""}, {"command": "${extensionPath}/x"}]}],
		"Elicitation": [{"hooks": [{"command": "g"}]}]}}`), events)
	if err != nil {
		t.Fatal(err)
	}
	claude := []string{Claude}
	want := []Hook{
		{Event: "PostToolUse", Command: "c"},
		{Event: "PostToolUse", Command: "d", Matcher: "mcp__x__.*", Runtimes: claude},
		{Event: "PostToolUse", Command: "e", If: "Bash(git push:*)", Runtimes: claude},
		{Event: "PostToolUse", Command: "e", If: "Bash(gt submit:*)", Runtimes: claude},
		{Event: "PreToolUse", Command: "a", Tools: []string{"edit"}, Timeout: 1, Matcher: "Edit|Write"},
		{Event: "SessionStart", Command: "b", Matcher: "startup|clear"},
	}
	if !slices.EqualFunc(hooks, want, func(a, b Hook) bool {
		return a.Event == b.Event && a.Command == b.Command && slices.Equal(a.Tools, b.Tools) && a.Timeout == b.Timeout &&
			a.Matcher == b.Matcher && a.If == b.If && slices.Equal(a.Runtimes, b.Runtimes)
	}) {
		t.Errorf("got %+v", hooks)
	}
	for _, why := range []string{"aisync does not know the event", "mcp__x__", "limited by if: Bash(git push:*)", "of the type prompt", "no command", `matcher "startup|clear" only Claude Code gets`, "only one program fills in its ${extensionPath"} {
		if !slices.ContainsFunc(left, func(l string) bool { return strings.Contains(l, why) }) {
			t.Errorf("%q is missing in %q", why, left)
		}
	}
	if len(left) != 8 {
		t.Errorf("%d hooks are left out: %q", len(left), left)
	}
}

func TestManifest(t *testing.T) {
	m, err := ReadManifest([]byte(`{"name": "x", "manifestVersion": 7, "skills": ["./more", "./"], "commands": "./cmd/a.md", "agents": null,
		"hooks": {"hooks": {}}, "mcpServers": {"a": {"command": "b"}}, "lspServers": "./.lsp.json"}`))
	if err != nil || !slices.Equal(m.Skills, []string{"more", "."}) || !slices.Equal(m.Commands, []string{"cmd/a.md"}) || len(m.Agents)+len(m.Hooks)+len(m.Servers) != 0 || len(m.Inline) == 0 {
		t.Errorf("%+v, %v", m, err)
	}
	for text, want := range map[string]string{
		"{\n\"skills\": \"../other\"}": "leads out of the plugin",
		`{"agents": ["./a", "/etc"]}`:  "leads out of the plugin",
		`{"commands": "..\\..\\x"}`:    "leads out of the plugin",
		`{"commands": "~/x"}`:          "leads out of the plugin",
		`{"skills": 5}`:                "want a path or a list of paths",
		"{\n\n\"name\": 5}":            ":3: ",
		`{"name": "x"`:                 "unexpected end",
		``:                             "unexpected end",
		`[]`:                           ":1: ",
		`{"name": "x"} {"name": "y"}`:  "more text after the end",
	} {
		if _, err := ReadManifest([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), ":") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestMarketplace(t *testing.T) {
	m, err := ReadMarketplace([]byte(`{"name": "m", "plugins": [
		{"name": "here", "source": "./plugins/here", "skills": ["./skills/a"]},
		{"name": "self", "source": "./"},
		{"name": "pinned", "source": {"source": "git-subdir", "url": "https://example.org/o/r.git", "path": "p/q", "ref": "v1", "sha": "30287f5e3f122a646d1ac5ca3ab96e130c52a3ad"}},
		{"name": "short", "source": {"source": "github", "repo": "o/r", "ref": "main"}},
		{"name": "ssh", "source": {"source": "url", "url": "git@example.org:o/r.git"}},
		{"name": "out", "source": "../../other"},
		{"name": "deep", "source": {"source": "git-subdir", "url": "https://example.org/o/r.git", "path": "../x"}},
		{"name": "npm", "source": {"source": "npm", "package": "x"}},
		{"name": "odd", "source": {"source": "url", "url": "ext::sh"}},
		{"name": "none"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range m.Plugins {
		got[p.Name] = p.Path + p.Source
		if p.Fault != "" {
			got[p.Name] = "fault"
		}
	}
	for name, want := range map[string]string{
		"here": "plugins/here", "self": ".",
		"pinned": "git::https://example.org/o/r.git//p/q?ref=30287f5e3f122a646d1ac5ca3ab96e130c52a3ad",
		"short":  "git::https://github.com/o/r.git?ref=main", "ssh": "git::ssh://git@example.org/o/r.git",
		"out": "fault", "deep": "fault", "npm": "fault", "odd": "fault", "none": "fault",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if !slices.Equal(m.Plugins[0].Skills, []string{"skills/a"}) || !m.Plugins[2].Pinned || m.Plugins[3].Pinned {
		t.Errorf("%+v", m.Plugins[:4])
	}
	if _, err := ReadMarketplace([]byte("{\n\"plugins\": {}}")); err == nil || !strings.HasPrefix(err.Error(), ":2: ") {
		t.Errorf("plugins as an object: %v", err)
	}
}

// Claude Code refuses a hook of its settings that has ${CLAUDE_PLUGIN_ROOT}.
func TestInSettings(t *testing.T) {
	for command, want := range map[string]string{
		`"${CLAUDE_PLUGIN_ROOT}"/run ${CLAUDE_PLUGIN_ROOT}`: `"$CLAUDE_PLUGIN_ROOT"/run $CLAUDE_PLUGIN_ROOT`,
		`"${CLAUDE_PLUGIN_ROOT}_old/run"`:                   `"$CLAUDE_PLUGIN_ROOT""_old/run"`,
		`$CLAUDE_PLUGIN_ROOT/run ${OTHER}`:                  `$CLAUDE_PLUGIN_ROOT/run ${OTHER}`,
	} {
		if got := InSettings(command); got != want {
			t.Errorf("%s became %s, want %s", command, got, want)
		}
	}
}

func TestServers(t *testing.T) {
	servers, left, err := Servers([]byte(`{"mcpServers": {
		"a": {"command": "npx", "args": ["x"], "env": {"T": "${T}"}},
		"b": {"type": "sse", "url": "https://example.org", "headers": {"Authorization": "Bearer ${K:-}"}},
		"c": {"command": "${CLAUDE_PLUGIN_ROOT}/x"}, "d": {"command": "x", "url": "https://example.org"}, "e": {"command": 5},
		"f": {"command": "x", "sandbox": true}, "g": {"type": "ws", "url": "wss://example.org"}, "bad name": {"command": "x"}}}`))
	if err != nil || len(servers) != 2 || servers[0].Name != "a" || servers[0].Env[0].Value != "${T}" || !servers[1].SSE || servers[1].Headers[0].Value != "Bearer ${K:-}" {
		t.Errorf("%+v, %v", servers, err)
	}
	if len(left) != 6 {
		t.Errorf("left out: %q", left)
	}
	if bare, _, err := Servers([]byte(`{"x": {"command": "y"}}`)); err != nil || len(bare) != 1 {
		t.Errorf("without mcpServers: %+v, %v", bare, err)
	}
	for _, text := range []string{`{"mcpServers": []}`, `[`, ``} {
		if _, _, err := Servers([]byte(text)); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

func FuzzPublished(f *testing.F) {
	f.Add([]byte(`{"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}, "plugins": [{"name": "a", "source": "./a"}], "mcpServers": {"a": {"command": "b"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if m, err := ReadManifest(text); err == nil {
			for _, p := range slices.Concat(m.Skills, m.Commands, m.Agents, m.Hooks, m.Servers) {
				if strings.HasPrefix(p, "..") || strings.HasPrefix(p, "/") {
					t.Errorf("%q leads out", p)
				}
			}
		}
		if m, err := ReadMarketplace(text); err == nil {
			for _, p := range m.Plugins {
				if p.Fault == "" && (strings.HasPrefix(p.Path, "..") || strings.HasPrefix(p.Path, "/")) {
					t.Errorf("%q leads out", p.Path)
				}
			}
		}
		_, _, _ = Hooks(text, events)
		_, _, _ = Servers(text)
	})
}
