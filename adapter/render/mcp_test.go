package render

import (
	"strings"
	"testing"

	"aisync.dev/aisync/schema/spec"
)

func TestAServerIsWrittenInTheFormOfEachProgram(t *testing.T) {
	near := spec.MCPServer{Name: "near", Command: "uvx", Args: []string{"serve"}, Env: []spec.EnvVar{{Name: "LEVEL", Value: "warn"}, {Name: "TOKEN", Secret: &spec.Secret{Env: "TOKEN"}}}}
	far := spec.MCPServer{Name: "far", URL: "https://example.org/mcp", Headers: []spec.EnvVar{{Name: "Authorization", Secret: &spec.Secret{Env: "BEARER"}}}}
	tests := []struct {
		f    spec.MCPFile
		m    spec.MCPServer
		want string // "error: " and a part of it
	}{
		{spec.MCPFile{Shape: "claude", SecretEnv: "${NAME}"}, near, `{"command":"uvx","args":["serve"],"env":{"LEVEL":"warn","TOKEN":"${TOKEN}"}}`},
		{spec.MCPFile{Shape: "claude", SecretEnv: "${NAME}"}, far, `{"type":"http","url":"https://example.org/mcp","headers":{"Authorization":"${BEARER}"}}`},
		{spec.MCPFile{Shape: "gemini", SecretEnv: "${NAME}"}, far, `{"httpUrl":"https://example.org/mcp","headers":{"Authorization":"${BEARER}"}}`},
		{spec.MCPFile{Shape: "cursor", SecretEnv: "${env:NAME}"}, far, `{"url":"https://example.org/mcp","headers":{"Authorization":"${env:BEARER}"}}`},
		{spec.MCPFile{Shape: "codex"}, near, `{"command":"uvx","args":["serve"],"env":{"LEVEL":"warn"},"env_vars":["TOKEN"]}`},
		{spec.MCPFile{Shape: "codex"}, far, `{"url":"https://example.org/mcp","env_http_headers":{"Authorization":"BEARER"}}`},
		{spec.MCPFile{Shape: "goose"}, near, `{"name":"near","type":"stdio","enabled":true,"timeout":300,"cmd":"uvx","args":["serve"],"envs":{"LEVEL":"warn"},"env_keys":["TOKEN"]}`},
		{spec.MCPFile{Shape: "goose"}, far, "error: cannot refer to one"},
		{spec.MCPFile{Shape: "copilot"}, near, "error: cannot refer to one"},
		{spec.MCPFile{Shape: "toaster"}, near, "error: cannot refer to one"},
		{spec.MCPFile{Shape: "toaster", SecretEnv: "NAME"}, near, `error: the unknown form "toaster"`},
		{spec.MCPFile{Shape: "codex"}, spec.MCPServer{Command: "x", Env: []spec.EnvVar{{Name: "A", Secret: &spec.Secret{Env: "B"}}}}, `error: use {env: "A"}`},
		{spec.MCPFile{Shape: "claude", SecretEnv: "${NAME}"}, spec.MCPServer{Command: "x", Env: []spec.EnvVar{{Name: "A", Secret: &spec.Secret{File: "~/a"}}}}, "error: cannot name a file"},
		{spec.MCPFile{Shape: "opencode", SecretFile: "{file:NAME}"}, spec.MCPServer{Command: "x", Env: []spec.EnvVar{{Name: "A", Secret: &spec.Secret{File: "~/a"}}}}, `{"type":"local","command":["x"],"enabled":true,"environment":{"A":"{file:~/a}"}}`},
		{spec.MCPFile{Shape: "pi", SecretEnv: "${NAME}"}, near, `{"command":"uvx","args":["serve"],"env":{"LEVEL":"warn","TOKEN":"${TOKEN}"}}`},
		{spec.MCPFile{Shape: "pi", SecretEnv: "${NAME}"}, far, `{"type":"http","url":"https://example.org/mcp","headers":{"Authorization":"${BEARER}"}}`},
		{spec.MCPFile{Shape: "pi", SecretEnv: "${NAME}"}, spec.MCPServer{Command: "x", Args: []string{"$1", "$${A}"}, Env: []spec.EnvVar{{Name: "A", Value: "!ls $HOME $${B} ${C}"}}}, `{"command":"x","args":["$1","${A}"],"env":{"A":"$!ls $$HOME $${B} ${C}"}}`},
		{spec.MCPFile{Shape: "pi", SecretEnv: "${NAME}"}, spec.MCPServer{Command: "x", Args: []string{"${A}"}}, "error: one of its arguments refers to the variable A, and its configuration cannot"},
		{spec.MCPFile{Shape: "pi", SecretEnv: "${NAME}"}, spec.MCPServer{URL: "https://h", SSE: true}, "error: server-sent events"},
		{spec.MCPFile{Shape: "copilot"}, spec.MCPServer{Command: "x"}, `{"type":"local","command":"x","tools":["*"]}`},
	}
	for _, test := range tests {
		got, _, err := Server(test.f, test.m)
		if want, bad := strings.CutPrefix(test.want, "error: "); bad {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %s: error %v, want %s", test.f.Shape, test.m.Name, err, want)
			}
		} else if err != nil || string(got) != test.want {
			t.Errorf("%s of %s:\n got %s %v\nwant %s", test.f.Shape, test.m.Name, got, err, test.want)
		}
	}
}
