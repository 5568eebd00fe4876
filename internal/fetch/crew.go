package fetch

import (
	"context"
	"sync"
	"time"
)

// observing is how often a crew looks whether it should grow.
const observing = 25 * time.Millisecond

// crew lets as many workers of a round fetch as its growth says. Worker 0 always
// may. It is safe for concurrent use.
type crew struct {
	fixed bool // the number is given: it neither grows step by step nor shrinks

	mu       sync.Mutex
	changed  *sync.Cond
	growth   growth
	answered []bool        // by worker
	latency  time.Duration // the longest of the last trial
	resume   time.Time     // the server asked for no request before
	over     bool          // nothing is left to claim
}

// newCrew returns a crew of one that may become most; 0 means mostConnections,
// step by step.
func newCrew(most int) *crew {
	c := &crew{fixed: most > 0}
	if most <= 0 {
		most = mostConnections
	}
	c.growth = growth{most: most, n: 1}
	c.answered = make([]bool, most)
	c.changed = sync.NewCond(&c.mu)
	return c
}

// join waits until worker i may fetch. ok is false if it need not any more.
func (c *crew) join(ctx context.Context, i int) (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i >= c.growth.n && !c.over && ctx.Err() == nil {
		c.changed.Wait()
	}
	return i < c.growth.n && ctx.Err() == nil
}

// end sends home the workers that wait to join.
func (c *crew) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	c.changed.Broadcast()
}

// wake makes every waiter check its context again.
func (c *crew) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed.Broadcast()
}

// size is the number of workers that may fetch.
func (c *crew) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.growth.n
}

// answer records that worker i waited so long for an answer.
func (c *crew) answer(i int, latency time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered[i] = true
	c.latency = max(c.latency, latency)
}

// failed records that a request, begun at begun, failed, and that the server
// wants no other before after has passed.
func (c *crew) failed(now, begun time.Time, after time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if until := now.Add(after); after > 0 && until.After(c.resume) {
		c.resume = until
	}
	if !c.fixed {
		c.growth.failed(now, begun, after)
	}
}

// pause is how long the server wants no request from any worker.
func (c *crew) pause(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(0, c.resume.Sub(now))
}

// grow lets more workers fetch as long as that helps, until ctx ends. landed
// returns the number of bytes so far.
func (c *crew) grow(ctx context.Context, now func() time.Time, landed func() int64) {
	if c.fixed {
		c.mu.Lock()
		c.growth.n = c.growth.most
		c.changed.Broadcast()
		c.mu.Unlock()
		return
	}
	tick := time.NewTicker(observing)
	defer tick.Stop()
	for {
		c.observe(now(), landed())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (c *crew) observe(now time.Time, landed int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	answering := 0
	for _, has := range c.answered[:c.growth.n] {
		if has {
			answering++
		}
	}
	before := c.growth.n
	c.growth.observe(now, landed, answering, c.latency)
	if c.growth.n != before {
		c.latency = 0
		c.changed.Broadcast()
	}
}
