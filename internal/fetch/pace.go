package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/time/rate"
)

// limit is the shared rate limit of a client's connections.
type limit struct {
	bucket *rate.Limiter
	now    func() time.Time
	sleep  func(ctx context.Context, d time.Duration) error
}

// newLimit returns nil for no limit.
func newLimit(perSecond int64, now func() time.Time, sleep func(context.Context, time.Duration) error) *limit {
	if perSecond <= 0 {
		return nil
	}
	burst := min(max(perSecond/10, 4<<10), bufferSize)
	return &limit{rate.NewLimiter(rate.Limit(perSecond), int(burst)), now, sleep}
}

// most is the most that may be read at once.
func (l *limit) most() int64 {
	if l == nil {
		return bufferSize
	}
	return int64(l.bucket.Burst())
}

// take waits until n bytes, at most l.most(), are allowed.
func (l *limit) take(ctx context.Context, n int) error {
	if l == nil || n == 0 {
		return nil
	}
	now := l.now()
	if d := l.bucket.ReserveN(now, n).DelayFrom(now); d > 0 {
		return l.sleep(ctx, d)
	}
	return nil
}

// errCrawls is what slowness detects.
var errCrawls = errors.New("too slow")

// slowness detects a body that is too slow: less than rate bytes a second over the
// last period of waiting for it. Time that its reader spends elsewhere does not
// count.
type slowness struct {
	over  time.Duration
	rate  int64
	spent time.Duration
	got   int64
}

func (c *slowness) add(n int, spent time.Duration) error {
	c.got += int64(n)
	if c.spent += spent; c.spent < c.over {
		return nil
	}
	if float64(c.got) < float64(c.rate)*c.spent.Seconds() {
		return fmt.Errorf("%w: only %d bytes arrived in %s", errCrawls, c.got, c.spent.Round(time.Millisecond))
	}
	c.spent, c.got = 0, 0
	return nil
}

// fill reads until buf is full, or for a moment: bytes of a slow source must
// not stay in memory, where a kill loses them.
func fill(r io.Reader, buf []byte) (n int, spent time.Duration, err error) {
	start := time.Now()
	for n < len(buf) && err == nil {
		var m int
		m, err = r.Read(buf[n:])
		n += m
		if spent = time.Since(start); spent > 100*time.Millisecond && n > 0 {
			break
		}
	}
	return n, spent, err
}
