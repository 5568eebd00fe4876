package acp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// ends are the client's and the agent's side of a relay, line by line.
type ends struct {
	t                 *testing.T
	client, agent     io.WriteCloser // what they write
	clientIn, agentIn <-chan string  // what they read; closed at its end
	pings             chan string
	said              chan string
	over              chan error
}

func newEnds(t *testing.T, limit int) *ends {
	t.Helper()
	e := &ends{t: t, pings: make(chan string), said: make(chan string, 16), over: make(chan error, 1)}
	pipe := func() (*os.File, *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(); w.Close() })
		return r, w
	}
	fromClient, client := pipe()
	clientIn, toClient := pipe()
	fromAgent, agent := pipe()
	agentIn, toAgent := pipe()
	e.client, e.agent = client, agent
	e.clientIn, e.agentIn = linesOf(clientIn), linesOf(agentIn)
	r := &Relay{FromClient: fromClient, ToClient: toClient, FromAgent: fromAgent, ToAgent: toAgent, Pings: e.pings, Limit: limit,
		Say: func(f string, a ...any) { e.said <- fmt.Sprintf(f, a...) }}
	go func() { err := r.Run(); toClient.Close(); e.over <- err }()
	return e
}

func linesOf(r io.Reader) <-chan string {
	out := make(chan string, 64)
	go func() {
		defer close(out)
		in := bufio.NewReader(r)
		for {
			line, err := in.ReadString('\n')
			if line != "" {
				out <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}

func (e *ends) write(w io.Writer, text string) {
	e.t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		e.t.Fatal(err)
	}
}

// next returns the next line of a side, "" at its end.
func (e *ends) next(from <-chan string) string {
	e.t.Helper()
	select {
	case line := <-from:
		return line
	case <-time.After(time.Minute):
		e.t.Fatal("no line came")
		return ""
	}
}

// passes has a line go from one side to the other, unchanged.
func (e *ends) passes(w io.Writer, to <-chan string, line string) {
	e.t.Helper()
	e.write(w, line+"\n")
	if got := e.next(to); got != line+"\n" {
		e.t.Fatalf("%s\ncame as\n%s", line, got)
	}
}

// open makes a session, as initialize and session/new do.
func (e *ends) open() {
	e.t.Helper()
	e.passes(e.client, e.agentIn, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`)
	e.passes(e.agent, e.clientIn, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}`)
	e.passes(e.client, e.agentIn, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/x"}}`)
	e.passes(e.agent, e.clientIn, `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s1"}}`)
}

type prompt struct {
	ID     string
	Method string
	Params struct {
		SessionID string
		Prompt    []struct{ Type, Text string }
	}
}

// woken returns the relay's prompt.
func (e *ends) woken(session, text string) (id string) {
	e.t.Helper()
	line := e.next(e.agentIn)
	var p prompt
	if err := json.Unmarshal([]byte(line), &p); err != nil || p.Method != "session/prompt" || !strings.HasPrefix(p.ID, "aisync-wake-") ||
		p.Params.SessionID != session || len(p.Params.Prompt) != 1 || p.Params.Prompt[0].Type != "text" || p.Params.Prompt[0].Text != text {
		e.t.Fatalf("want a prompt with %q in %s, got %s (%v)", text, session, line, err)
	}
	return p.ID
}

func ask(id, text string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":"` + text + `"}]}}`
}

func answered(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"stopReason":"end_turn"}}`
}

const update = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1"}}`

func TestPingWaitsForSessionAndTurn(t *testing.T) {
	e := newEnds(t, 0)
	e.pings <- "too early"
	e.open()
	e.write(e.agent, answered(`"`+e.woken("s1", "too early")+`"`)+"\n")
	e.passes(e.agent, e.clientIn, update) // so the answer was swallowed

	e.passes(e.client, e.agentIn, ask("7", "one"))
	e.pings <- "first"
	e.pings <- "second"
	e.passes(e.client, e.agentIn, `{"jsonrpc":"2.0","id":8,"method":"session/set_mode","params":{"sessionId":"s1"}}`) // nothing came before it
	e.passes(e.agent, e.clientIn, `{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s1"}}`)
	e.passes(e.client, e.agentIn, `{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`) // the agent's id, not that of the turn
	e.passes(e.agent, e.clientIn, answered("8"))
	e.passes(e.agent, e.clientIn, answered("7"))
	e.woken("s1", "second")
}

func TestPromptIsHeldDuringOwnTurn(t *testing.T) {
	e := newEnds(t, 0)
	e.open()
	e.pings <- "wake"
	own := e.woken("s1", "wake")
	e.write(e.client, ask("2", "held one")+"\n"+ask(`"x"`, "held two")+"\n")
	e.passes(e.agent, e.clientIn, update)
	e.passes(e.agent, e.clientIn, `{"jsonrpc":"2.0","id":5,"method":"session/request_permission","params":{"sessionId":"s1"}}`)
	e.passes(e.client, e.agentIn, `{"jsonrpc":"2.0","id":5,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`)
	e.pings <- "later"
	e.write(e.agent, answered(`"`+own+`"`)+"\n")
	for _, want := range []string{ask("2", "held one"), ask(`"x"`, "held two")} {
		if got := e.next(e.agentIn); got != want+"\n" {
			t.Fatalf("%s instead of %s", got, want)
		}
	}
	e.passes(e.agent, e.clientIn, answered("2")) // one turn is still in flight
	e.passes(e.client, e.agentIn, `{"jsonrpc":"2.0","id":9,"method":"session/set_mode","params":{}}`)
	e.passes(e.agent, e.clientIn, answered(`"x"`))
	e.woken("s1", "later")
}

func TestCancelReachesHeldPrompt(t *testing.T) {
	e := newEnds(t, 0)
	e.open()
	e.pings <- "wake"
	own := e.woken("s1", "wake")
	cancel, one := `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}`
	e.write(e.client, ask("2", "held")+"\n"+one+"\n")
	e.passes(e.client, e.agentIn, cancel) // it ends the relay's turn
	e.write(e.agent, `{"jsonrpc":"2.0","id":"`+own+`","result":{"stopReason":"cancelled"}}`+"\n")
	for _, want := range []string{ask("2", "held"), one, cancel} {
		if got := e.next(e.agentIn); got != want+"\n" {
			t.Fatalf("%s instead of %s", got, want)
		}
	}
}

func TestLoadedSessionIsWoken(t *testing.T) {
	e := newEnds(t, 0)
	e.open()
	e.passes(e.client, e.agentIn, `{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"bad"}}`)
	e.pings <- "wake"
	e.passes(e.agent, e.clientIn, `{"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"none"}}`)
	own := e.woken("s1", "wake")
	e.write(e.agent, `{"jsonrpc":"2.0","id":"`+own+`","error":{"code":-32000,"message":"log in"}}`+"\n")
	e.passes(e.client, e.agentIn, `{"jsonrpc":"2.0","id":3,"method":"session/load","params":{"sessionId":"old"}}`)
	if said := e.next(e.said); !strings.Contains(said, "log in") {
		t.Error(said)
	}
	e.passes(e.agent, e.clientIn, `{"jsonrpc":"2.0","id":3,"result":null}`)
	e.pings <- "again"
	e.woken("old", "again")
}

// Lines pass byte for byte: odd ones, large ones, and such as come in pieces.
func TestLinesPassAsTheyCame(t *testing.T) {
	e := newEnds(t, 1<<20)
	for _, line := range []string{"", "no JSON", `[{"id":1}]`, "  { \"id\" : 1 ,\t\"b\":\"\\u00e9\" }\r", `{"id":1,"params":7}`, "\xff\x00"} {
		e.passes(e.client, e.agentIn, line)
		e.passes(e.agent, e.clientIn, line)
	}
	line := ask("3", strings.Repeat("x", 300<<10))
	for _, side := range []struct {
		w  io.Writer
		to <-chan string
	}{{e.client, e.agentIn}, {e.agent, e.clientIn}} {
		go func() {
			for part := []byte(line + "\n"); len(part) > 0; {
				n := min(len(part), 777)
				if _, err := side.w.Write(part[:n]); err != nil {
					return
				}
				part = part[n:]
			}
		}()
		if got := e.next(side.to); got != line+"\n" {
			t.Errorf("%d bytes came as %d", len(line)+1, len(got))
		}
	}
	// What is beyond the limit passes unread, and so does the rest of its line.
	long := ask("4", strings.Repeat("y", 3<<20))
	go func() { _, _ = io.WriteString(e.agent, long+"\n") }()
	if got := e.next(e.clientIn); got != long+"\n" {
		t.Errorf("%d bytes came as %d", len(long)+1, len(got))
	}
	go func() { _, _ = io.WriteString(e.client, long+"\n") }()
	if got := e.next(e.agentIn); got != long+"\n" {
		t.Errorf("%d bytes came as %d", len(long)+1, len(got))
	}
	if said := e.next(e.said); !strings.Contains(said, "not woken any more") {
		t.Error(said)
	}
}

func TestEndsOfBothSides(t *testing.T) {
	e := newEnds(t, 0)
	e.write(e.client, `{"half":`)
	e.client.Close()
	if got := e.next(e.agentIn); got != `{"half":` {
		t.Errorf("%q", got)
	}
	if got := e.next(e.agentIn); got != "" {
		t.Errorf("the agent's input goes on: %q", got)
	}
	e.passes(e.agent, e.clientIn, update) // it may still answer
	e.write(e.agent, "rest")
	e.agent.Close()
	if got := e.next(e.clientIn); got != "rest" {
		t.Errorf("%q", got)
	}
	if err := <-e.over; err != nil {
		t.Error(err)
	}
}

// Beyond the limit a prompt is not held, and the memory stays bounded.
func TestHeldPromptsAreBounded(t *testing.T) {
	e := newEnds(t, 1000)
	e.open()
	e.pings <- "wake"
	e.woken("s1", "wake")
	e.write(e.client, ask("2", strings.Repeat("a", 600))+"\n")
	e.passes(e.client, e.agentIn, ask("3", strings.Repeat("b", 600)))
	if said := e.next(e.said); !strings.Contains(said, "not held back") {
		t.Error(said)
	}
}
