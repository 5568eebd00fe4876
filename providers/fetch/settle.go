package fetch

import (
	"errors"
	"fmt"
	"strings"
)

// restart forgets the prefix: the journal first, so that it never claims
// bytes that are being overwritten.
func (d *download) restart() error {
	d.source, d.seen, d.mixed = "", validator{}, false
	d.prefix = newPrefix(d.prefix.file)
	if err := d.save(); err != nil {
		return err
	}
	return d.prefix.cut()
}

func (d *download) record() (record, error) {
	state, err := d.prefix.state()
	if err != nil {
		return record{}, fmt.Errorf("%w: keep the sha256 state: %w", errLocal, err)
	}
	return record{
		SHA256: d.a.SHA256, Size: d.a.Size, Offset: d.prefix.offset, State: state,
		Tail: d.prefix.tail, Source: d.source, Seen: d.seen,
	}, nil
}

func (d *download) save() error {
	rec, err := d.record()
	if err != nil {
		return err
	}
	return d.journal.save(rec)
}

func (d *download) whole() bool { return d.prefix.offset == d.a.Size }
func (d *download) right() bool { return strings.EqualFold(d.prefix.digest(), d.a.SHA256) }

// finish makes a right prefix durable. It is the only way to success.
func (d *download) finish() error {
	if err := d.journal.wait(); err != nil {
		return err
	}
	if !d.right() {
		return ErrMismatch
	}
	if err := d.prefix.file.Sync(); err != nil {
		return fmt.Errorf("sync the part: %w", err)
	}
	if err := d.journal.remove(); err != nil {
		return err
	}
	d.meter.end(d.prefix.offset)
	return nil
}

// stop keeps what is verified for the next run and returns why with what to do.
func (d *download) stop(why error) error {
	keep := d.journal.wait()
	if keep == nil && d.prefix.offset > d.journal.offset {
		keep = d.save()
	}
	if keep == nil && d.prefix.offset == 0 {
		keep = d.journal.remove()
	}
	if keep != nil && !errors.Is(why, errLocal) {
		why = errors.Join(why, keep)
	}
	if keep != nil || d.prefix.offset == 0 {
		return why
	}
	return fmt.Errorf("%w; %d of %d bytes are kept in %s: run the same again to go on from there", why, d.prefix.offset, d.a.Size, d.part)
}

// explain makes one error of those of all sources.
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

// reject throws away a whole that is not right. Where it was put together,
// the same source may still have the right one.
func (d *download) reject() error {
	v := nextSource
	if d.mixed {
		v = startAgain
	}
	got := d.prefix.digest()
	if err := d.restart(); err != nil {
		return err
	}
	return refuse(v, "%w: want %s, got %s", ErrMismatch, d.a.SHA256, got)
}
