package fetch

import (
	"context"
	"crypto/sha256"
	"encoding"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"time"

	"aisync.dev/aisync/internal/fetch/partfile"
)

const (
	bufferSize = partfile.Most // of one read, write or hash; fits a core's cache
	readAhead  = 8             // buffers between reading and hashing
)

// feed passes the part's bytes to the hasher, in order and each once. Hashing
// is the only step that cannot be parallel, so the hasher does nothing else.
type feed struct {
	full  chan block
	empty chan []byte
	over  chan struct{} // closed when hashing has ended

	patience time.Duration // a hasher that waits for half of it, twice in a row, starves
	starved  chan struct{} // closed when the hasher starves
	starve   func()        // closes it
}

// block is bytes read back from the part.
type block struct {
	b   []byte
	err error
}

// feeding prepares hash, before anything lands. With no patience the hasher
// starves from the start.
func (c *chunks) feeding(patience time.Duration) *feed {
	f := &feed{
		full: make(chan block, readAhead), empty: make(chan []byte, readAhead), over: make(chan struct{}),
		patience: patience, starved: make(chan struct{}),
	}
	f.starve = sync.OnceFunc(func() { close(f.starved) })
	if patience <= 0 {
		f.patience = time.Hour
		f.starve()
	}
	for range readAhead {
		f.empty <- make([]byte, bufferSize)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.feed, c.fed, c.giving = f, c.hashed, false
	for k := range c.have { // of a round that was ended
		c.have[k].held, c.have[k].heir, c.have[k].handed = nil, nil, 0
	}
	return f
}

// hash hashes what is written, in order, until ctx ends, or until c is closed
// and all contiguous bytes from the start are hashed. It reads the bytes back
// from the part: what it verifies is what was given to the disk, not what came.
func (c *chunks) hash(ctx context.Context, f *feed) error {
	ctx, stop := context.WithCancel(ctx)
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.read(ctx, f)
	}()
	defer func() { // after this returns, no goroutine reads
		stop()
		close(f.over)
		c.wake()
		<-read
	}()
	defer context.AfterFunc(ctx, c.wake)()
	tick := time.NewTicker(f.patience)
	defer tick.Stop()
	var idle time.Duration
	hungry := false
	for waits := time.Now(); ; waits = time.Now() {
		var s block
		select {
		case s = <-f.full:
		case <-tick.C:
			idle += time.Since(waits)
			if hungry && idle > f.patience/2 {
				f.starve()
				tick.Stop()
			}
			hungry, idle = idle > f.patience/2, 0
			continue
		case <-ctx.Done():
			return ctx.Err()
		case <-read:
			select {
			case s = <-f.full:
			default:
				return ctx.Err()
			}
		}
		idle += time.Since(waits)
		if s.err != nil {
			return fmt.Errorf("%w: read the part: %w", errLocal, s.err)
		}
		c.sum.Write(s.b)
		c.advance(int64(len(s.b)))
		f.empty <- s.b[:bufferSize]
	}
}

// read gives the hasher what was written before it could be given at once.
func (c *chunks) read(ctx context.Context, f *feed) {
	for {
		n := c.ready(ctx)
		if n == 0 {
			return
		}
		c.give(f, n)
	}
}

// ready waits for bytes and returns their number; the caller must then give
// them. It returns 0 once c is closed or ctx ended.
func (c *chunks) ready(ctx context.Context) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ctx.Err() == nil {
		if k := int(c.fed / c.length); k < len(c.have) && !c.giving {
			if to := c.start(k) + c.have[k].n; to > c.fed {
				c.giving = true
				return min(bufferSize, to-c.fed)
			}
		}
		if c.closed && !c.giving || c.fed == c.size {
			break
		}
		c.changed.Wait()
	}
	return 0
}

// give reads n bytes back from the end of those given before, and gives them to
// the hasher. It waits while the hasher is behind.
func (c *chunks) give(f *feed, n int64) {
	var b []byte
	select {
	case b = <-f.empty:
	case <-f.over:
		return
	}
	b = b[:n]
	_, err := c.file.ReadAt(b, c.fed) // only the goroutine that gives changes fed
	f.full <- block{b, err}
	c.mu.Lock()
	c.fed += n
	c.giving = false
	c.mu.Unlock()
	c.changed.Broadcast()
}

// wake makes every waiter check again, including its context.
func (c *chunks) wake() {
	c.mu.Lock() // so that no goroutine is between looking and waiting
	defer c.mu.Unlock()
	c.changed.Broadcast()
}

// advance moves the frontier by n hashed bytes.
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

// closing says whether anything more comes.
func (c *chunks) closing(yes bool) {
	c.mu.Lock()
	c.closed = yes
	c.mu.Unlock()
	c.changed.Broadcast()
}

// rewind moves the frontier to the start: everything is hashed again, and
// nothing fetched.
func (c *chunks) rewind() {
	c.sum = sha256.New()
	c.hashed, c.state = 0, state(c.sum)
}

// forget drops all chunks.
func (c *chunks) forget() {
	clear(c.have)
	c.present = 0
	c.rewind()
}

// end is the end of the last written byte.
func (c *chunks) end() int64 {
	for k := len(c.have) - 1; k >= 0; k-- {
		if n := c.have[k].n; n > 0 {
			return c.start(k) + n
		}
	}
	return 0
}

// holds re-reads the written part of chunk k and compares its checksum.
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

// recheck re-reads chunks [from, to) and drops those that differ from what was
// received.
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

// adoptPrefix accepts the first limit bytes of the file without a checksum, by
// reading and hashing them. It calls each regularly.
func (c *chunks) adoptPrefix(ctx context.Context, limit int64, each func()) error {
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

// resumeSum restores sum from a saved state.
func (c *chunks) resumeSum(hashed int64, saved []byte) bool {
	sum := sha256.New()
	if sum.(encoding.BinaryUnmarshaler).UnmarshalBinary(saved) != nil {
		return false
	}
	c.sum, c.hashed, c.state = sum, hashed, saved
	return true
}
