package fetch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	reachPatience = 15 * time.Second // for all sources of one artifact
	reachPause    = 500 * time.Millisecond
)

// Reach asks all sources of a at once for its first byte and returns nil when
// one of them could serve a: it has a file of that size and lets us have it, or
// is only busy. Else the error says of each why not. Nothing is written, and of
// a git source nothing is asked.
func (c *Client) Reach(ctx context.Context, a Artifact) error {
	if err := a.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reachPatience, fmt.Errorf("no answer within %s", reachPatience))
	defer cancel()
	type answer struct {
		i   int
		err error
	}
	answers := make(chan answer, len(a.Sources))
	for i, raw := range a.Sources {
		go func() { answers <- answer{i, c.reach(ctx, raw, a)} }()
	}
	failures := make([]error, len(a.Sources))
	for range a.Sources {
		x := <-answers
		if x.err == nil {
			return nil
		}
		failures[x.i] = x.err
	}
	return errors.Join(failures...)
}

// reach asks one source, twice where the first answer may pass.
func (c *Client) reach(ctx context.Context, raw string, a Artifact) error {
	if strings.HasPrefix(raw, "git::") {
		return nil
	}
	src, err := c.source(raw, a)
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		st, err := src.open(ctx, 0, 1, a.Size, validator{})
		if err == nil {
			st.body.Close()
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", src, context.Cause(ctx))
		}
		var r *refusal
		switch refused := errors.As(err, &r); {
		case refused && (r.verdict == notNow || r.verdict == wholeOnly):
			return nil // there, and Fetch knows how to go about it
		case refused && r.verdict == nextSource, try > 0:
			return fmt.Errorf("%s: %w", src, err)
		}
		if err := c.sleep(ctx, reachPause); err != nil {
			return fmt.Errorf("%s: %w", src, context.Cause(ctx))
		}
	}
}
