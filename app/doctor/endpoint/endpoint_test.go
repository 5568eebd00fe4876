package endpoint

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// answering is a server that says the same to everything, and the endpoint it is.
func answering(t *testing.T, status int, kind, body string) Endpoint {
	return serving(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

func serving(t *testing.T, h http.HandlerFunc) Endpoint {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return Endpoint{URL: s.URL + "/v1", Client: Client(true)}
}

func TestAnEndpointNamesItsModels(t *testing.T) {
	names, err := answering(t, 200, "application/json", `{"object":"list","data":[{"id":"tiny:latest"},{"id":"coder"}]}`).Models(context.Background())
	if err != nil || !slices.Equal(names, []string{"tiny:latest", "coder"}) {
		t.Fatalf("got %q, %v", names, err)
	}
	for model, want := range map[string]string{"coder": "coder", "tiny": "tiny:latest", "code": "", "latest": ""} {
		if got := Named(names, model); got != want {
			t.Errorf("%q is called %q, want %q", model, got, want)
		}
	}
}

// What is no list of models is never taken for one.
func TestAnAnswerThatIsNoListOfModelsSaysWhatItIs(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		kind, body string
		want       string
	}{
		"a page":              {200, "text/html; charset=utf-8", "<html><title>Router login</title>", "web page: Router login"},
		"a page of an error":  {502, "text/html", "<html><title>Bad Gateway</title>", "502 Bad Gateway: Bad Gateway"},
		"an error in JSON":    {503, "application/json", `{"error":{"message":"Loading model"}}`, "503 Service Unavailable: Loading model"},
		"another in JSON":     {404, "application/json", `{"error":"no such thing"}`, "404 Not Found: no such thing"},
		"an empty error":      {500, "", "", "500 Internal Server Error: nothing more"},
		"a redirect":          {302, "", "", "302 Found"},
		"other JSON":          {200, "application/json", `{"models":[]}`, "is not a list of models"},
		"a list of something": {200, "application/json", `["a"]`, "is not a list of models"},
		"nothing":             {200, "application/json", "", "is not a list of models"},
	} {
		t.Run(name, func(t *testing.T) {
			names, err := answering(t, c.status, c.kind, c.body).Models(context.Background())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, %v; want an error with %q", names, err, c.want)
			}
		})
	}
}

func TestAPromptMustBringTokens(t *testing.T) {
	for name, c := range map[string]struct {
		api, body string
		tokens    int
		fault     string
	}{
		"chat, counted":       {"chat", `{"choices":[{"message":{"content":""}}],"usage":{"completion_tokens":8}}`, 8, ""},
		"chat, not counted":   {"", `{"choices":[{"message":{"content":"hi"}}]}`, 1, ""},
		"chat, only thoughts": {"chat", `{"choices":[{"message":{"content":null,"reasoning_content":"hm"}}]}`, 1, ""},
		"responses":           {"responses", `{"output":[{"content":[{"text":"hi"}]}],"usage":{"output_tokens":2}}`, 2, ""},
		"messages":            {"messages", `{"content":[{"type":"text","text":"hi"}],"usage":{"output_tokens":3}}`, 3, ""},
		"not one token":       {"chat", `{"choices":[{"message":{"content":""}}],"usage":{"completion_tokens":0}}`, 0, "no token"},
		"no message":          {"chat", `{"choices":[],"usage":{"completion_tokens":5}}`, 0, "no message"},
		"an error as success": {"chat", `{"error":"out of memory"}`, 0, "no message"},
		"no JSON":             {"chat", `hello`, 0, "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			e := answering(t, 200, "application/json", c.body)
			e.API = c.api
			got, err := e.Prompt(context.Background(), "m")
			if c.fault == "" && (err != nil || got.Tokens != c.tokens) || c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestAPromptGoesToTheAPIThatItIsFor(t *testing.T) {
	for api, want := range map[string]string{"": "/v1/chat/completions", "chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"} {
		var asked string
		e := serving(t, func(w http.ResponseWriter, r *http.Request) { asked = r.Method + " " + r.URL.Path })
		e.API = api
		_, _ = e.Prompt(context.Background(), "m")
		if asked != "POST "+want {
			t.Errorf("%q: asked %q, want %q", api, asked, want)
		}
	}
}

func TestAnAPIThatIsNotThereIsTold(t *testing.T) {
	e := serving(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/chat/completions":
			w.WriteHeader(http.StatusBadRequest)
		case "/v1/messages":
			w.WriteHeader(http.StatusMethodNotAllowed)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	for api, want := range map[string]bool{"chat": true, "messages": false, "responses": false} {
		if got, err := e.Has(context.Background(), api); got != want || err != nil {
			t.Errorf("%s: %v, %v; want %v", api, got, err, want)
		}
	}
	e.URL = "http://127.0.0.1:1/v1"
	if got, err := e.Has(context.Background(), "chat"); got || err == nil {
		t.Errorf("a server that is not there: %v, %v", got, err)
	}
}

func TestAServerThatHangsIsGivenUpOn(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := serving(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() }).Models(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "does not answer in time") {
		t.Errorf("got %v", err)
	}
}

func TestUnreachableEndpointIsReported(t *testing.T) {
	_, err := Endpoint{URL: "http://127.0.0.1:1/v1", Client: Client(true)}.Models(context.Background())
	if err == nil || !strings.Contains(err.Error(), "nothing listens at http://127.0.0.1:1/v1/models") {
		t.Errorf("got %v", err)
	}
}

// A client for this machine leaves it under no name, over no proxy and by no
// redirect.
func TestALoopbackClientStaysOnThisMachine(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:3128")
	for _, address := range []string{"http://192.0.2.1:80/v1", "http://[2001:db8::1]/v1"} {
		if _, err := (Endpoint{URL: address, Client: Client(true)}).Models(context.Background()); !errors.Is(err, ErrRemote) {
			t.Errorf("%s: got %v", address, err)
		}
	}
	e := serving(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
	})
	if _, err := e.Models(context.Background()); !errors.As(err, new(Status)) {
		t.Errorf("a redirect: got %v", err)
	}
}

func TestLoopbackIsToldWithoutANameServer(t *testing.T) {
	for address, want := range map[string]bool{
		"http://127.0.0.1:8081/v1": true, "http://[::1]:1/v1": true, "http://localhost/v1": true, "http://127.9.9.9": true,
		"http://192.168.1.2/v1": false, "http://box.local/v1": false, "http://0.0.0.0:1": false, "::": false, "http://localhost.example.org": false,
	} {
		if got := Loopback(address); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
}
