package adapter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// TestEachFieldOfAServerInEachProgram shows what becomes of every field of a
// server: the program's form, what it has no place for, or why it does not get
// the server.
func TestEachFieldOfAServerInEachProgram(t *testing.T) {
	local := func(change func(*spec.MCPServer)) spec.MCPServer {
		m := spec.MCPServer{Name: "a", Command: "c"}
		change(&m)
		return m
	}
	remote := func(change func(*spec.MCPServer)) spec.MCPServer {
		m := spec.MCPServer{Name: "a", URL: "https://h/m"}
		change(&m)
		return m
	}
	text := func(name, value string) []spec.EnvVar { return []spec.EnvVar{{Name: name, Value: value}} }
	ref := func(name, variable string) []spec.EnvVar {
		return []spec.EnvVar{{Name: name, Secret: &spec.Secret{Env: variable}}}
	}
	var got strings.Builder
	for _, c := range []struct {
		what   string
		server spec.MCPServer
	}{
		{"a local server", local(func(m *spec.MCPServer) { m.Args = []string{"x"} })},
		{"a remote server", remote(func(*spec.MCPServer) {})},
		{"type: sse", remote(func(m *spec.MCPServer) { m.SSE = true })},
		{"cwd", local(func(m *spec.MCPServer) { m.Cwd = "tools" })},
		{"the project's folder", local(func(m *spec.MCPServer) { m.Command, m.Cwd = "${workspaceFolder}/c", "${workspaceFolder}" })},
		{"timeout: start", local(func(m *spec.MCPServer) { m.Start = 20 * time.Second })},
		{"timeout: call", local(func(m *spec.MCPServer) { m.Call = 1500 * time.Millisecond })},
		{"enabled: false", local(func(m *spec.MCPServer) { m.Disabled = true })},
		{"tools: allow", local(func(m *spec.MCPServer) { m.Allow = []string{"t"} })},
		{"tools: allow: []", local(func(m *spec.MCPServer) { m.Allow = []string{} })},
		{"tools: deny", local(func(m *spec.MCPServer) { m.Deny = []string{"t"} })},
		{"oauth", remote(func(m *spec.MCPServer) { m.ClientID, m.Scopes = "id", []string{"s", "t"} })},
		{"env, passed through", local(func(m *spec.MCPServer) { m.Env = ref("A", "A") })},
		{"env, of another variable", local(func(m *spec.MCPServer) { m.Env = ref("A", "B") })},
		{"env, text with a reference", local(func(m *spec.MCPServer) { m.Env = text("A", "x ${B} y") })},
		{"env, a reference with a default", local(func(m *spec.MCPServer) { m.Env = text("A", "${B:-y}") })},
		{"env, text like a reference", local(func(m *spec.MCPServer) { m.Env = text("A", "$${B}") })},
		{"args, text with a reference", local(func(m *spec.MCPServer) { m.Args = []string{"--k=${B}"} })},
		{"url, text with a reference", remote(func(m *spec.MCPServer) { m.URL = "https://h/${B}" })},
		{"headers, a bearer token", remote(func(m *spec.MCPServer) { m.Headers = text("Authorization", "Bearer ${B}") })},
		{"headers, a reference", remote(func(m *spec.MCPServer) { m.Headers = ref("X_KEY", "B") })},
		{"headers, text with a reference", remote(func(m *spec.MCPServer) { m.Headers = text("X_KEY", "k ${B}") })},
	} {
		fmt.Fprintf(&got, "## %s\n", c.what)
		for _, rt := range catalog.Runtimes() {
			f := rt.Project.MCP
			if f == nil {
				f = rt.User.MCP
			}
			if f == nil {
				continue
			}
			value, lost, err := render.Server(*f, c.server)
			fmt.Fprintf(&got, "%-8s ", rt.ID)
			if err != nil {
				fmt.Fprintf(&got, "! %v\n", err)
				continue
			}
			got.Write(value)
			for _, l := range lost {
				fmt.Fprintf(&got, "  ! no place for %s", l.What)
				if l.Restricts {
					got.WriteString(" (a restriction)")
				}
			}
			got.WriteString("\n")
		}
	}
	golden := filepath.Join("testdata", "mcp.txt")
	if os.Getenv("AISYNC_UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("%s says otherwise; to see how: AISYNC_UPDATE=1 go test ./adapter -run EachField, then git diff. It is now:\n%s", golden, got.String())
	}
}
