package fetch

import (
	"context"
	"time"
)

const (
	handovers = 3                      // of one chunk in a round
	lookAgain = 100 * time.Millisecond // for a chunk to take over, while no bytes arrive
)

// hold is one worker's claim of a chunk. Its fields are guarded by the chunks.
type hold struct {
	speed  float64       // of the worker, in bytes a second; 0: not known, it takes nothing over
	save   time.Duration // that taking a chunk over must save, besides half of its time
	cancel context.CancelFunc
	since  time.Time
	from   int64 // of the chunk were written then
	wants  *span // that is to be handed to this worker
	lost   bool  // the chunk was handed to another
}

// take gives s to h.
func (h *hold) take(s *span) {
	if h.wants != nil {
		h.wants.heir = nil
		h.wants = nil
	}
	h.since, h.from = time.Now(), s.n
	s.held = h
}

// remaining is how long h needs for another left bytes, at the speed of the
// chunk so far. Without a byte it is the time since the claim.
func (h *hold) remaining(now time.Time, s *span, left int64) time.Duration {
	waited := now.Sub(h.since)
	if got := s.n - h.from; got > 0 {
		return time.Duration(float64(waited) * float64(left) / float64(got))
	}
	return waited
}

// handOver lets h have the chunk, among those before last, that it would end
// soonest in comparison with its worker, who is stopped. It returns whether it
// is worth waiting for such a chunk. The caller holds c.mu.
func (c *chunks) handOver(h *hold, last int) (wait bool) {
	if h.wants != nil {
		return true
	}
	if h.speed <= 0 {
		return false
	}
	now := time.Now()
	var most time.Duration
	var best *span
	for k := int(c.hashed / c.length); k < last; k++ {
		s := &c.have[k]
		if s.held == nil || s.heir != nil || s.n == c.full(k) || s.handed == handovers {
			continue
		}
		wait = true
		left := c.full(k) - s.n
		mine := time.Duration(float64(left) / h.speed * float64(time.Second))
		if saved := s.held.remaining(now, s, left) - 2*mine - h.save; saved > most {
			most, best = saved, s
		}
	}
	if best != nil {
		best.heir, best.held.lost = h, true
		best.handed++
		h.wants = best
		best.held.cancel()
	}
	return wait
}
