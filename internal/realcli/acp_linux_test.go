package realcli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/fakemodel"
)

// editor is a client of the Agent Client Protocol, as an editor is.
type editor struct {
	t     *testing.T
	in    io.Writer
	lines <-chan string
	last  int
}

// asks sends a request and returns its answer. It allows what the agent asks for.
func (e *editor) asks(method string, params any) (result json.RawMessage) {
	e.t.Helper()
	e.last++
	e.writes(map[string]any{"jsonrpc": "2.0", "id": e.last, "method": method, "params": params})
	for late := time.After(2 * time.Minute); ; {
		select {
		case line, ok := <-e.lines:
			if !ok {
				e.t.Fatalf("%s: the agent ended", method)
			}
			var m struct {
				ID            json.RawMessage
				Method        string
				Result, Error json.RawMessage
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				e.t.Fatalf("%s: %q: %v", method, line, err)
			}
			if strings.Contains(line, "aisync-wake-") {
				e.t.Errorf("the relay's own prompt shows: %s", line)
			}
			switch {
			case m.Method != "" && len(m.ID) > 0:
				e.writes(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "no"}})
			case m.Method == "" && string(m.ID) == fmt.Sprint(e.last) && len(m.Error) > 0:
				e.t.Fatalf("%s: %s", method, m.Error)
			case m.Method == "" && string(m.ID) == fmt.Sprint(e.last):
				return m.Result
			}
		case <-late:
			e.t.Fatalf("%s was not answered", method)
		}
	}
}

func (e *editor) writes(message any) {
	e.t.Helper()
	text, err := json.Marshal(message)
	if err == nil {
		_, err = e.in.Write(append(text, '\n'))
	}
	if err != nil {
		e.t.Fatal(err)
	}
}

// An agent that an editor started through aisync acp is woken by its seat: the ping
// is in the next request to its model, and the mail where a hook brings it; and the
// editor's next prompt is answered. Gemini CLI is left out: it gets the ping, but without
// a network its first turn takes 45 seconds, and one after the ping more than 120.
func TestAgentOfAnEditorIsWoken(t *testing.T) {
	needWholeRun(t)
	for _, id := range []string{"opencode", "qwen", "copilot"} {
		t.Run(id, func(t *testing.T) {
			p := lookUp(t, id)
			w := newWorldOf(t, scope{"project", false, true}, []string{id}, func(fakemodel.Request) fakemodel.Reply { return fakemodel.Reply{Text: answer} })
			ledgerWorld(w)
			words := []string{"acp", "--", w.find(p.Runtime.Command), "--acp"}
			if id == "opencode" {
				words[3] = "acp"
			}
			cmd := exec.Command(w.find("aisync"), words...)
			cmd.Dir, cmd.Env = w.project, w.environ(w.project, append(p.environ(w.model.URL), p.any...))
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			errs := &strings.Builder{}
			cmd.Stderr = errs
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
			lines := make(chan string, 1024)
			go func() {
				defer close(lines)
				s := bufio.NewScanner(out)
				for s.Buffer(nil, 16<<20); s.Scan(); {
					lines <- s.Text()
				}
			}()
			t.Cleanup(func() {
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
				_ = cmd.Wait()
				if t.Failed() {
					t.Logf("stderr:\n%s", errs)
				}
			})
			e := &editor{t: t, in: in, lines: lines}
			e.asks("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
			var made struct{ SessionID string }
			if err := json.Unmarshal(e.asks("session/new", map[string]any{"cwd": w.project, "mcpServers": []any{}}), &made); err != nil || made.SessionID == "" {
				t.Fatalf("no session: %v", err)
			}
			say := func(text string) {
				t.Helper()
				e.asks("session/prompt", map[string]any{"sessionId": made.SessionID, "prompt": []any{map[string]string{"type": "text", "text": text}}})
			}
			say("Good morning.")

			w.model.Take()
			sent := w.try(w.project, nil, "aisync", "ledger", "tmux", "send", id, mark("mail", "idle"), "--from", "lead", "--type", "note")
			t.Logf("send: exit code %d\n%s", sent.code, sent.out)
			if sent.code != 0 {
				t.Fatal("the agent was not woken")
			}
			var woken []fakemodel.Request
			until(t, "the agent's request", func() bool {
				woken = append(woken, w.model.Take()...)
				return slices.ContainsFunc(woken, func(q fakemodel.Request) bool { return strings.Contains(string(q.Body), "pi-ensemble: new inbox item") })
			})
			told := slices.ContainsFunc(woken, func(q fakemodel.Request) bool { return strings.Contains(string(q.Body), mark("mail", "idle")) })
			if form, _ := catalog.HookFormOf(id); told != form.TellsAt("UserPromptSubmit") {
				t.Errorf("the mail came with the ping: %v", told)
			}
			say("Good night.")

			if err := in.Close(); err != nil {
				t.Fatal(err)
			}
			for range lines { // until the relay has ended
			}
			until(t, "the end of the seat", func() bool {
				return w.try(w.project, nil, "aisync", "ledger", "tmux", "wake", id).code != 0
			})
		})
	}
}
