package fetch

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"aisync.dev/aisync/internal/fetch/ssrf"
)

// guard cancels a request without a byte for stall, in the headers or the body,
// and one whose body is too slow. Time that the reader spends elsewhere does
// not count, so a slow but steady download may take for ever. It refuses
// redirects from a remote host to this machine.
type guard struct {
	base  http.RoundTripper
	stall time.Duration
	crawl slowness
	agent string
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	parent, err := checkRedirect(req)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(parent)
	stalled := &stallError{g.stall}
	timer := time.AfterFunc(g.stall, func() { cancel(stalled) })
	req = req.Clone(ctx)
	sent := &sentBody{ReadCloser: req.Body, timer: timer, stall: g.stall}
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = sent
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", g.agent)
	}
	resp, err := g.base.RoundTrip(req)
	sent.answered.Store(true)
	timer.Stop()
	if err != nil {
		if context.Cause(ctx) == stalled {
			err = stalled
		}
		cancel(nil)
		return nil, err
	}
	resp.Body = &guardedBody{ReadCloser: resp.Body, ctx: ctx, cancel: cancel, timer: timer, stalled: stalled, crawl: g.crawl}
	return resp, nil
}

// settling is how long a server may take after the last byte that it was sent, to
// verify it and to put it in its place.
const settling = 5 * time.Minute

// sentBody restarts the timer for each Read.
type sentBody struct {
	io.ReadCloser
	timer    *time.Timer
	stall    time.Duration
	answered atomic.Bool
}

func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case b.answered.Load():
	case err == io.EOF:
		b.timer.Reset(max(b.stall, settling))
	default:
		b.timer.Reset(b.stall)
	}
	return n, err
}

// guardedBody restarts the timer for each Read.
type guardedBody struct {
	io.ReadCloser
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	stalled *stallError
	crawl   slowness
}

func (b *guardedBody) Read(p []byte) (int, error) {
	b.timer.Reset(b.stalled.after)
	start := time.Now()
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	if slow := b.crawl.add(n, time.Since(start)); err == nil && slow != nil {
		return n, slow
	}
	if err != nil && err != io.EOF && context.Cause(b.ctx) == b.stalled {
		err = b.stalled
	}
	return n, err
}

func (b *guardedBody) Close() error {
	b.timer.Stop()
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}

type stallError struct{ after time.Duration }

// Timeout and Temporary make it a net.Error: a retry may succeed.
func (e *stallError) Timeout() bool   { return true }
func (e *stallError) Temporary() bool { return true }

func (e *stallError) Error() string { return fmt.Sprintf("no byte arrived for %s", e.after) }

type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// redirected marks a request that a remote server redirected to another host: its
// connection must not end on this machine, whatever the host's name resolves
// to.
type redirected struct{}

// checkRedirect refuses a redirect from a remote host to this machine. A
// request that is not a redirect may go anywhere: a person named its address.
func checkRedirect(req *http.Request) (context.Context, error) {
	ctx, first := req.Context(), req
	for first.Response != nil && first.Response.Request != nil {
		first = first.Response.Request
	}
	if ssrf.Here(first.URL.Hostname()) || first.URL.Host == req.URL.Host {
		return ctx, nil
	}
	if err := ssrf.Check(first.URL, req.URL); err != nil {
		return nil, refuse(nextSource, "%w", err)
	}
	if proxy, err := http.ProxyFromEnvironment(req); proxy != nil && err == nil {
		return ctx, nil // the proxy is dialed, and resolves the name
	}
	return context.WithValue(ctx, redirected{}, true), nil
}

// checkedDial wraps dial to check the address of a redirected request.
func checkedDial(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil || ctx.Value(redirected{}) == nil {
			return conn, err
		}
		if ip, _, err := net.SplitHostPort(conn.RemoteAddr().String()); err == nil && ssrf.Here(ip) {
			conn.Close()
			return nil, refuse(nextSource, "%w", ssrf.Refused(addr))
		}
		return conn, nil
	}
}
