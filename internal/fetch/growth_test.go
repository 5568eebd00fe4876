package fetch

import (
	"testing"
	"time"
)

// network is a simulated one: each connection has a rate, all together have
// another, and a new one is silent at first.
type network struct {
	each, all float64 // bytes a second
	latency   time.Duration
}

// simulate steps g through d of simulated time, and returns the most connections
// and when there were so many first.
func (w network) simulate(g *growth, start time.Time, d time.Duration) (most int, after time.Duration) {
	const step = 10 * time.Millisecond
	began := make([]time.Duration, g.most)
	known := g.n
	landed := 0.0
	for at := time.Duration(0); at < d; at += step {
		for ; known < g.n; known++ {
			began[known] = at
		}
		known = g.n
		answering := 0
		for i := range g.n {
			if at-began[i] >= w.latency {
				answering++
			}
		}
		landed += min(float64(answering)*w.each, w.all) * step.Seconds()
		g.observe(start.Add(at), int64(landed), answering, w.latency)
		if g.n > most {
			most, after = g.n, at
		}
	}
	return most, after
}

func TestConnectionsGrowWhileThroughputGrows(t *testing.T) {
	for name, c := range map[string]struct {
		network network
		most    int // that are tried
		n       int // that stay
		within  time.Duration
	}{
		"each is slow":           {network{50e6, 1e12, 20 * time.Millisecond}, 16, 16, 600 * time.Millisecond},
		"each is slow and far":   {network{5e6, 1e12, 200 * time.Millisecond}, 16, 16, 6 * time.Second},
		"one fills the line":     {network{50e6, 50e6, 20 * time.Millisecond}, 2, 1, time.Second},
		"four fill the line":     {network{25e6, 100e6, 20 * time.Millisecond}, 8, 4, time.Second},
		"five nearly fill it":    {network{20e6, 100e6, 20 * time.Millisecond}, 16, 8, time.Second},
		"nothing ever comes":     {network{0, 1, 20 * time.Millisecond}, 2, 1, time.Second},
		"a line that is instant": {network{1e9, 1e9, 0}, 2, 1, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			g := growth{most: 16, n: 1}
			most, after := c.network.simulate(&g, time.Unix(0, 0), 10*time.Second)
			if most != c.most || g.n != c.n || after > c.within {
				t.Errorf("tried %d after %s and stayed with %d; want %d within %s and %d", most, after, g.n, c.most, c.within, c.n)
			}
		})
	}
}

func TestConnectionsAreTriedAgainWhenTheNetworkMayHaveChanged(t *testing.T) {
	g := growth{most: 16, n: 1}
	narrow, wide := network{50e6, 50e6, 20 * time.Millisecond}, network{50e6, 1e12, 20 * time.Millisecond}
	narrow.simulate(&g, time.Unix(0, 0), 5*time.Second)
	if most, _ := wide.simulate(&g, time.Unix(5, 0), 24*time.Second); most != 1 {
		t.Errorf("%d connections before it was time to try", most)
	}
	if wide.simulate(&g, time.Unix(29, 0), 10*time.Second); g.n != 16 {
		t.Errorf("%d connections after the line became wide", g.n)
	}
}

func TestConnectionsShrinkOnFailures(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	g := growth{most: 16, n: 16}
	for range 16 { // all at work fail together
		g.failed(at(10), at(9), 0)
	}
	if g.n != 8 {
		t.Errorf("%d connections after one failure of all", g.n)
	}
	g.failed(at(20), at(15), time.Minute)
	if g.n != 4 {
		t.Errorf("%d connections after another", g.n)
	}
	for s := 21; s < 20+60+30; s++ {
		g.observe(at(s), int64(s)*1e9, 16, 0)
	}
	if g.n != 4 {
		t.Errorf("%d connections before the time that the server asked for has passed", g.n)
	}
	g.observe(at(110), 0, 16, 0)
	if g.observe(at(111), 1e9, 16, 0); g.n != 8 {
		t.Errorf("%d connections after it", g.n)
	}
	for s := 200; s < 220; s++ {
		g.failed(at(s), at(s), 0)
	}
	if g.n != 1 {
		t.Errorf("%d connections to a server that always fails", g.n)
	}
}

func TestRetryAfterHoldsEveryWorker(t *testing.T) {
	for most, n := range map[int]int{0: 8, 16: 16} {
		c, now := newCrew(most), time.Unix(100, 0)
		c.growth.n = 16
		c.failed(now, now, 7*time.Second)
		if got := c.pause(now.Add(3 * time.Second)); got != 4*time.Second || c.size() != n {
			t.Errorf("--connections %d: all wait for %s and go on with %d; want 4s and %d", most, got, c.size(), n)
		}
		if got := c.pause(now.Add(8 * time.Second)); got != 0 {
			t.Errorf("--connections %d: all wait for %s too long", most, got)
		}
	}
}
