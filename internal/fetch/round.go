package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"aisync.dev/aisync/reconcile/fsys"
)

const (
	refusals     = 2                // "not at this address" responses before it is believed
	expiries     = 24               // expired addresses for one range, with no byte on any connection meanwhile, before that is a failure
	worthwhile   = 64 << 10         // bytes that count as progress
	longestPause = 30 * time.Second // between two tries, unless the server asks for more
	longestWait  = 5 * time.Minute  // that a server may ask for
	briefWait    = 10 * time.Second // that a mirror may ask for
)

var errDropped = errors.New("the connection ended early")

// round is one source at work: several connections with one chunk each, or one
// with everything in order.
type round struct {
	*download
	at     *attempt
	crew   *crew
	opened chan struct{} // closed once the source has shown that it supports ranges
	open   sync.Once
	feed   *feed
}

// round fetches everything missing and hashes it, or returns the source's
// error. When it returns, all writing and hashing has ended, and everything
// written is recorded.
func (d *download) round(ctx context.Context, at *attempt) error {
	r := &round{download: d, at: at, crew: newCrew(d.client.connections), opened: make(chan struct{}), feed: d.chunks.feeding(d.client.patience)}
	present, _ := d.chunks.count()
	d.mu.Lock()
	if d.source != at.String() {
		if present > 0 {
			d.mixed, d.former = true, d.source
		}
		d.source, d.seen = at.String(), validator{}
	}
	d.mu.Unlock()

	whole := at.whole
	hashing, stopHashing := context.WithCancel(ctx)
	defer stopHashing()
	working, stopWorking := context.WithCancel(ctx)
	defer stopWorking()
	hashed := make(chan error, 1)
	go func() {
		err := d.chunks.hash(hashing, r.feed)
		if err != nil {
			stopWorking()
		}
		hashed <- err
	}()
	g, working := errgroup.WithContext(working)
	defer context.AfterFunc(working, d.chunks.wake)()
	defer context.AfterFunc(working, r.crew.wake)()
	g.Go(func() error { return r.work(working, 0, whole) })
	for i := 1; i < r.crew.growth.most && !whole; i++ {
		g.Go(func() error { return r.work(working, i, false) })
	}
	grown := make(chan struct{})
	go func() {
		defer close(grown)
		r.grow(working)
	}()
	err := g.Wait() // ends working
	<-grown
	if err != nil {
		stopHashing()
	}
	d.chunks.closing(true)
	if herr := <-hashed; err == nil || errors.Is(herr, errLocal) {
		err = herr
	}
	d.chunks.closing(false)
	return err
}

// grow lets more workers join once the source has sent a range, slower than it
// can be hashed: otherwise a second connection gains nothing.
func (r *round) grow(ctx context.Context) {
	for _, sign := range []chan struct{}{r.opened, r.feed.starved} {
		select {
		case <-sign:
		case <-ctx.Done():
			return
		}
	}
	r.crew.grow(ctx, r.client.now, func() int64 {
		_, landed := r.chunks.count()
		return landed
	})
}

// window is how many chunks may be ahead of the frontier.
func (r *round) window() int { return max(8, 2*r.crew.size()) }

// work is worker i, which fetches chunk after chunk.
func (r *round) work(ctx context.Context, i int, whole bool) (err error) {
	defer fsys.Caught(&err)
	var buf []byte
	speed := 0.0
	for r.crew.join(ctx, i) {
		if buf == nil {
			buf = make([]byte, bufferSize)
		}
		if r.client.limit != nil {
			speed = 0 // all share one: none is faster than another
		}
		holding, cancel := context.WithCancel(ctx)
		k, ok := r.chunks.claim(ctx, r.window(), &hold{speed: speed, save: r.client.handing, cancel: cancel})
		if !ok {
			cancel()
			r.crew.end()
			return ctx.Err()
		}
		if wait := r.crew.pause(r.client.now()); wait > 0 {
			if err := r.client.sleep(ctx, wait); err != nil {
				cancel()
				return err
			}
		}
		err := r.retry(holding, func() (bool, error) {
			if !whole {
				all, err := r.fetchChunk(holding, i, k, buf)
				if whole = all; !all {
					return r.chunks.written(k) == r.chunks.full(k), err
				}
				return r.chunks.missing() == r.a.Size, err
			}
			err := r.fetchRest(holding, buf)
			return r.chunks.missing() == r.a.Size, err
		})
		cancel()
		var lost bool
		if speed, lost = r.chunks.release(k); err != nil && (!lost || ctx.Err() != nil || !errors.Is(err, context.Canceled)) {
			return err
		}
	}
	return ctx.Err()
}

// retries is the number of tries after the first that bring nothing.
func (r *round) retries() int {
	if r.at.brief {
		return min(1, r.client.retries)
	}
	return r.client.retries
}

// retry calls request until it is done, with pauses after failures, as long as
// the download makes progress.
func (r *round) retry(ctx context.Context, request func() (done bool, err error)) error {
	_, last := r.chunks.count()
	for fails, idle, stale := 0, 0, 0; ; {
		before, begun := last, r.client.now()
		done, err := request()
		if done && !errors.Is(err, errLocal) {
			return nil
		}
		if err == nil {
			err = errors.New("sends a few bytes at a time")
		}
		var s *refusal
		if !errors.As(err, &s) {
			s = &refusal{verdict: notNow, err: err}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case s.verdict == expired && stale < expiries:
			// The next request asks for another address: nothing has failed.
			if _, now := r.chunks.count(); now > last {
				last, stale = now, 0
			}
			stale++
			if stale > refusals {
				if err := r.client.sleep(ctx, min(pause(stale-refusals), time.Second)); err != nil {
					return err
				}
			}
			continue
		case errors.Is(err, errLocal) || s.verdict != notNow && s.verdict != moved && s.verdict != expired:
			return err
		case s.after > longestWait, r.at.brief && s.after > briefWait:
			return fmt.Errorf("%w and asks for a retry in %s", err, s.after)
		case r.at.brief && errors.Is(err, errCrawls):
			return err
		}
		fails, idle = fails+1, idle+1
		if _, last = r.chunks.count(); last-before >= min(worthwhile, r.chunks.length) {
			fails, idle = 0, 0
		}
		if idle > r.retries() || s.verdict != notNow && idle > refusals {
			return fmt.Errorf("gave up after %d tries: %w", idle, err)
		}
		wait := max(s.after, pause(fails))
		if idle > 0 {
			r.crew.failed(r.client.now(), begun, s.after)
			r.client.retry(r.a.Name, err, wait, idle+1, r.retries()+1)
		}
		if err := r.client.sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// fetchChunk requests, as worker i, the missing part of chunk k. whole means that the response is
// everything from 0, which only the first worker can use.
func (r *round) fetchChunk(ctx context.Context, i, k int, buf []byte) (whole bool, err error) {
	end := r.chunks.start(k) + r.chunks.full(k)
	asked := time.Now()
	st, err := r.ask(ctx, r.chunks.start(k)+r.chunks.written(k), end)
	if err != nil {
		return false, err
	}
	defer st.body.Close()
	r.crew.answer(i, time.Since(asked))
	if st.to <= end {
		r.open.Do(func() { close(r.opened) })
		return false, r.receive(ctx, st, buf)
	}
	select {
	case <-r.opened:
		return false, refuse(wholeOnly, "answered a range with the whole file")
	default:
	}
	r.at.whole = true
	return true, r.receive(ctx, st, buf)
}

// fetchRest requests everything from the first missing byte on, or from zero if the
// source has no ranges.
func (r *round) fetchRest(ctx context.Context, buf []byte) error {
	from := int64(0)
	if !r.at.ranged() {
		from = r.chunks.missing()
	}
	st, err := r.ask(ctx, from, r.a.Size)
	if err != nil {
		return err
	}
	defer st.body.Close()
	return r.receive(ctx, st, buf)
}

// ask requests [from, to) and records the source's validator.
func (r *round) ask(ctx context.Context, from, to int64) (stream, error) {
	r.mu.Lock()
	seen := r.seen
	r.mu.Unlock()
	st, err := r.at.open(ctx, from, to, r.a.Size, seen)
	if err != nil {
		return st, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := st.validator; r.seen != now && r.seen != (validator{}) && now != (validator{}) {
		st.body.Close() // another response came in between
		return stream{}, refuse(startAgain, "has changed: ETag %s was %s", now.ETag, r.seen.ETag)
	} else if now != (validator{}) {
		r.seen = now
	}
	return st, nil
}

// receive writes st to the chunks that it covers, and skips bytes that they hold.
// It reads no further than st.to; if more should come, the digest decides.
func (r *round) receive(ctx context.Context, st stream, buf []byte) error {
	stop := context.AfterFunc(ctx, func() { st.body.Close() }) // unblocks Read
	defer stop()
	crawl := r.client.crawl
	for at := st.from; at < st.to; {
		k := int(at / r.chunks.length)
		if err := r.chunks.follow(ctx, k, r.window()); err != nil {
			return err
		}
		ahead := r.chunks.start(k) + r.chunks.written(k) - at // held already
		most := min(r.client.limit.most(), st.to-at, r.chunks.start(k)+r.chunks.full(k)-at)
		if ahead > 0 {
			most = min(most, ahead)
		}
		n, spent, err := fill(st.body, buf[:most])
		if err := ctx.Err(); err != nil && n == 0 {
			return err
		}
		if n > 0 && ahead <= 0 {
			if err := r.chunks.land(k, buf[:n]); err != nil {
				return err
			}
			if err := r.arrived(k); err != nil {
				return err
			}
		}
		at += int64(n)
		if perr := r.client.limit.take(ctx, n); perr != nil {
			return perr
		}
		switch {
		case at == st.to:
			return nil
		case err == io.EOF:
			return fmt.Errorf("%w, after %d of %d bytes", errDropped, at, r.a.Size)
		case err != nil:
			return fmt.Errorf("%w, after %d of %d bytes", err, at, r.a.Size)
		}
		if err := crawl.add(n, spent); err != nil {
			return err
		}
	}
	return nil
}

// pause is the exponential, jittered wait after fails consecutive failures; 0
// after a success.
func pause(fails int) time.Duration {
	if fails == 0 {
		return 0
	}
	full := min(longestPause, 500*time.Millisecond<<min(fails-1, 10))
	return full/2 + rand.N(full/2)
}
