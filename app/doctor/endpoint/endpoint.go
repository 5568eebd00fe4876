package endpoint

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"aisync.dev/aisync/internal/termtext"
)

// Endpoint is a server that speaks one of the model APIs.
type Endpoint struct {
	URL    string            // up to and with /v1
	API    string            // "chat" (also ""), "responses" or "messages": the API that Prompt uses
	Client *http.Client      // see Client
	Header map[string]string // of each request; its key is among them
}

// ErrRemote means that an address is not on this machine, which the client
// requires.
var ErrRemote = errors.New("not on this machine")

// Client returns a client that follows no redirect. With loopback it connects
// to this machine only, whatever a name resolves to, and ignores proxies; any
// other connection is ErrRemote.
func Client(loopback bool) *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, DisableKeepAlives: true}
	if loopback {
		transport.Proxy = nil
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			if at, err := netip.ParseAddrPort(address); err != nil || !at.Addr().Unmap().IsLoopback() {
				return ErrRemote
			}
			return nil
		}
	}
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Loopback reports whether address names this machine, without asking a name
// server.
func Loopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	if host := u.Hostname(); host != "localhost" {
		ip, err := netip.ParseAddr(host)
		return err == nil && ip.Unmap().IsLoopback()
	}
	return true
}

// Models returns the names under which the server offers models.
func (e Endpoint) Models(ctx context.Context) ([]string, error) {
	var got struct {
		Object string                `json:"object"` // "list": ollama without a model has no data
		Data   []struct{ ID string } `json:"data"`
	}
	body, err := e.call(ctx, http.MethodGet, "/models", nil)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, &got); err != nil || got.Data == nil && got.Object != "list" {
		return nil, fmt.Errorf("%s/models: response is not a list of models: %s", e.URL, clip(string(body)))
	}
	var names []string
	for _, m := range got.Data {
		names = append(names, m.ID)
	}
	return names, nil
}

// Named returns the one of names that stands for model: equal, or with the tag
// that ollama adds; "" if there is none.
func Named(names []string, model string) string {
	for _, name := range []string{model, model + ":latest"} {
		if slices.Contains(names, name) {
			return name
		}
	}
	return ""
}

// Has reports whether the server has an API. It sends an empty request, which
// makes no server work.
func (e Endpoint) Has(ctx context.Context, api string) (bool, error) {
	e.API = api
	_, err := e.call(ctx, http.MethodPost, e.path(), []byte("{}"))
	if Loading(err) || Refused(err) {
		return false, err
	}
	var status Status
	if errors.As(err, &status) {
		return status.Code != http.StatusNotFound && status.Code != http.StatusMethodNotAllowed && status.Code != http.StatusNotImplemented, nil
	}
	return err == nil, err
}

// Answer is the result of a prompt.
type Answer struct {
	Tokens int // as the server counts; 1 if it counts none and there is a text
	Took   time.Duration
}

// promptTokens bounds the answer to a prompt: a few tokens suffice.
const promptTokens = 8

// Prompt asks a model for a few words. An answer without a token is an error.
func (e Endpoint) Prompt(ctx context.Context, model string) (Answer, error) {
	ask := "Say hello."
	message := []map[string]string{{"role": "user", "content": ask}}
	request := map[string]any{"model": model, "max_tokens": promptTokens, "messages": message}
	if e.API == "responses" {
		request = map[string]any{"model": model, "max_output_tokens": 2 * promptTokens, "input": ask}
	}
	b, err := json.Marshal(request)
	if err != nil {
		return Answer{}, err
	}
	begin := time.Now()
	body, err := e.call(ctx, http.MethodPost, e.path(), b)
	if err != nil {
		return Answer{}, err
	}
	tokens, err := tokensOf(body)
	if err != nil {
		return Answer{}, fmt.Errorf("%s%s: %w: %s", e.URL, e.path(), err, clip(string(body)))
	}
	return Answer{tokens, time.Since(begin)}, nil
}

// path is the path of the API.
func (e Endpoint) path() string { return PathOf(e.API) }

// tokensOf counts the tokens of an answer in any of the three forms.
func tokensOf(body []byte) (int, error) {
	type part struct{ Text, Thinking string }
	var got struct {
		Choices []struct {
			Message struct {
				Content          string
				Reasoning        string
				ReasoningContent string          `json:"reasoning_content"`
				ToolCalls        json.RawMessage `json:"tool_calls"`
			}
		}
		Output  []struct{ Content []part }
		Content []part
		Usage   struct {
			Completion int `json:"completion_tokens"`
			Output     int `json:"output_tokens"`
		}
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return 0, errors.New("response is not JSON of that API")
	}
	if len(got.Choices)+len(got.Output)+len(got.Content) == 0 {
		return 0, errors.New("response has no message")
	}
	if n := max(got.Usage.Completion, got.Usage.Output); n > 0 {
		return n, nil
	}
	var text strings.Builder
	for _, c := range got.Choices {
		text.WriteString(c.Message.Content + c.Message.Reasoning + c.Message.ReasoningContent)
	}
	for _, o := range got.Output {
		got.Content = append(got.Content, o.Content...)
	}
	for _, c := range got.Content {
		text.WriteString(c.Text + c.Thinking)
	}
	if text.Len() == 0 {
		return 0, errors.New("response has no token")
	}
	return 1, nil
}

// Status is an HTTP response with an error.
type Status struct {
	URL  string
	Code int
	Text string // the server's message, or its beginning
}

// Error implements error.
func (s Status) Error() string {
	return fmt.Sprintf("%s answers %d %s: %s", s.URL, s.Code, http.StatusText(s.Code), cmp.Or(s.Text, "nothing more"))
}

// answerBytes bounds what is read of a response.
const answerBytes = 4 << 20

func (e Endpoint) call(ctx context.Context, method, path string, send []byte) ([]byte, error) {
	address := strings.TrimSuffix(e.URL, "/") + path
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(send))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer none") // some servers require one; a local one ignores its value
	request.Header.Set("Anthropic-Version", "2023-06-01")
	for name, value := range e.Header {
		request.Header.Set(name, value)
	}
	response, err := e.Client.Do(request)
	if err != nil {
		return nil, plain(address, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerBytes))
	if err != nil {
		return nil, plain(address, err)
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case response.StatusCode >= 300:
		return nil, Status{address, response.StatusCode, wordsOf(kind, body)}
	case kind == "text/html":
		return nil, fmt.Errorf("%s returned a web page: %s; this is not a model server", address, wordsOf(kind, body))
	}
	return body, nil
}

// plain describes a failed call for a person.
func plain(address string, err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s does not answer in time: %w", address, context.DeadlineExceeded)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens at %s: %w", address, syscall.ECONNREFUSED)
	case errors.Is(err, ErrRemote):
		return fmt.Errorf("%s: %w", address, ErrRemote)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("%s: %w", address, err)
}

// wordsOf finds a server's error message: in JSON, in the title of a page, or
// as plain text.
func wordsOf(kind string, body []byte) string {
	var said struct{ Error any }
	if json.Unmarshal(body, &said) == nil {
		switch e := said.Error.(type) {
		case string:
			return clip(e)
		case map[string]any:
			if text, ok := e["message"].(string); ok {
				return clip(text)
			}
		}
	}
	if kind == "text/html" {
		_, rest, _ := strings.Cut(string(body), "<title>")
		if title, _, ok := strings.Cut(rest, "</title>"); ok {
			return clip(title)
		}
	}
	return clip(string(body))
}

// clip makes text one line of bounded length.
func clip(text string) string {
	return termtext.Clip(termtext.OneLine(text), 201)
}
