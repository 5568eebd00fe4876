package fetch

import (
	"context"
	"fmt"
	"strings"
	"syscall"
)

const recheckedChunks = 4 // before the frontier: lost writes are the last ones

// resume takes over what an earlier run left. A journal that cannot be
// believed costs a read of the part, never a download.
func (d *download) resume(ctx context.Context) error {
	rec, ok, err := d.journal.load()
	if err != nil {
		return err
	}
	ok = ok && strings.EqualFold(rec.SHA256, d.a.SHA256) && rec.plausible(d.a.Size)
	if ok && rec.Chunk != d.chunks.length {
		d.chunks = newChunks(d.chunks.file, d.a.Size, rec.Chunk)
	}
	if ok && d.chunks.restore(rec) {
		d.source, d.seen = rec.Source, rec.Seen
		err = d.distrust(ctx)
	} else {
		err = d.believe(ctx)
	}
	if err != nil {
		return err
	}
	d.mixed = d.chunks.present > 0
	d.progress()
	if err := d.cut(); err != nil {
		return err
	}
	if d.chunks.present == d.a.Size {
		return nil
	}
	if err := d.reserve(); err != nil {
		return err
	}
	return d.save()
}

// distrust compares with the disk what the journal says of the last chunks
// before the frontier and of all behind it. Where the disk has lost something
// that is hashed, all of the rest is compared too, and hashed again.
func (d *download) distrust(ctx context.Context) error {
	c := d.chunks
	last := int((c.hashed + c.length - 1) / c.length)
	first := max(0, last-recheckedChunks)
	lost, err := c.recheck(ctx, first, len(c.have))
	if err != nil {
		return err
	}
	if len(lost) == 0 || lost[0] >= last {
		return nil
	}
	if _, err := c.recheck(ctx, 0, first); err != nil {
		return err
	}
	c.rewind()
	return nil
}

// believe reads what there is of the part, without knowing how it came there:
// the digest will tell. Behind a hole everything is fetched again, and so is
// the chunk that it is in: a hole begins at a page, a chunk may have ended
// before it.
func (d *download) believe(ctx context.Context) error {
	info, err := d.file.Stat()
	if err != nil {
		return fmt.Errorf("%w: look at the part: %w", errLocal, err)
	}
	length := min(info.Size(), d.a.Size)
	limit := written(d.file, length)
	if limit < length {
		limit -= limit % d.chunks.length
	}
	return d.chunks.believe(ctx, limit, d.progress)
}

// cut takes away what lies behind the last byte that is known.
func (d *download) cut() error {
	if err := d.file.Truncate(d.chunks.end()); err != nil {
		return fmt.Errorf("%w: truncate the part: %w", errLocal, err)
	}
	return nil
}

// reserve makes sure of the space for what is missing, before anything is
// asked for. It looks first: to find out by taking all there is would leave
// none to others meanwhile.
func (d *download) reserve() error {
	from := d.chunks.missing()
	need := d.a.Size - from
	if have, held, ok := space(d.file); ok && need-max(0, held-d.chunks.present) > have {
		return fmt.Errorf("%w: %w: %d bytes are to come and %d are free where %s lies; make room, or move the store", errLocal, syscall.ENOSPC, need, have, d.part)
	}
	if err := reserve(d.file, from, d.a.Size); err != nil {
		_ = d.cut() // gives back what could be had
		return fmt.Errorf("%w: reserve %d bytes for %s: %w", errLocal, need, d.part, err)
	}
	return nil
}
