// Package partfile writes the file of a download, so that the disk works while the
// network does.
package partfile

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

const (
	// Most is the number of bytes that one write passes to the disk directly.
	Most = 256 << 10

	sector = 4 << 10    // offsets, lengths and addresses of direct writes are multiples of it
	queued = 4          // buffers on their way to the disk: a SIGKILL costs them
	ringed = 2 * queued // buffers that can be read back without the disk
)

// File is the file that a download writes. Bytes that continue the last ones
// pass the page cache by, where the file system is known to do that well: what
// other programs have there stays, such as the model that a server runs, and a
// download takes half of the processor's time. All other bytes go through it. What
// was written can be read at once, either way. It is safe for concurrent use.
type File struct {
	*os.File
	direct *os.File // of write; nil: no write passes the page cache by

	mu      sync.Mutex
	changed *sync.Cond
	end     int64 // of the last write
	ring    [ringed]piece
	first   int // the pieces first <= i < next are on their way; piece i lies at i % ringed
	next    int
	err     error // of a direct write; none follows it
	closing bool
	closed  chan struct{} // nil: direct is
}

// piece is bytes at an offset.
type piece struct {
	b  []byte // of Most bytes, at a multiple of sector in memory
	n  int    // of b are used; 0: none
	at int64
}

func (p *piece) holds(at, n int64) bool    { return p.at <= at && at+n <= p.at+int64(p.n) }
func (p *piece) overlaps(at, n int64) bool { return p.at < at+n && at < p.at+int64(p.n) }

// New returns f. direct is the same file, for writes that pass the page cache by, or
// nil: see OpenDirect. It must be ended by End, which closes direct; closing f is the
// caller's.
func New(f, direct *os.File) *File {
	p := &File{File: f, direct: direct}
	p.changed = sync.NewCond(&p.mu)
	if p.direct != nil {
		p.closed = make(chan struct{})
		go p.write()
	}
	return p
}

// aligned returns n bytes at a multiple of sector.
func aligned(n int) []byte {
	b := make([]byte, n+sector)
	skip := (sector - int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))%sector)) % sector
	return b[skip : skip+n]
}

// WriteAt writes b at offset at. An error may be of an earlier write.
func (p *File) WriteAt(b []byte, at int64) (int, error) {
	if p.closed != nil {
		if ok, err := p.enqueue(b, at); err != nil {
			return 0, err
		} else if ok {
			return len(b), nil
		}
	}
	return p.File.WriteAt(b, at)
}

// enqueue takes b for a direct write. If it does not, nothing of b is on its way.
func (p *File) enqueue(b []byte, at int64) (ok bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	follows := at == p.end
	p.end = at + int64(len(b))
	for i := range p.ring {
		if s := &p.ring[i]; s.overlaps(at, int64(len(b))) {
			if err := p.wait(0); err != nil {
				return false, err
			}
			s.n = 0
		}
	}
	if !follows || at%sector != 0 || len(b)%sector != 0 || len(b) > Most {
		return false, nil
	}
	if err := p.wait(queued - 1); err != nil {
		return false, err
	}
	s := &p.ring[p.next%ringed]
	if s.b == nil { // a small file needs few
		s.b = aligned(Most)
	}
	s.at, s.n = at, copy(s.b, b)
	p.next++
	p.changed.Broadcast()
	return true, nil
}

// wait returns when at most n pieces are on their way. The caller holds p.mu.
func (p *File) wait(n int) error {
	for p.next-p.first > n && p.err == nil {
		p.changed.Wait()
	}
	return p.err
}

// write writes the pieces, one after the other, until p is closed.
func (p *File) write() {
	defer close(p.closed)
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.err == nil {
		if p.first == p.next {
			if p.closing {
				return
			}
			p.changed.Wait()
			continue
		}
		s, direct := p.ring[p.first%ringed], p.direct
		p.mu.Unlock()
		_, err := direct.WriteAt(s.b[:s.n], s.at)
		if errors.Is(err, syscall.EINVAL) { // only now: the disk below asks for more than its file system
			direct.Close()
			direct = p.File
			_, err = direct.WriteAt(s.b[:s.n], s.at)
		}
		p.mu.Lock()
		p.direct, p.err = direct, err
		p.first++
		p.changed.Broadcast()
	}
}

// ReadAt reads what was written.
func (p *File) ReadAt(b []byte, at int64) (int, error) {
	if n, err := p.recent(b, at); n > 0 || err != nil {
		return n, err
	}
	return p.File.ReadAt(b, at)
}

// recent reads b from a piece that holds all of it, and waits for those that hold
// a part of it.
func (p *File) recent(b []byte, at int64) (int, error) {
	if p.closed == nil {
		return 0, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.ring {
		switch s := &p.ring[i]; {
		case s.holds(at, int64(len(b))):
			return copy(b, s.b[at-s.at:]), nil
		case s.overlaps(at, int64(len(b))):
			if err := p.wait(0); err != nil {
				return 0, err
			}
		}
	}
	return 0, nil
}

// Settle returns when everything is written, with the error of any write.
func (p *File) Settle() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wait(0)
}

// Sync makes all that was written durable.
func (p *File) Sync() error {
	if err := p.Settle(); err != nil {
		return err
	}
	return p.File.Sync()
}

// SyncData is Sync without the times of the file.
func (p *File) SyncData() error {
	if err := p.Settle(); err != nil {
		return err
	}
	return syncData(p.File)
}

// WriteOut lets the disk start to write, without waiting.
func (p *File) WriteOut() { writeOut(p.File) }

// Reserve allocates bytes [from, to) without making the file longer: its length tells
// how much was written. A file system without allocation is no error; lack of space is.
func (p *File) Reserve(from, to int64) error { return reserve(p.File, from, to) }

// Space returns how many bytes a user may still write beside the file, and how many it
// occupies.
func (p *File) Space() (free, held int64, ok bool) { return space(p.File) }

// Written is the start of the first hole below length; length on a file system that
// does not report holes.
func (p *File) Written(length int64) int64 { return written(p.File, length) }

// Truncate cuts the file, or makes it longer.
func (p *File) Truncate(size int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.wait(0) // what a failed write was to write may be cut away
	for i := range p.ring {
		p.ring[i].n = 0
	}
	p.end = size
	return p.File.Truncate(size)
}

// End ends the direct writes. Nothing is written after it returned.
func (p *File) End() {
	if p.closed == nil {
		return
	}
	p.mu.Lock()
	p.closing = true
	p.changed.Broadcast()
	p.mu.Unlock()
	<-p.closed
	if p.direct != p.File {
		p.direct.Close()
	}
}
