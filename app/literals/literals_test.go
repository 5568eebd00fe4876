package literals

import (
	"strings"
	"testing"

	"aisync.dev/aisync/internal/secret/secrettest"
	"aisync.dev/aisync/schema/spec"
)

func TestLiteralsAreNamedByTheirLines(t *testing.T) {
	token := secrettest.Samples()[5]
	at := func(line int) spec.Position { return spec.Position{File: "aisync.cue", Line: line, Col: 1} }
	s := &spec.Spec{
		Host: &spec.Host{MCP: []spec.MCPServer{{Name: "h", Command: "h", Args: []string{"--password", "hunter2"}, Pos: at(1)}}},
		Project: &spec.Project{
			MCP: []spec.MCPServer{
				{Name: "a", Command: "a", Pos: at(2), Env: []spec.EnvVar{
					{Name: "GH", Value: token.Value, Pos: at(3)},
					{Name: "DB_PASSWORD", Secret: &spec.Secret{Env: "DB_PASSWORD"}, Pos: at(4)},
					{Name: "MAX_TOKENS", Value: "64000", Pos: at(5)},
				}},
				{Name: "b", URL: "https://mcp.corp/x?api_key=hunter2x", Pos: at(6), Headers: []spec.EnvVar{{Name: "Authorization", Value: "Bearer ${B_TOKEN}", Pos: at(7)}}},
			},
			Settings: []spec.Settings{{Runtime: "claude", Pos: at(8), JSON: []byte(`{"env":{"GH":"` + token.Value + `","LEVEL":"debug"}}`), Leaves: map[string]spec.Position{"/env/GH": at(9)}}},
		},
	}
	var lines []int
	for _, l := range Of(s, true, true) {
		lines = append(lines, l.Pos.Line)
		if strings.Contains(l.Text, token.Secret) || strings.Contains(l.Text, "hunter2") {
			t.Errorf("%s", l.Text)
		}
	}
	if want := []int{1, 3, 6, 9}; len(lines) != len(want) || lines[0] != 1 || lines[1] != 3 || lines[2] != 6 || lines[3] != 9 {
		t.Errorf("got %v, want %v", lines, want)
	}
	if n := len(Notes(s, false, true)); n != 3 {
		t.Errorf("%d notes about the project", n)
	}
}
