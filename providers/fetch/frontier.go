package fetch

import (
	"context"
	"crypto/sha256"
	"encoding"
	"fmt"
	"hash/crc32"
	"io"
)

const bufferSize = 256 << 10 // of one read, write or hash; what stays in a core's cache

// hash lets the sha256 follow what is written, in order, until ctx ends, or
// c is closed and all that lies together from the start is hashed. It reads
// the file, not what the network brought: what is verified is what the part
// holds.
func (c *chunks) hash(ctx context.Context) error {
	defer context.AfterFunc(ctx, c.wake)()
	buf := make([]byte, bufferSize)
	for {
		from, to := c.ready(ctx)
		if from == to {
			return ctx.Err()
		}
		b := buf[:min(int64(len(buf)), to-from)]
		if _, err := c.file.ReadAt(b, from); err != nil {
			return fmt.Errorf("%w: read the part: %w", errLocal, err)
		}
		c.sum.Write(b)
		c.advance(int64(len(b)))
	}
}

// ready waits for bytes at the frontier; there are none once c is closed or
// ctx ended.
func (c *chunks) ready(ctx context.Context) (from, to int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ctx.Err() == nil {
		if k := int(c.hashed / c.length); k < len(c.have) {
			if to := c.start(k) + c.have[k].n; to > c.hashed {
				return c.hashed, to
			}
		}
		if c.closed || c.hashed == c.size {
			break
		}
		c.changed.Wait()
	}
	return c.hashed, c.hashed
}

// wake lets everyone who waits look again, at their context too.
func (c *chunks) wake() {
	c.mu.Lock() // so that nobody is between looking and waiting
	defer c.mu.Unlock()
	c.changed.Broadcast()
}

// advance moves the frontier over n bytes that sum has seen.
func (c *chunks) advance(n int64) {
	now := state(c.sum)
	c.mu.Lock()
	before := c.hashed / c.length
	c.hashed += n
	c.state = now
	moved := c.hashed/c.length != before
	c.mu.Unlock()
	if moved {
		c.changed.Broadcast() // the window
	}
}

// closing says whether anything more is coming.
func (c *chunks) closing(yes bool) {
	c.mu.Lock()
	c.closed = yes
	c.mu.Unlock()
	c.changed.Broadcast()
}

// rewind puts the frontier back to the start: everything is hashed again, and
// nothing fetched.
func (c *chunks) rewind() {
	c.sum = sha256.New()
	c.hashed, c.state = 0, state(c.sum)
}

// forget drops all that is known.
func (c *chunks) forget() {
	clear(c.have)
	c.present = 0
	c.rewind()
}

// end is where the last written byte ends.
func (c *chunks) end() int64 {
	for k := len(c.have) - 1; k >= 0; k-- {
		if n := c.have[k].n; n > 0 {
			return c.start(k) + n
		}
	}
	return 0
}

// holds re-reads what is written of chunk k and compares it with its checksum.
func (c *chunks) holds(k int, buf []byte) bool {
	s := c.have[k]
	crc := uint32(0)
	for at := int64(0); at < s.n; {
		b := buf[:min(int64(len(buf)), s.n-at)]
		if _, err := c.file.ReadAt(b, c.start(k)+at); err != nil {
			return false
		}
		crc = crc32.Update(crc, castagnoli, b)
		at += int64(len(b))
	}
	return crc == s.crc
}

// drop forgets chunk k.
func (c *chunks) drop(k int) {
	c.present -= c.have[k].n
	c.have[k] = span{}
}

// recheck re-reads chunks [from, to) and drops those that the disk gives back
// otherwise than they came.
func (c *chunks) recheck(ctx context.Context, from, to int) (dropped []int, err error) {
	buf := make([]byte, bufferSize)
	for k := from; k < to; k++ {
		if err := ctx.Err(); err != nil {
			return dropped, err
		}
		if !c.holds(k, buf) {
			c.drop(k)
			dropped = append(dropped, k)
		}
	}
	return dropped, nil
}

// believe takes over the first limit bytes of the file on its word, by reading
// and hashing them. each is called now and then.
func (c *chunks) believe(ctx context.Context, limit int64, each func()) error {
	c.forget()
	buf := make([]byte, bufferSize)
	for at := int64(0); at < limit; {
		if err := ctx.Err(); err != nil {
			return err
		}
		k := int(at / c.length)
		s := &c.have[k]
		n, err := c.file.ReadAt(buf[:min(int64(len(buf)), limit-at, c.full(k)-s.n)], at)
		s.crc = crc32.Update(s.crc, castagnoli, buf[:n])
		s.n += int64(n)
		c.present += int64(n)
		c.sum.Write(buf[:n])
		c.hashed += int64(n)
		at += int64(n)
		if err != nil && err != io.EOF || n == 0 {
			return fmt.Errorf("%w: read the part: %w", errLocal, err)
		}
		each()
	}
	c.state = state(c.sum)
	return nil
}

// resumeSum makes sum what state says.
func (c *chunks) resumeSum(hashed int64, saved []byte) bool {
	sum := sha256.New()
	if sum.(encoding.BinaryUnmarshaler).UnmarshalBinary(saved) != nil {
		return false
	}
	c.sum, c.hashed, c.state = sum, hashed, saved
	return true
}
