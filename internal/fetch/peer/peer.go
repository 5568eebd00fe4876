// Package peer shares a store with the machines of one network, read-only and
// by digest. Peers are not trusted: the client compares the digest. Call Serve;
// Source is the client's side.
package peer

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Store is the shared store.
type Store interface {
	// Find returns the complete, verified file with that digest (64 lower-case
	// hex digits), and its size.
	Find(sha256 string) (path string, size int64, ok bool)
	// List returns everything that Find finds.
	List() ([]Blob, error)
}

// Blob is one row of the index.
type Blob struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"` // bytes
}

// Options configure Serve. The zero value works.
type Options struct {
	Connections int           // at a time; further ones wait; 0: 32
	Stall       time.Duration // time limit for a client that accepts no byte; 0: 1 minute
	Access      func(Access)  // called after each response, from several goroutines; may be nil
}

// Listen opens addr (HOST:PORT), which must be a loopback address unless
// beyondLoopback is set.
func Listen(addr string, beyondLoopback bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("serve models: address %q is not HOST:PORT: %w", addr, err)
	}
	if !beyondLoopback && !loopback(host) {
		return nil, fmt.Errorf("serve models: other machines can reach %s; allow that explicitly, or use 127.0.0.1", addr)
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serve models: %w", err)
	}
	return ln, nil
}

// loopback reports whether host is this machine only.
func loopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// Serve answers on ln until ctx ends, and closes it; it then returns nil
// within seconds, cutting off what still runs.
//
//	GET /sha256/       the digests and sizes as JSON
//	GET /sha256/HEX    the bytes, with Range; HEAD too
//
// Whatever else is asked for is refused. On a loopback address only requests
// that name one are answered, so that no web page reaches it by another name.
func Serve(ctx context.Context, ln net.Listener, store Store, o Options) error {
	host, _, _ := net.SplitHostPort(ln.Addr().String())
	h := &handler{store: store, local: loopback(host)}
	server := &http.Server{
		Handler:           logged(h, o.Access),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       30 * time.Second,
		MaxHeaderBytes:    16 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	connections, stall := o.Connections, o.Stall
	if connections <= 0 {
		connections = 32
	}
	if stall <= 0 {
		stall = time.Minute
	}
	stopped := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(grace) != nil {
			server.Close()
		}
	})
	defer stopped()
	err := server.Serve(limited(ln, connections, stall))
	if errors.Is(err, http.ErrServerClosed) && ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("serve models on %s: %w", ln.Addr(), err)
}

// handler answers requests; it writes nothing.
type handler struct {
	store Store
	local bool // listens on loopback
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, ok := strings.CutPrefix(r.URL.Path, "/sha256/")
	asked := r.Host
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		asked = host
	}
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "read-only", http.StatusMethodNotAllowed)
	case h.local && !loopback(asked):
		http.Error(w, "not here", http.StatusMisdirectedRequest)
	case ok && name == "":
		h.index(w)
	case ok && isDigest(name):
		h.blob(w, r, name)
	default:
		http.NotFound(w, r)
	}
}

func (h *handler) index(w http.ResponseWriter) {
	blobs, err := h.store.List()
	if err != nil {
		http.Error(w, "the store cannot be read", http.StatusInternalServerError)
		return
	}
	if blobs == nil {
		blobs = []Blob{}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(blobs)
}

func isDigest(s string) bool {
	raw, err := hex.DecodeString(s)
	return err == nil && len(raw) == 32 && strings.ToLower(s) == s
}

// Source is a peer in place of a URL: peer://HOST:PORT.
type Source struct{}

// Locate returns the peer's address of the content. It makes no request.
func (Source) Locate(_ context.Context, source string, _ int64, sha256 string) (string, http.Header, error) {
	u, err := url.Parse(source)
	if err != nil || u.Scheme != "peer" || u.Hostname() == "" || u.Port() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return "", nil, fmt.Errorf("invalid source %q; want peer://HOST:PORT", source)
	}
	sha256 = strings.ToLower(sha256)
	if !isDigest(sha256) {
		return "", nil, fmt.Errorf("sha256 %q is not 64 hex digits: a peer serves by digest only", sha256)
	}
	return "http://" + u.Host + "/sha256/" + sha256, nil, nil
}
