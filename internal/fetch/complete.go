package fetch

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// restart forgets everything, the journal first, so that it never describes
// bytes that are being overwritten.
func (d *download) restart() error {
	d.source, d.seen, d.mixed, d.former = "", validator{}, false, ""
	d.chunks.forget()
	if err := d.save(); err != nil {
		return err
	}
	if err := d.notes.clear(); err != nil {
		return err
	}
	if err := d.cut(); err != nil {
		return err
	}
	return d.reserve()
}

// record is the state of the part once it is synced.
func (d *download) record() (record, int64) {
	r := record{SHA256: d.a.SHA256}
	d.mu.Lock()
	r.Source, r.Seen = d.source, d.seen
	d.mu.Unlock()
	_, landed := d.chunks.count() // before the snapshot: that may know more
	d.chunks.snapshot(&r)
	return r, landed
}

func (d *download) save() error { return d.journal.save(d.record()) }

func (d *download) right() bool { return strings.EqualFold(d.chunks.digest(), d.a.SHA256) }

// hashAll hashes everything written but not hashed.
func (d *download) hashAll(ctx context.Context) error {
	d.chunks.closing(true)
	defer d.chunks.closing(false)
	return d.chunks.hash(ctx, d.chunks.feeding(0))
}

// finish syncs a right part. It is the only way to success.
func (d *download) finish() error {
	if err := d.journal.settle(); err != nil {
		return err
	}
	if !d.chunks.whole() || !d.right() {
		return ErrMismatch
	}
	sync := d.file.Sync
	if d.client.volatile {
		sync = d.file.Settle
	}
	if err := sync(); err != nil {
		return fmt.Errorf("sync the part: %w", err)
	}
	if err := errors.Join(d.notes.remove(), d.journal.remove()); err != nil {
		return err
	}
	d.meter.end(d.a.Size)
	return nil
}

// stop keeps what was fetched for the next run, and returns why with what to
// do.
func (d *download) stop(why error) error {
	present, landed := d.chunks.count()
	keep := d.journal.settle()
	if keep == nil && landed > d.journal.landed {
		keep = d.save()
	}
	if keep == nil && present == 0 {
		keep = errors.Join(d.notes.remove(), d.journal.remove())
	}
	if keep != nil && !errors.Is(why, errLocal) {
		why = errors.Join(why, keep)
	}
	if keep != nil || present == 0 {
		return why
	}
	return fmt.Errorf("%w; %d of %d bytes are kept in %s: run the same command again to continue", why, present, d.a.Size, d.part)
}

// explain joins the errors of all sources.
func (d *download) explain(failures []error) error {
	err := errors.Join(failures...)
	if len(failures) > 1 {
		err = fmt.Errorf("none of %d sources served it:\n%w", len(failures), err)
	}
	if errors.Is(err, ErrMismatch) {
		err = fmt.Errorf("%w; those bytes were thrown away: try again later, or name another source or the right sha256 in the spec or catalog", err)
	}
	return err
}

// reject handles a complete part with the wrong digest. If the disk returns
// other bytes than were received, only those chunks are fetched again, and
// reject returns nil. Otherwise the source lied and everything is thrown away;
// but if the part came from several responses, the same source may still have
// the right file.
func (d *download) reject(ctx context.Context) error {
	got := d.chunks.digest()
	bad, err := d.chunks.recheck(ctx, 0, len(d.chunks.have))
	if err != nil {
		return err
	}
	if len(bad) > 0 {
		if d.repairs++; d.repairs > maxRepairs {
			return fmt.Errorf("%w: the disk returned other bytes than were written, %d times now, at byte %d this time; check the disk", errLocal, d.repairs, d.chunks.start(bad[0]))
		}
		d.chunks.rewind()
		return d.save()
	}
	v := nextSource
	if d.mixed {
		v = startAgain
	}
	if err := d.restart(); err != nil {
		return err
	}
	return refuse(v, "%w: want %s, got %s", ErrMismatch, d.a.SHA256, got)
}
