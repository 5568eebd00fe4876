package fetch

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// guard cancels a request during which no byte arrives for stall, whether of
// the headers or of the body. The time that the reader of the body takes for
// itself does not count, and a slow but steady download goes on for ever.
type guard struct {
	base  http.RoundTripper
	stall time.Duration
	agent string
}

// RoundTrip implements http.RoundTripper.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
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
	resp.Body = &guardedBody{ReadCloser: resp.Body, ctx: ctx, cancel: cancel, timer: timer, stalled: stalled}
	return resp, nil
}

// guardedBody restarts the timer for each Read.
type guardedBody struct {
	io.ReadCloser
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	stalled *stallError
}

func (b *guardedBody) Read(p []byte) (int, error) {
	b.timer.Reset(b.stalled.after)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
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
