package render

import (
	"testing"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/schema/spec"
)

func TestAServerThatSaysTheSameIsOurs(t *testing.T) {
	local := spec.MCPServer{Name: "a", Command: "c", Args: []string{"x"}}
	bare := spec.MCPServer{Name: "a", Command: "c"}
	remote := spec.MCPServer{Name: "a", URL: "https://example.org/mcp"}
	for _, c := range []struct {
		shape string
		m     spec.MCPServer
		there string
		same  bool
	}{
		{"claude", local, `{"type":"stdio","command":"c","args":["x"],"env":{}}`, true},
		{"claude", bare, `{"type":"stdio","command":"c","args":[],"env":{}}`, true},
		{"claude", local, `{"command":"c","args":["x"],"timeout":5}`, false},
		{"claude", local, `{"type":"sse","command":"c","args":["x"]}`, false},
		{"claude", local, `{"command":"c","args":["y"]}`, false},
		{"claude", local, `{"command":"c","args":"x"}`, false},
		{"claude", remote, `{"type":"http","url":"https://example.org/mcp","headers":{}}`, true},
		{"claude", remote, `{"url":"https://example.org/mcp"}`, false}, // Claude Code takes it for a command
		{"cursor", remote, `{"type":"http","url":"https://example.org/mcp"}`, true},
		{"cursor", remote, `{"type":"sse","url":"https://example.org/mcp"}`, false},
		{"copilot", bare, `{"type":"stdio","command":"c","args":[],"tools":["*"]}`, true},
		{"copilot", bare, `{"type":"local","command":"c","tools":["a"]}`, false},
		{"opencode", local, `{"type":"local","command":["c","x"],"enabled":true,"environment":{}}`, true},
		{"opencode", local, `{"type":"local","command":["c","x"],"enabled":false}`, false},
		{"codex", local, `{"command":"c","args":["x"],"env":{}}`, true},
		{"codex", local, `{"command":"c","args":["x"],"type":"stdio"}`, true},
		{"codex", local, `{"command":"c","args":["x"],"type":"sse"}`, false},
		{"codex", local, `{"command":"c","args":["x"],"startup_timeout_sec":20}`, false},
	} {
		f := spec.MCPFile{Shape: c.shape}
		ours, _, err := Server(f, c.m)
		if err != nil {
			t.Fatal(err)
		}
		if !merge.Equal(AsServer(f, ours), ours) {
			t.Errorf("%s: our own form changes to %s", c.shape, AsServer(f, ours))
		}
		if got := merge.Equal(AsServer(f, []byte(c.there)), ours); got != c.same {
			t.Errorf("%s: %s is %s: %v, want %v", c.shape, c.there, ours, got, c.same)
		}
	}
}
