package fetch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"aisync.dev/aisync/reconcile/fsys"
)

// download is one call of Fetch: it decides what to ask which source for, and
// what an answer means.
type download struct {
	client  *Client
	a       Artifact
	part    fsys.LogicalPath
	prefix  *prefix
	journal *journal
	meter   meter

	source   string    // which served the last bytes of the prefix
	seen     validator // and what it said of its content
	mixed    bool      // the prefix may hold bytes of several contents
	furthest int64     // the most that was ever verified: progress is measured against it
}

const (
	worthwhile   = 64 << 10         // bytes that count as progress
	longestPause = 30 * time.Second // between two tries, unless the server says more
	longestWait  = 5 * time.Minute  // that a server may ask for
)

// run brings the part to its end.
func (d *download) run(ctx context.Context) error {
	if err := d.resume(ctx); err != nil {
		return d.stop(err)
	}
	if d.whole() && !d.right() {
		if err := d.restart(); err != nil {
			return d.stop(err)
		}
	}
	var failures []error
	for _, raw := range d.a.Sources {
		if d.whole() {
			break
		}
		err := d.try(ctx, raw)
		if err == nil {
			break
		}
		if ctx.Err() != nil || errors.Is(err, errLocal) {
			return d.stop(err)
		}
		failures = append(failures, err)
	}
	if !d.whole() {
		return d.stop(d.explain(failures))
	}
	return d.finish()
}

// resume takes over what an earlier run left. A journal that cannot be
// believed costs a read of the part, never a download.
func (d *download) resume(ctx context.Context) error {
	rec, ok, err := d.journal.load()
	if err != nil {
		return err
	}
	if ok && rec.Size == d.a.Size && strings.EqualFold(rec.SHA256, d.a.SHA256) && rec.Offset <= d.a.Size &&
		d.prefix.restore(rec.Offset, rec.State, rec.Tail) {
		d.source, d.seen, d.journal.offset = rec.Source, rec.Seen, rec.Offset
	} else if err := d.prefix.reread(ctx, d.a.Size, d.progress); err != nil {
		return err
	}
	d.mixed, d.furthest = d.prefix.offset > 0, d.prefix.offset
	d.journal.at = d.client.now()
	d.progress()
	if err := d.prefix.cut(); err != nil || d.whole() {
		return err
	}
	return d.save()
}

// try fetches what is missing from one source, with as many requests as it
// takes. It returns nil when the whole is right.
func (d *download) try(ctx context.Context, raw string) error {
	src, err := d.client.source(raw)
	if err != nil {
		return err
	}
	for fails, again := 0, false; ; {
		start := d.furthest
		err := d.request(ctx, src)
		if err == nil {
			switch {
			case !d.whole() && d.furthest-start >= worthwhile:
				continue
			case !d.whole():
				err = errors.New("sends a few bytes at a time")
			case d.right():
				return nil
			default:
				err = d.reject()
			}
		}
		if ctx.Err() != nil || errors.Is(err, errLocal) {
			return fmt.Errorf("%s: %w", src, err)
		}
		var r *refusal
		if !errors.As(err, &r) {
			r = &refusal{verdict: later, err: err}
		}
		switch {
		case r.verdict == startAgain && !again:
			again = true
			if err := d.restart(); err != nil {
				return err
			}
			continue
		case r.verdict != later:
			return fmt.Errorf("%s: %w", src, err)
		case r.after > longestWait:
			return fmt.Errorf("%s: %w and asks to come back in %s", src, err, r.after)
		}
		if fails++; d.furthest-start >= worthwhile {
			fails = 0
		}
		if fails > d.client.retries {
			return fmt.Errorf("%s: gave up after %d tries: %w", src, fails, err)
		}
		wait := max(r.after, pause(fails))
		if fails > 0 {
			d.client.retry(d.a.Name, err, wait, fails+1, d.client.retries+1)
		}
		if err := d.client.sleep(ctx, wait); err != nil {
			return fmt.Errorf("%s: %w", src, err)
		}
	}
}

// request makes one request for what is missing and takes what it brings.
func (d *download) request(ctx context.Context, src source) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var seen validator
	if d.source == src.String() {
		seen = d.seen
	}
	from := d.prefix.offset
	st, err := src.open(ctx, from, min(d.a.Size, from+d.client.span), d.a.Size, seen)
	if err != nil {
		return err
	}
	defer st.body.Close()
	if st.from != from {
		if err := d.restart(); err != nil {
			return err
		}
	}
	now := st.validator
	if st.from > 0 {
		d.mixed = d.mixed || seen == (validator{}) || seen != now
		now = validator{ETag: or(now.ETag, seen.ETag), LastModified: or(now.LastModified, seen.LastModified)}
	}
	d.source, d.seen = src.String(), now
	return d.prefix.take(ctx, st, d.a.Size, d.verified)
}

// verified is called whenever the prefix has grown.
func (d *download) verified() error {
	d.progress()
	if !d.journal.due(d.prefix.offset, d.client.journalBytes, d.client.journalEvery) {
		return nil
	}
	rec, err := d.record()
	if err != nil {
		return err
	}
	return d.journal.begin(rec)
}

func (d *download) progress() {
	d.furthest = max(d.furthest, d.prefix.offset)
	d.meter.at(d.prefix.offset)
}

// pause is the exponential, jittered wait before the next try after fails
// tries that brought nothing; after one that did there is none.
func pause(fails int) time.Duration {
	if fails == 0 {
		return 0
	}
	full := min(longestPause, 500*time.Millisecond<<min(fails-1, 10))
	return full/2 + rand.N(full/2)
}
