package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"aisync.dev/aisync/internal/quantity"
)

const recheckedChunks = 4 // before the frontier: lost writes are the last ones

// resume continues an earlier run. A damaged journal costs a read of the part,
// never a download.
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
		if err = d.recheckTail(ctx); err == nil {
			err = d.readNotes()
		}
	} else {
		err = d.adoptPart(ctx)
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
	if err := d.save(); err != nil {
		return err
	}
	return d.notes.clear()
}

// recheckTail compares the last chunks before the frontier, and all after it, with
// their checksums in the journal. If the disk lost hashed bytes, it compares
// all others too, and hashes them again.
func (d *download) recheckTail(ctx context.Context) error {
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

// readNotes takes what was written after the record.
func (d *download) readNotes() error {
	data, err := d.notes.store.ReadFile(d.notes.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: read the journal: %w", errLocal, err)
	}
	d.chunks.extend(decodeNotes(data))
	return nil
}

// adoptPart reads the present part, whatever its origin: the digest decides.
// After a hole everything is fetched again, and the chunk with the hole too: a
// hole begins at a page, but a chunk may have ended before it.
func (d *download) adoptPart(ctx context.Context) error {
	info, err := d.file.Stat()
	if err != nil {
		return fmt.Errorf("%w: stat the part: %w", errLocal, err)
	}
	length := min(info.Size(), d.a.Size)
	limit := d.file.Written(length)
	if limit < length {
		limit -= limit % d.chunks.length
	}
	return d.chunks.adoptPrefix(ctx, limit, d.progress)
}

// cut truncates the part after the last known byte.
func (d *download) cut() error {
	if err := d.file.Truncate(d.chunks.end()); err != nil {
		return fmt.Errorf("%w: truncate the part: %w", errLocal, err)
	}
	return nil
}

// reserve reserves the space for what is missing, before any request. It checks
// first: to find out by taking everything would leave nothing to others
// meanwhile.
func (d *download) reserve() error {
	from := d.chunks.missing()
	need := d.a.Size - from
	if have, held, ok := d.file.Space(); ok && need-max(0, held-d.chunks.present) > have {
		need -= max(0, held-d.chunks.present)
		return fmt.Errorf("%w: %w: %s are needed on the disk of %s, %s are free, %s too few; free some space, or move the store", errLocal, syscall.ENOSPC, quantity.Bytes(need), d.part, quantity.Bytes(have), quantity.Bytes(need-have))
	}
	if err := d.file.Reserve(from, d.a.Size); err != nil {
		_ = d.cut() // frees what was reserved
		return fmt.Errorf("%w: reserve %d bytes for %s: %w", errLocal, need, d.part, err)
	}
	return nil
}
