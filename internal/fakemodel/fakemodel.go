// Package fakemodel is a model server for tests: it speaks the four protocols of
// agent programs (OpenAI's chat completions and responses, Anthropic's messages,
// Gemini's generateContent), streamed or whole, and records the requests. A
// function replaces the model. It listens only on loopback. Call Start.
package fakemodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Reply is one answer of the model: a text, or one call of a tool.
type Reply struct {
	Text   string
	Call   *Call
	Tokens int // of the request, for the messages API; 0: 10
}

// Call asks the program to run one of its offered tools.
type Call struct {
	Tool  string
	Space string          // the namespace of the tool, which the Responses API has
	Args  json.RawMessage // an object
}

// Request is one request for an answer of the model.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
	Tools  []string // names, in the offered order
	Turn   int      // number of tool results in it
}

// Server runs until Close.
type Server struct {
	URL string // http://127.0.0.1:PORT, without /v1

	answer func(Request) Reply
	http   http.Server

	mu      sync.Mutex
	asked   []Request
	unknown []string
}

// New returns a server without a listener, as a handler.
func New(answer func(Request) Reply) *Server { return &Server{answer: answer} }

// Start listens on a free port of loopback. It calls answer for each request,
// perhaps concurrently.
func Start(answer func(Request) Reply) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := New(answer)
	s.URL = "http://" + l.Addr().String()
	s.http = http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go s.http.Serve(l) // ends with Close
	return s, nil
}

// Close cuts all connections.
func (s *Server) Close() error { return s.http.Close() }

// Take returns and forgets the requests since the last Take, oldest first.
func (s *Server) Take() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.asked
	s.asked = nil
	return out
}

// Unknown returns "METHOD path" of every request that is not in a model API and
// got a 404.
func (s *Server) Unknown() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.unknown...)
}

// protocol is one API of a model.
type protocol interface {
	// read returns the tools and the number of tool results.
	read(body []byte) (tools []string, turn int, stream bool, err error)
	whole(w http.ResponseWriter, model string, r Reply)
	stream(w *events, model string, r Reply)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	gemini, method, isGemini := geminiCall(r.URL.Path)
	switch {
	case r.Method == http.MethodHead && r.URL.Path == "/": // a probe for the server
	case r.Method == http.MethodGet && path == "/models":
		reply(w, object{"object": "list", "data": []object{{"id": "fake", "object": "model", "owned_by": "fake"}}})
	case r.Method == http.MethodPost && path == "/messages/count_tokens":
		reply(w, object{"input_tokens": 1000})
	case r.Method == http.MethodPost && path == "/chat/completions":
		s.serve(w, r, chat{}, "")
	case r.Method == http.MethodPost && path == "/responses":
		s.serve(w, r, responses{}, "")
	case r.Method == http.MethodPost && path == "/messages":
		s.serve(w, r, messages{}, "")
	case r.Method == http.MethodPost && isGemini && method == "countTokens":
		reply(w, object{"totalTokens": 1000})
	case r.Method == http.MethodPost && isGemini && strings.HasSuffix(strings.ToLower(method), "generatecontent"):
		s.serve(w, r, generate{streamed: method == "streamGenerateContent"}, gemini)
	default:
		s.mu.Lock()
		s.unknown = append(s.unknown, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		http.Error(w, `{"error":{"message":"no such address"}}`, http.StatusNotFound)
	}
}

// serve reads, records and answers one request. model is its name if the body
// has none.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, p protocol, model string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the program disconnected
	}
	tools, turn, stream, err := p.read(body)
	if err != nil {
		http.Error(w, fmt.Sprintf(`{"error":{"message":%q}}`, err), http.StatusBadRequest)
		return
	}
	q := Request{Path: r.URL.Path, Header: r.Header, Body: body, Tools: tools, Turn: turn}
	s.mu.Lock()
	s.asked = append(s.asked, q)
	s.mu.Unlock()
	var named struct{ Model string }
	if json.Unmarshal(body, &named) == nil && named.Model != "" {
		model = named.Model
	}
	if !stream {
		p.whole(w, model, s.answer(q))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	p.stream(&events{w: w}, model, s.answer(q))
}

// object is a JSON object in any order.
type object map[string]any

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

// events writes server-sent events.
type events struct {
	w http.ResponseWriter
	n int // number of events sent
}

// send writes one event; name may be "".
func (e *events) send(name string, v any) {
	b, _ := json.Marshal(v) // objects of this package: cannot fail
	if name != "" {
		fmt.Fprintf(e.w, "event: %s\n", name)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", b)
	e.n++
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}
