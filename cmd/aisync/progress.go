package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"aisync.dev/aisync/reconcile"
)

// lineEvery is how often progress is said where there is no terminal to draw on.
const lineEvery = 5 * time.Second

// progress shows how far an apply is: a bar of bytes, or of changes where
// nothing is fetched, on a terminal; a line now and then elsewhere. It writes
// to stderr only. Its methods may be called by many goroutines.
type progress struct {
	a       *app
	changes int   // to do
	bytes   int64 // to fetch

	mu      sync.Mutex
	done    int
	fetched map[reconcile.Address]int64
	bar     *progressbar.ProgressBar
	stop    chan struct{}
	said    sync.WaitGroup
}

// newProgress starts to show the apply of p. close ends it.
func (a *app) newProgress(p *reconcile.Plan) *progress {
	pr := &progress{a: a, fetched: map[reconcile.Address]int64{}, stop: make(chan struct{})}
	for _, c := range p.Changes {
		if c.Writes() {
			pr.changes++
			pr.bytes += c.Before.Fetch
		}
	}
	switch {
	case a.g.quiet || a.g.json || pr.changes == 0:
	case isTerminal(a.err):
		pr.bar = pr.newBar()
	default:
		pr.said.Go(pr.sayNowAndThen)
	}
	return pr
}

func (p *progress) newBar() *progressbar.ProgressBar {
	options := []progressbar.Option{
		progressbar.OptionSetWriter(p.a.err),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionSetDescription("apply"),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(30),
	}
	if p.bytes > 0 {
		return progressbar.NewOptions64(p.bytes, append(options, progressbar.OptionShowBytes(true))...)
	}
	return progressbar.NewOptions(p.changes, append(options, progressbar.OptionShowCount())...)
}

// event takes one event of the engine.
func (p *progress) event(e reconcile.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case "progress":
		p.fetched[e.Address] = e.Done
		if p.bar != nil && p.bytes > 0 {
			p.bar.Describe(safe(string(e.Address)))
			_ = p.bar.Set64(min(p.sum(), p.bytes)) // a bar that cannot be drawn is no reason to stop
		}
	case "done", "failed":
		p.done++
		if p.bar != nil && p.bytes == 0 {
			_ = p.bar.Set(min(p.done, p.changes))
		}
	}
}

func (p *progress) sum() int64 {
	var n int64
	for _, b := range p.fetched {
		n += b
	}
	return n
}

func (p *progress) sayNowAndThen() {
	tick := time.NewTicker(lineEvery)
	defer tick.Stop()
	var last string
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
			p.mu.Lock()
			line := fmt.Sprintf("%d of %s done", p.done, plural(p.changes, "change"))
			if p.bytes > 0 {
				line += fmt.Sprintf(", %s of %s fetched", bytesText(p.sum()), bytesText(p.bytes))
			}
			p.mu.Unlock()
			if line != last { // nothing new is not said again
				p.a.say("%s", line)
			}
			last = line
		}
	}
}

// close ends the showing; nothing is drawn afterwards.
func (p *progress) close() {
	close(p.stop)
	p.said.Wait()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// locked runs f alone: two events never share a line.
func (p *progress) locked(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}
