package fetch

import (
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"sync"
	"time"
)

// chunks tracks a part file chunk by chunk: how much of each is written, its
// checksum, and how far the sha256 has followed. It does not know where bytes
// come from. It is safe for concurrent use, but one goroutine at a time writes
// a chunk, and only one hashes.
type chunks struct {
	file   contents
	size   int64
	length int64 // of every chunk but the last

	mu      sync.Mutex
	changed *sync.Cond
	have    []span
	present int64 // bytes of all spans
	landed  int64 // bytes given to land, including those dropped since
	hashed  int64 // the frontier: sum covers [0, hashed)
	sum     hash.Hash
	state   []byte // of sum at hashed
	closed  bool   // nothing more comes: hash what there is
	feed    *feed  // of the goroutine that hashes
	fed     int64  // end of the bytes given to feed
	giving  bool   // a goroutine is about to give the bytes at fed
}

// contents is the read and write access to a part file.
type contents interface {
	io.ReaderAt
	io.WriterAt
}

// span is the written beginning of a chunk.
type span struct {
	n      int64
	crc    uint32 // crc32c of the received bytes
	held   *hold  // of the worker that fetches the rest; nil: none does
	heir   *hold  // the chunk is handed to its worker
	handed int    // how often that happened
	noted  int64  // of n; see notes
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func newChunks(file contents, size, length int64) *chunks {
	c := &chunks{file: file, size: size, length: length}
	c.changed = sync.NewCond(&c.mu)
	c.have = make([]span, (size+length-1)/length)
	c.sum = sha256.New()
	c.state = state(c.sum)
	return c
}

// state is the sha256 state of h, which crypto/sha256 always provides.
func state(h hash.Hash) []byte {
	b, err := h.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		panic(err)
	}
	return b
}

func (c *chunks) start(k int) int64 { return int64(k) * c.length }
func (c *chunks) full(k int) int64  { return min(c.length, c.size-c.start(k)) }

// claim waits for the first incomplete, unclaimed chunk less than window chunks
// ahead of the frontier, so that the hasher reads bytes that are still in
// memory. While there is none, it may take one over from a worker that is much
// slower. ok is false if none will come.
func (c *chunks) claim(ctx context.Context, window int, h *hold) (k int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ctx.Err() == nil {
		k := int(c.hashed / c.length)
		last := min(len(c.have), k+window)
		for ; k < last; k++ {
			if s := &c.have[k]; s.held == nil && (s.heir == nil || s.heir == h) && s.n < c.full(k) {
				h.take(s)
				return k, true
			}
		}
		wait := c.handOver(h, last)
		if !wait && last == len(c.have) {
			return 0, false
		}
		if wait {
			again := time.AfterFunc(lookAgain, c.wake)
			c.changed.Wait()
			again.Stop()
			continue
		}
		c.changed.Wait()
	}
	return 0, false
}

// release ends a claim, and returns how fast its bytes came, 0 if none did, and
// whether the chunk was handed over.
func (c *chunks) release(k int) (speed float64, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.have[k]
	h := s.held
	s.held = nil
	if s.n == c.full(k) && s.heir != nil {
		s.heir.wants, s.heir = nil, nil
	}
	c.changed.Broadcast()
	if took := time.Since(h.since); took > 0 {
		speed = float64(s.n-h.from) / took.Seconds()
	}
	return speed, h.lost
}

// follow waits until chunk k is less than window ahead of the frontier.
func (c *chunks) follow(ctx context.Context, k, window int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ctx.Err() == nil && int64(k) >= c.hashed/c.length+int64(window) {
		c.changed.Wait()
	}
	return ctx.Err()
}

// written returns how much of chunk k is written.
func (c *chunks) written(k int) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.have[k].n
}

// land appends b to chunk k. After an error nothing is recorded. If the hasher
// wants these bytes next, it gets them at once, while they are cached.
func (c *chunks) land(k int, b []byte) error {
	s := &c.have[k] // only this goroutine changes its n and crc
	at := c.start(k) + s.n
	if _, err := c.file.WriteAt(b, at); err != nil {
		return fmt.Errorf("%w: write the part: %w", errLocal, err)
	}
	crc := crc32.Update(s.crc, castagnoli, b)
	c.mu.Lock()
	s.crc = crc
	s.n += int64(len(b))
	c.present += int64(len(b))
	c.landed += int64(len(b))
	f, next := c.feed, c.feed != nil && !c.giving && at == c.fed
	c.giving = c.giving || next
	c.mu.Unlock()
	if next {
		c.give(f, int64(len(b)))
	} else {
		c.changed.Broadcast()
	}
	return nil
}

// missing returns the offset of the first byte that is not written.
func (c *chunks) missing() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.have {
		if c.have[k].n < c.full(k) {
			return c.start(k) + c.have[k].n
		}
	}
	return c.size
}

func (c *chunks) count() (present, landed int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.present, c.landed
}

// whole reports whether everything is written and hashed.
func (c *chunks) whole() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hashed == c.size
}

// digest returns the sha256 of [0, hashed) in hex. It must not run during
// hashing.
func (c *chunks) digest() string { return hex.EncodeToString(c.sum.Sum(nil)) }
