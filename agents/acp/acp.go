// Package acp stands between a client of the Agent Client Protocol, such as an
// editor, and an agent that it started, and wakes the agent for the ledger: between
// the client's turns it sends a prompt of its own. All else passes as it came, line
// by line. Call Serve; the rules of the protocol are Relay's.
//
// The protocol is JSON-RPC, one message a line: https://agentclientprotocol.com
package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
)

// maxLine bounds a line that is read, and what is held back of the client's prompts,
// in bytes. A longer line passes unread.
const maxLine = 64 << 20

// Relay is one connection. Its fields are set before Run.
type Relay struct {
	FromClient io.Reader
	ToClient   io.Writer
	FromAgent  io.Reader
	ToAgent    io.WriteCloser
	Pings      <-chan string            // texts with which to wake the agent
	Say        func(f string, a ...any) // tells a person what went wrong
	Limit      int                      // of a line; 0: maxLine

	mu      sync.Mutex
	session string            // the one that was made, loaded or prompted last
	opening map[string]string // requests of the client for a session, by id: its id, "" if new
	turns   map[string]bool   // the client's prompts without an answer, by id
	own     string            // id of the relay's prompt without an answer; "": none
	ping    string            // what waits for its turn
	held    [][]byte          // the client's prompts since own
	size    int               // of held
	blind   bool              // a line of the client passed unread: whether it began a turn is not known
	count   int

	prefix string
	write  sync.Mutex    // for ToAgent
	within bool          // the client's side has locked write: a part of a line was sent
	news   chan struct{} // something that advance waits for has changed
}

// message is what the relay reads of a line.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// names are the members that name a session or a request.
type names struct {
	SessionID string          `json:"sessionId"`
	RequestID json.RawMessage `json:"requestId"`
}

func namesIn(raw json.RawMessage) (n names) {
	_ = json.Unmarshal(raw, &n) // other forms name none
	return n
}

// Run passes lines on until the agent's side ends. When the client's side ends, it
// ends that to the agent.
func (r *Relay) Run() error {
	r.opening, r.turns, r.news = map[string]string{}, map[string]bool{}, make(chan struct{}, 1)
	r.prefix = fmt.Sprintf("aisync-wake-%016x-", rand.Uint64())
	if r.Limit == 0 {
		r.Limit = maxLine
	}
	over := make(chan struct{})
	defer close(over)
	go func() {
		if err := r.lines(r.FromClient, r.fromClient); err != nil && !errors.Is(err, io.ErrClosedPipe) {
			r.Say("from the client: %v", err)
		}
		if !r.within {
			r.write.Lock()
		}
		defer r.write.Unlock()
		_ = r.ToAgent.Close() // the agent ends
	}()
	go r.advance(over)
	return r.lines(r.FromAgent, r.fromAgent)
}

// lines calls pass with each line, its end included. Of one that is too long it
// passes parts, which read as nothing: whole is false.
func (r *Relay) lines(from io.Reader, pass func(line []byte, whole bool) error) error {
	in := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	whole := true
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		ended := err == nil || !errors.Is(err, bufio.ErrBufferFull)
		if len(line) > r.Limit {
			whole = false
		}
		if len(line) > 0 && (ended || !whole) {
			if failed := pass(line, whole); failed != nil {
				return failed
			}
			line = nil // it may be kept, or be large
		}
		if ended {
			whole = true
		}
		switch {
		case err == nil || errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil
		default:
			return err
		}
	}
}

// fromClient passes a line on to the agent, or holds it back: a prompt while the
// relay's own turn is in flight, and what cancels one that is held.
func (r *Relay) fromClient(line []byte, whole bool) error {
	if r.keeps(line, whole) {
		return nil
	}
	if whole {
		return r.send(line)
	}
	if !r.within { // nothing comes between the parts of a line
		r.write.Lock()
		r.within = true
	}
	_, err := r.ToAgent.Write(line)
	if err != nil || line[len(line)-1] == '\n' {
		r.within = false
		r.write.Unlock()
	}
	return err
}

func (r *Relay) keeps(line []byte, whole bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	var m message
	if !whole {
		if !r.blind {
			r.Say("a line of the client is longer than %d bytes and passed unread; the agent is not woken any more", r.Limit)
		}
		r.blind = true
		return false
	}
	if json.Unmarshal(line, &m) != nil || m.Method == "" {
		return false
	}
	id, of := key(m.ID), namesIn(m.Params)
	switch m.Method {
	case "session/new":
		r.opening[id] = ""
	case "session/load", "session/resume":
		r.opening[id] = of.SessionID
	case "session/prompt":
		if r.own != "" || len(r.held) > 0 {
			if r.size+len(line) <= r.Limit {
				r.hold(line)
				return true
			}
			r.Say("the client's prompts are longer than %d bytes; one was not held back", r.Limit)
		}
		r.begins(line)
	case "session/cancel":
		if len(r.held) > 0 { // it ends the turn in flight, and then the one that was held
			r.hold(line)
		}
	case "$/cancel_request":
		if r.holds(of.RequestID) {
			r.hold(line)
			return true
		}
	}
	return false
}

// key is an id as the relay compares it.
func key(id json.RawMessage) string { return string(bytes.TrimSpace(id)) }

func (r *Relay) hold(line []byte) {
	r.held = append(r.held, line)
	r.size += len(line)
}

func (r *Relay) holds(id json.RawMessage) bool {
	for _, line := range r.held {
		var m message
		if json.Unmarshal(line, &m) == nil && m.Method == "session/prompt" && key(m.ID) == key(id) {
			return true
		}
	}
	return false
}

// begins notes a turn of the client, if the line is its prompt.
func (r *Relay) begins(line []byte) {
	var m message
	if json.Unmarshal(line, &m) == nil && m.Method == "session/prompt" {
		r.turns[key(m.ID)] = true
		if s := namesIn(m.Params).SessionID; s != "" {
			r.session = s
		}
	}
}

// fromAgent passes a line on to the client, except the answer to the relay's prompt.
func (r *Relay) fromAgent(line []byte, whole bool) error {
	if whole && r.swallows(line) {
		return nil
	}
	_, err := r.ToClient.Write(line)
	return err
}

func (r *Relay) swallows(line []byte) bool {
	var m message
	if json.Unmarshal(line, &m) != nil || m.Method != "" || len(m.ID) == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.changed()
	id := key(m.ID)
	if session, ok := r.opening[id]; ok {
		delete(r.opening, id)
		if made := namesIn(m.Result).SessionID; made != "" {
			session = made
		}
		if session != "" && len(m.Error) == 0 {
			r.session = session
		}
	}
	delete(r.turns, id)
	if r.own == "" || id != r.own {
		return false
	}
	r.own = ""
	if len(m.Error) > 0 {
		r.Say("the agent refused the ping: %s", m.Error)
	}
	return true
}

func (r *Relay) changed() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// advance sends, where no turn of the relay is in flight, what was held, and then
// the ping.
func (r *Relay) advance(over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case text := <-r.Pings:
			r.mu.Lock()
			r.ping = text // the newest stands for all: the mail is in the inbox
			r.mu.Unlock()
		case <-r.news:
		}
		for line := r.next(); line != nil; line = r.next() {
			if r.send(line) != nil {
				return
			}
			r.mu.Lock()
			if len(r.held) > 0 && &r.held[0][0] == &line[0] { // until now, so that later prompts stay behind it
				r.size -= len(line)
				r.held = r.held[1:]
			}
			r.mu.Unlock()
		}
	}
}

// next returns what to send now; nil: nothing.
func (r *Relay) next() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.own != "":
		return nil
	case len(r.held) > 0:
		r.begins(r.held[0])
		return r.held[0]
	case r.ping == "" || r.session == "" || r.blind || len(r.turns)+len(r.opening) > 0:
		return nil
	}
	r.count++
	id := fmt.Sprintf("%s%d", r.prefix, r.count)
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": map[string]any{
		"sessionId": r.session, "prompt": []any{map[string]string{"type": "text", "text": r.ping}},
	}})
	if err != nil {
		panic(err) // strings alone
	}
	r.own, r.ping = `"`+id+`"`, ""
	return append(line, '\n')
}

func (r *Relay) send(line []byte) error {
	r.write.Lock()
	defer r.write.Unlock()
	_, err := r.ToAgent.Write(line)
	return err
}
