package cli

import (
	"fmt"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/reconcile"
)

// Progress shows how far an apply is: the bytes that are fetched, or the
// changes where nothing is; bars on a terminal, a line now and then elsewhere.
// It writes to stderr only. Its methods may be called by many goroutines.
type Progress struct {
	a       *App
	changes int   // to do
	bytes   *Bars // nil where nothing is fetched

	mu   sync.Mutex
	done int
	from map[reconcile.Address]*shards
	bar  *progressbar.ProgressBar
	stop chan struct{}
	said sync.WaitGroup
}

// shards counts the files of one model as they come, one after the other.
type shards struct {
	n     int
	done  int64
	total int64
}

// NewProgress starts to show the apply of p. close ends it.
func (a *App) NewProgress(p *reconcile.Plan) *Progress {
	pr := &Progress{a: a, from: map[reconcile.Address]*shards{}, stop: make(chan struct{})}
	var bytes int64
	for _, c := range p.Changes {
		if c.Writes() {
			pr.changes++
			bytes += c.Before.Fetch
		}
	}
	switch {
	case bytes > 0:
		pr.bytes = a.NewBars("fetched", bytes)
	case a.Flags.Quiet || a.Flags.JSON || pr.changes == 0:
	case IsTerminal(a.Err):
		pr.bar = progressbar.NewOptions(pr.changes,
			progressbar.OptionSetWriter(Bare(a.Err)),
			progressbar.OptionThrottle(drawEvery),
			progressbar.OptionSetDescription("apply"),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionSetWidth(30),
			progressbar.OptionShowCount(),
		)
	default:
		pr.said.Go(pr.sayNowAndThen)
	}
	return pr
}

// Event takes one event of the engine.
func (p *Progress) Event(e reconcile.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case "progress":
		if p.bytes != nil {
			p.bytes.File(p.fileOf(e), e.Done, e.Total)
		}
	case "done", "failed":
		p.done++
		if p.bar != nil {
			_ = p.bar.Set(min(p.done, p.changes)) // a bar that cannot be drawn is no reason to stop
		}
	}
}

// fileOf names the file that e is about: the next one of its model, where the
// one before had come to its end.
func (p *Progress) fileOf(e reconcile.Event) string {
	s := p.from[e.Address]
	if s == nil {
		s = &shards{n: 1}
		p.from[e.Address] = s
	} else if s.done == s.total && e.Done < s.done || e.Total != s.total {
		s.n++
	}
	s.done, s.total = e.Done, e.Total
	if s.n == 1 {
		return e.Address.Name()
	}
	return fmt.Sprintf("%s, file %d", e.Address.Name(), s.n)
}

func (p *Progress) sayNowAndThen() {
	tick := time.NewTicker(lineEvery)
	defer tick.Stop()
	last := -1
	for {
		select {
		case <-p.stop:
			return
		case <-tick.C:
			p.mu.Lock()
			done := p.done
			p.mu.Unlock()
			if done != last { // nothing new is not said again
				p.a.Say("%d of %s done", done, quantity.Count(p.changes, "change"))
			}
			last = done
		}
	}
}

// Close ends the showing; nothing is drawn afterwards.
func (p *Progress) Close() {
	close(p.stop)
	p.said.Wait()
	if p.bytes != nil {
		p.bytes.Close()
	}
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// Locked runs f alone: two events never share a line.
func (p *Progress) Locked(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// Above runs f, which writes to stderr, where no bar is drawn.
func (p *Progress) Above(f func()) {
	p.Locked(func() {
		switch {
		case p.bytes != nil:
			p.bytes.above(f)
		case p.bar != nil:
			_ = p.bar.Clear()
			f()
		default:
			f()
		}
	})
}
