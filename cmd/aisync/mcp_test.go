package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpProgram is an agent program, played by the SDK's client, with its server.
type mcpProgram struct {
	*testing.T
	*mcp.ClientSession
}

// ledger runs a command of the ledger, which takes none of the global flags.
func (p person) ledger(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("aisync", append([]string{"ledger"}, args...)...)
	cmd.Dir, cmd.Env = p.project(), p.env
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("aisync ledger %s: %v", args, err)
	}
	return string(out)
}

func (p person) mcpProgram(t *testing.T, args ...string) mcpProgram {
	t.Helper()
	cmd := p.aisync(append([]string{"mcp"}, args...)...)
	cmd.Path, cmd.Args = "/bin/sh", slices.Concat([]string{"sh", "-c", `aisync "$@"; exit $?`}, cmd.Args) // a process that is the agent's
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return mcpProgram{t, s}
}

// call returns the texts of a tool's answer, and whether it is an error.
func (p mcpProgram) call(tool string, args map[string]any) (texts []string, failed bool) {
	p.Helper()
	r, err := p.CallTool(context.Background(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		p.Fatalf("%s: %v", tool, err)
	}
	for _, c := range r.Content {
		texts = append(texts, c.(*mcp.TextContent).Text)
	}
	return texts, r.IsError
}

func (p mcpProgram) must(tool string, args map[string]any) []string {
	p.Helper()
	texts, failed := p.call(tool, args)
	if failed {
		p.Fatalf("%s: %s", tool, texts)
	}
	return texts
}

func (p mcpProgram) refused(tool string, args map[string]any, want string) {
	p.Helper()
	texts, failed := p.call(tool, args)
	if all := strings.Join(texts, "\n"); !failed || !strings.Contains(all, want) {
		p.Errorf("%s answers %q, want an error with %q", tool, all, want)
	}
}

// The agents of two programs without hooks work beside each other by the tools of
// their servers alone.
func TestMCPServesTheLedger(t *testing.T) {
	p := newPerson(t)
	p.ledger(t, "init")
	amp := p.mcpProgram(t, "--runtime", "amp")
	if text := amp.InitializeResult().Instructions; !strings.Contains(text, "Your name there is amp.") || !strings.Contains(text, "(claim)") || strings.Contains(text, "aisync ledger claim") {
		t.Errorf("the model is told:\n%s", text)
	}
	amp.must("claim", map[string]any{"paths": []string{"src/a.go", "docs/**"}})
	other := p.mcpProgram(t) // of a program that is not known: this test
	if text := other.InitializeResult().Instructions; !strings.Contains(text, "src/a.go (amp)") || !strings.Contains(text, "docs/** (amp)") || strings.Contains(text, "Your name there is amp.") {
		t.Errorf("the other model is told:\n%s", text)
	}
	other.refused("claim", map[string]any{"paths": []string{"README.md", "docs/x.md"}}, "amp")
	if texts := other.must("claims", nil); strings.Contains(texts[0], "README.md") {
		t.Errorf("one of two paths is claimed: %s", texts)
	}
	other.must("send", map[string]any{"to": "amp", "text": "--type x; $(may I?) -- `have` it", "type": "question"})
	texts := amp.must("overview", nil)
	if len(texts) != 2 || texts[1] != "You have 1 unread messages: call inbox." {
		t.Errorf("beside the overview: %q", texts[1:])
	}
	if texts := amp.must("inbox", nil); len(texts) != 1 || !strings.Contains(texts[0], "--type x; $(may I?) -- `have` it") {
		t.Errorf("the inbox: %q", texts)
	}
	if texts := amp.must("inbox", nil); strings.Contains(texts[0], "may I?") {
		t.Errorf("what was read is new again: %q", texts)
	}
	amp.must("release", map[string]any{"paths": "docs/**"})
	other.must("claim", map[string]any{"paths": []string{"docs/x.md"}})

	amp.refused("claim", map[string]any{"path": "x"}, "paths (array)")
	amp.refused("claim", nil, "paths is missing")
	amp.refused("send", map[string]any{"to": "nonesuch", "text": "x"}, "names here are")
	amp.refused("send", map[string]any{"to": "all", "text": "x", "type": "order"}, "note|handoff|question|result|ack")
	amp.refused("task_show", map[string]any{"id": "none"}, "none")

	if err := amp.Close(); err != nil { // stdin is closed, and the process ends by itself
		t.Error(err)
	}
	if texts := other.must("claims", nil); strings.Contains(texts[0], "amp") || !strings.Contains(texts[0], "docs/x.md") {
		t.Errorf("after the end of amp: %s", texts)
	}
}

// A tool answers what its command prints with --json.
func TestMCPAnswersAsTheCommands(t *testing.T) {
	p := newPerson(t)
	p.ledger(t, "init")
	p.must(t, "task", "new", "mend", "--goal", "Mend it.", "--file", "AGENTS.md", "--verify", "true")
	p.must(t, "run", "init")
	p.must(t, "run", "start", "--goal", "x")
	amp := p.mcpProgram(t, "--runtime", "amp")
	amp.must("claim", map[string]any{"paths": []string{"src"}})
	amp.must("note", map[string]any{"text": "the parser moved"})
	amp.must("task_new", map[string]any{"id": "second", "goal": "Do it.", "files": []string{"AGENTS.md"}, "verify": []string{"true"}, "requires": []string{"mend"}})
	amp.must("run_register", map[string]any{"worker": "amp"})
	var claim struct{ Token string }
	if err := json.Unmarshal([]byte(amp.must("run_claim", map[string]any{"task": "main", "worker": "amp"})[0]), &claim); err != nil || claim.Token == "" {
		t.Fatalf("%+v, %v", claim, err)
	}
	amp.must("run_renew", map[string]any{"token": claim.Token})
	amp.must("run_release", map[string]any{"token": claim.Token, "reason": "not mine"})
	for tool, line := range map[string]string{
		"overview": "ledger overview --json", "status": "ledger status", "claims": "ledger claims", "who": "who --json",
		"task_list": "task list --json", "task_show": "task show second --json", "run_status": "run status --json",
	} {
		var args map[string]any
		if tool == "task_show" {
			args = map[string]any{"id": "second"}
		}
		texts, failed := amp.call(tool, args)
		var out []byte
		var err error
		if words, ok := strings.CutPrefix(line, "ledger "); ok {
			out = []byte(p.ledger(t, strings.Fields(words)...))
		} else {
			out, err = p.aisync(strings.Fields(line)...).Output()
		}
		var want bytes.Buffer
		if bad := json.Compact(&want, out); bad != nil || texts[0] != want.String() || failed != (err != nil) {
			t.Errorf("%s answers\n%s\nand aisync %s prints\n%s\n%v", tool, texts, line, want.String(), err)
		}
	}
}

// Every tool is described well enough to be called, and costs a known part of a
// model's context.
func TestMCPToolsAreDescribed(t *testing.T) {
	p := newPerson(t)
	list, err := p.mcpProgram(t, "--runtime", "amp").ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		schema, _ := json.Marshal(tool.InputSchema)
		var s struct {
			Type       string
			Properties map[string]struct{ Type, Description string }
			Additional *bool `json:"additionalProperties"`
		}
		if err := json.Unmarshal(schema, &s); err != nil || s.Type != "object" || s.Additional == nil || *s.Additional || tool.Description == "" {
			t.Errorf("%s: %s %v", tool.Name, schema, err)
		}
		for name, property := range s.Properties {
			if property.Type == "" || property.Description == "" {
				t.Errorf("%s: %s has no type or no description", tool.Name, name)
			}
		}
	}
	if text, _ := json.Marshal(list.Tools); len(list.Tools) < 15 || len(text) > 12_000 {
		t.Errorf("%d tools in %d bytes", len(list.Tools), len(text))
	}
}

// raw starts a server and returns what it answers to these lines, once stdin is
// closed.
func (p person) raw(t *testing.T, lines io.Reader) (answers []map[string]any, stderr string) {
	t.Helper()
	cmd := p.aisync("mcp", "--runtime", "amp")
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = lines, &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	s := bufio.NewScanner(&out)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var m map[string]any
		if err := json.Unmarshal(s.Bytes(), &m); err != nil || m["jsonrpc"] != "2.0" {
			t.Errorf("stdout has another line: %q", s.Text())
		}
		answers = append(answers, m)
	}
	return answers, errs.String()
}

const mcpHello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// answerTo is the answer with an id; nil without one.
func answerTo(answers []map[string]any, id float64) map[string]any {
	for _, a := range answers {
		if a["id"] == id {
			return a
		}
	}
	return nil
}

func TestMCPSurvivesJunk(t *testing.T) {
	p := newPerson(t)
	p.ledger(t, "init")
	long := strings.Repeat("x", 17<<20)
	answers, stderr := p.raw(t, strings.NewReader(mcpHello+
		"junk\n\x00\xff\n\n{}\n[]\nnull\n{\"id\":7}\n"+
		`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"note","arguments":{"text":"`+long+`"}}}`+"\n"+
		`{"method":"tools/call","params":{"name":"note","arguments":{"text":"`+long+`"}},"jsonrpc":"2.0","id":9}`+"\n"+
		`{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"note","arguments":{"text":"`+long[:5<<20]+`"}}}`+"\n"+
		`{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"nonesuch","arguments":{}}}`+"\n"+
		`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"claim","arguments":[1]}}`+"\n"+
		`{"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"name":"claims"}}`)) // without a line end
	for _, id := range []float64{8, 9} {
		if a := answerTo(answers, id); a == nil || !strings.Contains(fmt.Sprint(a["error"]), "put the text into a file") {
			t.Errorf("the answer to a message that is too long: %v", a)
		}
	}
	for _, id := range []float64{10, 11, 12} {
		a := answerTo(answers, id)
		if result, _ := a["result"].(map[string]any); a == nil || a["error"] == nil && (result == nil || result["isError"] != true) {
			t.Errorf("message %v is no error: %v", id, a)
		}
	}
	if a := answerTo(answers, 13); a == nil || a["result"] == nil {
		t.Errorf("the last call: %v", a)
	}
	if n := strings.Count(stderr, "is no JSON-RPC 2.0 message"); n < 5 || len(stderr) > 10_000 {
		t.Errorf("%d of the lines are reported:\n%s", n, stderr)
	}
}

// The server of a program that was started where no ledger is says what to do, and
// finds the one that is made later.
func TestMCPFindsALaterLedger(t *testing.T) {
	p := newPerson(t)
	amp := p.mcpProgram(t, "--runtime", "amp")
	if text := amp.InitializeResult().Instructions; !strings.Contains(text, "run: aisync apply") {
		t.Errorf("the model is told:\n%s", text)
	}
	amp.refused("claims", nil, "run: aisync apply")
	amp.must("task_list", nil)
	p.ledger(t, "init")
	amp.must("claim", map[string]any{"paths": []string{"src"}})
	if texts := amp.must("who", nil); !strings.Contains(texts[0], `"name":"amp"`) {
		t.Errorf("who: %s", texts)
	}
}

// A signal ends the server as the end of stdin does.
func TestMCPReleasesAtASignal(t *testing.T) {
	p := newPerson(t)
	p.ledger(t, "init")
	cmd := p.aisync("mcp", "--runtime", "amp")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	fmt.Fprint(in, mcpHello+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"claim","arguments":{"paths":["src"]}}}`+"\n")
	for s := bufio.NewScanner(out); s.Scan() && !strings.Contains(s.Text(), `"id":2`); {
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("exit code %d, %v", cmd.ProcessState.ExitCode(), err)
	}
	if text := p.ledger(t, "claims"); strings.TrimSpace(text) != "{}" {
		t.Errorf("claims %s", text)
	}
}
