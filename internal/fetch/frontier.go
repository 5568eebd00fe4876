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
)

const (
	bufferSize = 256 << 10 // of one read, write or hash; what stays in a core's cache
	readAhead  = 8         // buffers between reading and hashing
)

// feed brings the part's bytes to the hasher, in order and each once. Hashing
// is the one step that cannot be shared out, so the hasher does nothing else.
type feed struct {
	full  chan stretch
	empty chan []byte
	over  chan struct{} // nobody hashes any more

	patience time.Duration // a hasher that waits for half of it, twice in a row, starves
	starved  chan struct{} // closed once it does
	starve   func()        // closes it
}

// stretch is bytes that were read back from the part.
type stretch struct {
	b   []byte
	err error
}

// feeding makes ready for hash, before anything lands. With no patience the
// hasher starves from the start.
func (c *chunks) feeding(patience time.Duration) *feed {
	f := &feed{
		full: make(chan stretch, readAhead), empty: make(chan []byte, readAhead), over: make(chan struct{}),
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
	return f
}

// hash lets the sha256 follow what is written, in order, until ctx ends, or
// c is closed and all that lies together from the start is hashed. It takes
// what is read back from the file, not what the network brought: what is
// verified is what the part holds.
func (c *chunks) hash(ctx context.Context, f *feed) error {
	ctx, stop := context.WithCancel(ctx)
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.read(ctx, f)
	}()
	defer func() { // when this returns nobody reads
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
		var s stretch
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

// ready waits until bytes can be given, and returns how many; it is then on
// the caller to give them. There are none once c is closed or ctx ended.
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

// give reads n bytes back from where the last were given, and gives them to
// the hasher. It waits while that is behind.
func (c *chunks) give(f *feed, n int64) {
	var b []byte
	select {
	case b = <-f.empty:
	case <-f.over:
		return
	}
	b = b[:n]
	_, err := c.file.ReadAt(b, c.fed) // which whoever gives alone changes
	f.full <- stretch{b, err}
	c.mu.Lock()
	c.fed += n
	c.giving = false
	c.mu.Unlock()
	c.changed.Broadcast()
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
