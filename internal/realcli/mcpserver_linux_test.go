package realcli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/fakemodel"
)

// Each program starts the ledger's MCP server, offers its tools to the model, and
// carries out the model's claim of a file, under the program's name in the ledger.
// The claim ends with the program. No hook is installed.
func TestLedgerServerInPrograms(t *testing.T) {
	needWholeRun(t)
	for _, id := range []string{"claude", "codex", "copilot", "gemini", "opencode", "qwen"} {
		t.Run(id, func(t *testing.T) {
			p := lookUp(t, id)
			claim := fakemodel.Call{Tool: "mcp__aisync__claim", Args: json.RawMessage(`{"paths": ["src/a.go"]}`)}
			switch id {
			case "claude":
				p.flags = append(slices.Clone(p.flags), "--allowedTools=mcp__aisync")
				p.env = append(slices.Clone(p.env), "ENABLE_TOOL_SEARCH=false") // else the model looks for tools first
				p.say = []string{"sh", "-c", `mkdir -p .claude && echo '{"enabledMcpjsonServers": ["aisync"]}' >.claude/settings.local.json`}
			case "codex": // it asks before each call of a server's tool
				p.flags = append(slices.Clone(p.flags), "--dangerously-bypass-approvals-and-sandbox")
				claim.Space, claim.Tool = "mcp__aisync", "claim"
			case "copilot":
				claim.Tool = "aisync-claim"
			case "gemini":
				claim.Tool, p.say = "mcp_aisync_claim", nil
			case "opencode":
				claim.Tool = "aisync_claim"
			}
			w := newWorldOf(t, scope{"project", false, true}, []string{id}, func(q fakemodel.Request) fakemodel.Reply {
				if q.Turn > 0 || !strings.Contains(string(q.Body), "src/a.go") {
					return fakemodel.Reply{Text: answer}
				}
				return fakemodel.Reply{Call: &claim}
			})
			w.write(w.project, "aisync.cue", fmt.Sprintf("package aisync\n\nproject: {\n\tname: \"try\"\n\truntimes: [%q]\n\tmcp: aisync: {command: %q, args: [\"mcp\"]}\n}\n", id, w.find("aisync")))
			w.aisync("apply", "--yes", "--trust")
			w.aisync("ledger", "init")
			requests := w.question(p, p.ask("Claim src/a.go."))
			told := slices.ContainsFunc(requests, func(q fakemodel.Request) bool { return strings.Contains(string(q.Body), "Your name there is "+id+".") })
			if told == (id == "copilot") {
				t.Errorf("its model reads the server's instructions: %v", told)
			}
			trail := func() string { return w.aisync("ledger", "audit").out }
			if !strings.Contains(trail(), `"action":"claim","agent":"`+id+`"`) {
				t.Errorf("the model's claim is missing in\n%s", trail())
			} else { // a program may kill its server, or end before it
				until(t, "the end of the claim of "+id, func() bool {
					return w.try(w.project, nil, "aisync", "ledger", "claim", "src/a.go", "--agent", "next").code == 0
				})
			}
			if t.Failed() {
				for _, q := range requests {
					t.Logf("turn %d, tools %s", q.Turn, q.Tools)
				}
				w.keep()
			}
		})
	}
}
