package mcptools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// ErrLogin means that a server wants a login, which agent programs do with the
// person's browser.
var ErrLogin = errors.New("it wants a login")

// Remote is a server that is spoken to over HTTP:
// https://modelcontextprotocol.io/specification/2025-06-18/basic/transports.
type Remote struct {
	URL     string
	Headers http.Header
	Client  *http.Client // should follow no redirect: the headers may hold secrets
	Version string       // of this program, which the server is told

	session string
}

// Tools returns the names of the server's tools.
func (r Remote) Tools(ctx context.Context) ([]string, error) {
	tools, err := list(ctx, &r, r.Version)
	if r.session != "" { // so that the server need not wait for more
		if resp, err := r.send(ctx, http.MethodDelete, nil); err == nil {
			resp.Body.Close()
		}
	}
	return tools, err
}

func (r *Remote) send(ctx context.Context, method string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.URL, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("its address is no URL")
	}
	for name, values := range r.Headers {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", protocol)
	if r.session != "" {
		req.Header.Set("Mcp-Session-Id", r.session)
	}
	resp, err := r.Client.Do(req)
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without the address, which may hold a secret
	}
	return resp, err
}

func (r *Remote) tell(ctx context.Context, m message) error {
	resp, err := r.post(ctx, m)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

func (r *Remote) post(ctx context.Context, m message) (*http.Response, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	resp, err := r.send(ctx, http.MethodPost, b)
	if err != nil {
		return nil, err
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		r.session = id
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return nil, fmt.Errorf("%w (%s)", ErrLogin, resp.Status)
	}
	return nil, fmt.Errorf("it answered %s", resp.Status)
}

// call asks m. The answer is one message, or one of a stream of events.
func (r *Remote) call(ctx context.Context, m message) (json.RawMessage, error) {
	resp, err := r.post(ctx, m)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body := io.LimitReader(resp.Body, maxMessage)
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
		var got message
		if err := json.NewDecoder(body).Decode(&got); err != nil {
			return nil, errors.New("it answered with something else than a message")
		}
		return got.answer()
	}
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxMessage)
	for data := ""; ; {
		more := lines.Scan()
		line := lines.Text()
		if part, ok := strings.CutPrefix(line, "data:"); ok {
			data += strings.TrimPrefix(part, " ")
			continue
		}
		var got message
		if (line == "" || !more) && json.Unmarshal([]byte(data), &got) == nil && bytes.Equal(got.ID, m.ID) && got.Method == "" {
			return got.answer()
		}
		if line == "" {
			data = ""
		}
		if !more {
			return nil, errors.New("its stream ended before it answered")
		}
	}
}

// answer returns the result of m, or the error that it is.
func (m message) answer() (json.RawMessage, error) {
	if m.Error != nil {
		return nil, m.Error
	}
	return m.Result, nil
}
