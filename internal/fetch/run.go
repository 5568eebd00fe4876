package fetch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"aisync.dev/aisync/internal/fetch/partfile"
	"aisync.dev/aisync/reconcile/fsys"
)

// download is one call of Fetch: it chooses sources, and handles their
// failures.
type download struct {
	client  *Client
	a       Artifact
	part    fsys.LogicalPath
	file    *partfile.File
	chunks  *chunks
	journal *journal
	notes   notes
	meter   meter

	mixed   bool   // the part may hold bytes of several contents
	former  string // a source whose bytes came before those of the last one
	repairs int    // number of times that the disk returned other bytes than were written

	mu     sync.Mutex
	source string    // of the last bytes
	seen   validator // of the source
}

// attempt is a source that is being tried.
type attempt struct {
	source
	raw   string // as in Artifact.Sources
	brief bool   // a mirror
	whole bool   // do not trust its ranges
	again bool   // it was started from zero once
}

const maxRepairs = 2

// errLocal wraps an error of this machine: another source does not help.
var errLocal = errors.New("on this machine")

// run completes the part.
func (d *download) run(ctx context.Context) error {
	if err := d.resume(ctx); err != nil {
		return d.stop(err)
	}
	if err := d.check(ctx); err != nil {
		return d.stop(err)
	}
	var failures []error
	queue := make([]*attempt, 0, len(d.a.Sources))
	for _, raw := range d.client.silent.last(d.a) {
		src, err := d.client.source(raw, d.a)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		queue = append(queue, &attempt{source: src, raw: raw, brief: slices.Contains(d.a.Mirrors, raw), whole: !src.ranged()})
	}
	for ; len(queue) > 0 && !d.chunks.whole(); queue = queue[1:] {
		at := queue[0]
		_, before := d.chunks.count()
		err := d.try(ctx, at)
		if err == nil {
			d.tried(at, nil)
			break
		}
		if ctx.Err() != nil || errors.Is(err, errLocal) {
			return d.stop(err)
		}
		if verdictOf(err) == wholeOnly && !at.whole {
			at.whole = true // it begins at zero: only after all other sources
			queue = append(queue, at)
			continue
		}
		if _, landed := d.chunks.count(); at.brief && landed == before && verdictOf(err) == notNow {
			d.client.silent.add(at.raw)
		}
		d.tried(at, err)
		failures = append(failures, err)
	}
	if !d.chunks.whole() {
		return d.stop(d.explain(failures))
	}
	return d.finish()
}

// check hashes the rest of a part that is complete; a wrong one is thrown away.
func (d *download) check(ctx context.Context) error {
	if present, _ := d.chunks.count(); present < d.a.Size {
		return nil
	}
	if err := d.hashAll(ctx); err != nil || d.right() {
		return err
	}
	return d.restart()
}

// try fetches what is missing from one source, in as many rounds as necessary.
// It returns nil when the whole is right.
func (d *download) try(ctx context.Context, at *attempt) error {
	for {
		err, former := d.round(ctx, at), d.former
		if err == nil {
			if d.right() {
				return nil
			}
			err = d.reject(ctx)
		}
		if ctx.Err() != nil || errors.Is(err, errLocal) {
			return fmt.Errorf("%s: %w", at, err)
		}
		switch {
		case err == nil: // some chunks must be fetched again
		case verdictOf(err) == startAgain && !at.again:
			if former != "" && errors.Is(err, ErrMismatch) {
				d.tried(at, fmt.Errorf("with the bytes that came from %s before: %w; all were thrown away", former, err))
			}
			at.again = true
			if err := d.restart(); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s: %w", at, err)
		}
	}
}

// tried reports the end of an attempt.
func (d *download) tried(at *attempt, failed error) {
	if d.a.Tried != nil {
		d.a.Tried(at.raw, failed)
	}
}

// verdictOf classifies err; an error that is no refusal counts as temporary.
func verdictOf(err error) verdict {
	var r *refusal
	if errors.As(err, &r) {
		return r.verdict
	}
	return notNow
}

// arrived is called whenever bytes have landed in chunk k.
func (d *download) arrived(k int) error {
	if o, due := d.chunks.noted(k); due {
		if err := d.notes.add(o); err != nil {
			return err
		}
	}
	present, landed := d.chunks.count()
	d.meter.at(present)
	return d.journal.landing(landed, d.record)
}

func (d *download) progress() {
	present, _ := d.chunks.count()
	d.meter.at(present)
}
