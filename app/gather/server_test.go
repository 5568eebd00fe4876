package gather

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/reference"
	"aisync.dev/aisync/schema/spec"
)

// TestServersComeBackFromEachProgram writes servers in the form of each program
// and reads them: what the program can say comes back as it was.
func TestServersComeBackFromEachProgram(t *testing.T) {
	ref := func(name, variable string) spec.EnvVar {
		return spec.EnvVar{Name: name, Secret: &spec.Secret{Env: variable}}
	}
	servers := []spec.MCPServer{
		{Command: "c"},
		{Command: "c", Args: []string{"x", "--y=${A}", "$${B}"}, Env: []spec.EnvVar{{Name: "A", Value: "a b"}, ref("B", "B")}},
		{Command: "${workspaceFolder}/c"},
		{Command: "c", Cwd: "tools"},
		{Command: "c", Start: 20 * time.Second, Call: 90 * time.Second},
		{Command: "c", Call: 1500 * time.Millisecond},
		{Command: "c", Disabled: true},
		{Command: "c", Allow: []string{"a", "b"}},
		{Command: "c", Allow: []string{}},
		{Command: "c", Deny: []string{"a"}},
		{URL: "https://h/m"},
		{URL: "https://h/m", SSE: true},
		{URL: "https://h/${A}", Headers: []spec.EnvVar{{Name: "Authorization", Value: "Bearer ${TOKEN}"}, {Name: "X-Team", Value: "t"}, ref("X_KEY", "KEY")}},
		{URL: "https://h/m", Headers: []spec.EnvVar{{Name: "A", Value: "k ${KEY:-none}"}}},
		{URL: "https://h/m", ClientID: "id", Scopes: []string{"a", "b"}},
	}
	read := map[string]int{}
	for _, rt := range catalog.Runtimes() {
		for _, home := range []bool{false, true} {
			f := serverForm(rt.ID, "", home)
			if f.Shape == "" {
				continue
			}
			for _, s := range servers {
				s.Name = "a"
				value, lost, err := render.Server(f, s)
				if err != nil || len(lost) > 0 {
					continue // the program's form cannot say it
				}
				if slices.Contains([]string{render.ShapeGoose, render.ShapeContinue, render.ShapeCrush, render.ShapePiServer}, f.Shape) || f.Shape == render.ShapeOpencode && s.SSE || f.Shape == render.ShapeCursor && strings.Contains(strings.Join(s.Args, ""), "$$") {
					continue // import does not read the files of the first four; the others say two things alike
				}
				if strings.Contains(s.Command, reference.Workspace) && f.Workspace == "" {
					s.Command = "./c"
				}
				var o object
				if err := json.Unmarshal(value, &o); err != nil {
					t.Fatal(err)
				}
				got, beside, why := readServer(f, "a", o)
				if why != "" || len(beside) > 0 || cmp.Diff(s, got, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() != ".Allow" }, cmpopts.EquateEmpty())) != "" {
					t.Errorf("%s: %s was %+v\nand is %+v\nbeside %v, %s", rt.ID, value, s, got, beside, why)
				}
				read[rt.ID]++
			}
		}
	}
	for _, id := range []string{"claude", "codex", "copilot", "cursor", "gemini", "opencode", "qwen", "amp"} {
		if read[id] < 10 {
			t.Errorf("%s: only %d servers were read", id, read[id])
		}
	}
}

func TestServersThatStayWhole(t *testing.T) {
	for _, c := range []struct{ runtime, from, server, why string }{
		{"cursor", ".cursor/mcp.json", `{"command": "c", "envFile": ".env"}`, "envFile has no place"},
		{"cursor", ".cursor/mcp.json", `{"command": "${userHome}/c"}`, "it needs ${userHome}, which only that program fills in"},
		{"copilot", vscodeServers, `{"type": "stdio", "command": "c", "env": {"A": "${input:key}"}}`, "it needs ${input:key}"},
		{"claude", ".mcp.json", `{"type": "http", "url": "https://h", "headersHelper": "x"}`, "headersHelper has no place"},
		{"claude", ".mcp.json", `{"type": "http", "url": "https://h", "oauth": {"clientId": "a", "callbackPort": 1}}`, "oauth.callbackPort has no place"},
		{"claude", ".mcp.json", `{"url": "https://h"}`, "in the program's own form"}, // Claude Code takes it for a command
		{"claude", ".mcp.json", `{"command": "c", "env": {"A B": "1"}}`, `"A B" is not allowed as a name`},
		{"claude", ".mcp.json", `{"command": "c", "disabled": true}`, "disabled"},
		{"claude", ".mcp.json", `{"type": "ws", "url": "https://h"}`, "its transport (ws)"},
		{"codex", ".codex/config.toml", `{"command": "c", "env_vars": [{"name": "A", "source": "remote"}]}`, "env_vars has"},
		{"codex", ".codex/config.toml", `{"command": "c", "startup_timeout_sec": "soon"}`, "is soon, which is no time"},
		{"opencode", "opencode.json", `{"type": "local", "command": ["c", "{file:x} y"]}`, "it needs {file:x}"},
	} {
		var o object
		if err := json.Unmarshal([]byte(c.server), &o); err != nil {
			t.Fatal(err)
		}
		if _, _, why := readServer(serverForm(c.runtime, c.from, false), "a", o); !strings.Contains(why, c.why) {
			t.Errorf("%s: %s: %q, want %s", c.from, c.server, why, c.why)
		}
	}
}

func TestFieldsBesideAServer(t *testing.T) {
	for _, c := range []struct{ runtime, server, beside string }{
		{"claude", `{"type": "stdio", "command": "c", "args": [], "env": {}, "_comment": "x", "alwaysLoad": true}`, "[_comment alwaysLoad]"},
		{"gemini", `{"command": "c", "env": {"A": "$HOME", "B": "${HOME}"}, "trust": true}`, "[trust]"},
		{"gemini", `{"url": "https://h", "type": "http"}`, "[]"},
		{"codex", `{"command": "c", "required": true}`, "[required]"},
		{"opencode", `{"type": "local", "command": ["c"]}`, "[]"},
		{"cursor", `{"command": "c", "args": ["${workspaceFolder}"]}`, "[]"},
	} {
		var o object
		if err := json.Unmarshal([]byte(c.server), &o); err != nil {
			t.Fatal(err)
		}
		if s, beside, why := readServer(serverForm(c.runtime, "", false), "a", o); why != "" || fmt.Sprint(beside) != c.beside {
			t.Errorf("%s: %s: %+v, beside %v, %s; want beside %s", c.runtime, c.server, s, beside, why, c.beside)
		}
	}
}
