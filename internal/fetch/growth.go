package fetch

import "time"

const (
	mostConnections = 16                    // to one file, unless Options.Connections says another number
	shortestTrial   = 50 * time.Millisecond // of one number of connections
	worthwhileGain  = 1.15                  // in throughput, by twice the connections
	nextTrial       = 30 * time.Second      // after a number was settled
)

// growth decides how many connections fetch one file: twice as many as long as
// that makes it faster, and half after a failure. It has no clock and sends
// nothing; its caller says what happened, and when.
type growth struct {
	most int // connections
	n    int // that may fetch now

	fewer   int     // connections before the last step; 0: there was none
	rate    float64 // bytes a second with fewer
	since   time.Time
	landed  int64     // at since
	settled time.Time // until then n stays; zero: a trial runs
	shrunk  time.Time
}

// observe is told how many bytes have landed until now, how many connections
// have answered, and the longest time that one took to answer. A trial begins
// once all of them have answered, and lasts for four such times: a connection
// sends slowly at first.
func (g *growth) observe(now time.Time, landed int64, answering int, latency time.Duration) {
	switch {
	case now.Before(g.settled):
		return
	case !g.settled.IsZero(): // the network may have changed
		g.settled, g.fewer, g.since = time.Time{}, 0, time.Time{}
	}
	if answering < g.n {
		return
	}
	if g.since.IsZero() {
		g.since, g.landed = now, landed
		return
	}
	took := now.Sub(g.since)
	if took < max(shortestTrial, 4*latency) {
		return
	}
	rate := float64(landed-g.landed) / took.Seconds()
	switch {
	case g.fewer > 0 && rate <= g.rate*worthwhileGain:
		g.n = g.fewer
		g.settle(now)
	case g.n >= g.most:
		g.settle(now)
	default:
		g.fewer, g.rate, g.since = g.n, rate, time.Time{}
		g.n = min(2*g.n, g.most)
	}
}

func (g *growth) settle(now time.Time) { g.settled = now.Add(nextTrial) }

// failed halves the connections, because a request that began at begun was
// refused or lost, and tries no more of them for a while after it may be
// repeated. Requests that began before the last such step count as one.
func (g *growth) failed(now, begun time.Time, after time.Duration) {
	if begun.Before(g.shrunk) {
		return
	}
	g.n, g.shrunk = max(1, g.n/2), now
	g.settle(now.Add(after))
}
