package confine

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Gate is a proxy that lets a program reach only the model endpoints of one
// server. It listens on loopback, counts tokens, and keeps the last failure.
type Gate struct {
	to     *url.URL
	server http.Server
	addr   *net.TCPAddr

	mu        sync.Mutex
	most      int // questions to the model; 0: any number
	questions int
	tokens    int
	failed    error // the server's last failure
	refused   []string
}

// OpenGate opens a gate to the server at a URL that ends in /v1, for the number of
// questions to its model; 0 is any number. It adds header to each request: the
// program knows no key.
func OpenGate(endpoint string, questions int, header map[string]string) (*Gate, error) {
	to, err := url.Parse(strings.TrimSuffix(strings.TrimSuffix(endpoint, "/"), "/v1"))
	if err != nil || to.Host == "" {
		return nil, fmt.Errorf("endpoint %q is not a URL", endpoint)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a proxy to the endpoint: %w", err)
	}
	g := &Gate{to: to, most: questions, addr: l.Addr().(*net.TCPAddr)}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = ""
			for name, value := range header {
				r.Out.Header.Set(name, value)
			}
			if header["Authorization"] != "" {
				r.Out.Header.Del("X-Api-Key") // Anthropic's way to send the same
			}
		},
		Transport:      NoRedirects.Transport,
		FlushInterval:  -1,
		ModifyResponse: g.look,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			g.fail(err)
			http.Error(w, `{"error":{"message":"the endpoint does not answer"}}`, http.StatusBadGateway)
		},
		ErrorLog: log.New(io.Discard, "", 0), // reported through g.failed
	}
	g.server = http.Server{Handler: g.guard(proxy), ReadHeaderTimeout: 10 * time.Second, ErrorLog: proxy.ErrorLog}
	go g.server.Serve(l) // ends with close
	return g, nil
}

// Close closes the gate.
func (g *Gate) Close() { g.server.Close() }

// Addr returns where it listens.
func (g *Gate) Addr() *net.TCPAddr { return g.addr }

// To returns the address of the server.
func (g *Gate) To() *url.URL { return g.to }

// State returns the tokens spent and the server's last failure.
func (g *Gate) State() (tokens int, failed error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tokens, g.failed
}

// Refused returns the refused requests, the first 20.
func (g *Gate) Refused() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.refused)
}

// modelPaths are the paths that ask a model; others of a server load and unload
// models, or write files.
var modelPaths = []string{"/chat/completions", "/completions", "/responses", "/messages", "/messages/count_tokens", "/embeddings"}

// allowed reports whether a program may send a request, and whether it asks the
// model.
func allowed(method, path string) (ok, question bool) {
	rest, v1 := strings.CutPrefix(path, "/v1")
	switch {
	case method == http.MethodHead && path == "/":
		return true, false
	case !v1:
		return false, false
	case method == http.MethodGet && (rest == "/models" || strings.HasPrefix(rest, "/models/")):
		return true, false
	}
	return method == http.MethodPost && slices.Contains(modelPaths, rest), true
}

func (g *Gate) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ok, question := allowed(r.Method, r.URL.Path)
		g.mu.Lock()
		if question && ok {
			g.questions++
			ok = (g.most == 0 || g.questions <= g.most)
		}
		if !ok && len(g.refused) < 20 {
			g.refused = append(g.refused, r.Method+" "+r.URL.Path)
		}
		g.mu.Unlock()
		if !ok {
			http.Error(w, `{"error":{"message":"not for an executor"}}`, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g *Gate) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failed = err
}

// look counts the tokens of a response while it passes.
func (g *Gate) look(res *http.Response) error {
	if Temporary(res.StatusCode) {
		g.fail(fmt.Errorf("it answers %s", res.Status))
	} else if res.StatusCode == http.StatusOK {
		g.fail(nil)
	}
	res.Body = &counted{ReadCloser: res.Body, gate: g}
	return nil
}

// counted keeps the end of a body, which holds a stream's token counts, or all
// of a short one.
type counted struct {
	io.ReadCloser
	gate *Gate
	tail []byte
}

const maxTail = 64 << 10

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.tail = append(c.tail, p[:n]...)
	if over := len(c.tail) - maxTail; over > 0 {
		c.tail = slices.Delete(c.tail, 0, over)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.gate.fail(err)
	}
	return n, err
}

func (c *counted) Close() error {
	c.gate.mu.Lock()
	c.gate.tokens += tokensOf(c.tail)
	c.gate.mu.Unlock()
	c.tail = nil
	return c.ReadCloser.Close()
}

// Token counts of chat completions and responses, and the two of messages; the
// last one in a stream counts.
var (
	totalTokens = regexp.MustCompile(`"total_tokens"\s*:\s*(\d+)`)
	partTokens  = []*regexp.Regexp{regexp.MustCompile(`"input_tokens"\s*:\s*(\d+)`), regexp.MustCompile(`"output_tokens"\s*:\s*(\d+)`)}
)

func tokensOf(body []byte) int {
	if n := lastFigure(totalTokens, body); n > 0 {
		return n
	}
	return lastFigure(partTokens[0], body) + lastFigure(partTokens[1], body)
}

func lastFigure(re *regexp.Regexp, body []byte) int {
	all := re.FindAllSubmatch(body, -1)
	if len(all) == 0 {
		return 0
	}
	n, err := strconv.Atoi(string(all[len(all)-1][1]))
	if err != nil {
		return 0
	}
	return n
}

// Temporary reports whether a status may soon change.
func Temporary(status int) bool {
	return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
}

// NoRedirects follows no redirects. The question's context bounds its wait: a local
// model may think for minutes.
var NoRedirects = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConns: 1, IdleConnTimeout: time.Minute},
}
