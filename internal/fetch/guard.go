package fetch

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"aisync.dev/aisync/internal/fetch/ssrf"
)

// guard cancels a request during which no byte arrives for stall, whether of
// the headers or of the body, and one whose body crawls. The time that the
// reader of the body takes for itself does not count, and a slow but steady
// download goes on for ever. It follows no redirect from outside to this machine.
type guard struct {
	base  http.RoundTripper
	stall time.Duration
	crawl crawl
	agent string
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	parent, err := within(req)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(parent)
	stalled := &stallError{g.stall}
	timer := time.AfterFunc(g.stall, func() { cancel(stalled) })
	req = req.Clone(ctx)
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", g.agent)
	}
	resp, err := g.base.RoundTrip(req)
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

// guardedBody restarts the timer for each Read.
type guardedBody struct {
	io.ReadCloser
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	stalled *stallError
	crawl   crawl
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

// Timeout and Temporary make it a net.Error: it may pass.
func (e *stallError) Timeout() bool   { return true }
func (e *stallError) Temporary() bool { return true }

func (e *stallError) Error() string { return fmt.Sprintf("no byte arrived for %s", e.after) }

type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// ledAway marks a request that a server elsewhere sent to another host: its
// connection may not end here, whatever that host's name resolves to.
type ledAway struct{}

// within refuses a redirect from outside to this machine. A request that is no
// redirect may go anywhere: a person said so.
func within(req *http.Request) (context.Context, error) {
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
		return ctx, nil // it is the proxy that is dialed, and that resolves
	}
	return context.WithValue(ctx, ledAway{}, true), nil
}

// outward is dial, which looks where a request that was led away ends.
func outward(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil || ctx.Value(ledAway{}) == nil {
			return conn, err
		}
		if ip, _, err := net.SplitHostPort(conn.RemoteAddr().String()); err == nil && ssrf.Here(ip) {
			conn.Close()
			return nil, refuse(nextSource, "%w", ssrf.Refused(addr))
		}
		return conn, nil
	}
}
