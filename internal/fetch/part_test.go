package fetch

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// directPart returns a part whose writes pass the page cache by.
func directPart(t *testing.T) *partFile {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "part"))
	must(t, err)
	t.Cleanup(func() { f.Close() })
	p := newPart(f)
	t.Cleanup(p.close)
	if p.closed == nil {
		t.Skip("this file system takes no direct writes here: only on ext4 and XFS are they made")
	}
	return p
}

// TestWhatWasWrittenIsRead writes at random, in order and not, reads and cuts, and
// compares each read, and at last the file, with bytes in memory.
func TestWhatWasWrittenIsRead(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := directPart(t)
		want := make([]byte, 0, 8<<20)
		end := 0
		for range 60 {
			n := []int{bufferSize, bufferSize, bufferSize, sector, 100, 3*sector + 1}[r.IntN(6)]
			at := end
			if r.IntN(4) == 0 {
				at = r.IntN(len(want) + 1)
			}
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			if got, err := p.WriteAt(b, int64(at)); got != n || err != nil {
				t.Fatalf("seed %d: write %d bytes at %d: %d, %v", seed, n, at, got, err)
			}
			end = at + n
			want = append(want[:min(at, len(want))], append(b, want[min(end, len(want)):]...)...)
			from := r.IntN(len(want))
			if r.IntN(2) == 0 {
				from = at
			}
			got := make([]byte, min(len(want)-from, 1+r.IntN(bufferSize)))
			if _, err := p.ReadAt(got, int64(from)); err != nil || !bytes.Equal(got, want[from:from+len(got)]) {
				t.Fatalf("seed %d: %d bytes at %d are others than were written (error %v)", seed, len(got), from, err)
			}
			switch r.IntN(20) {
			case 0:
				want = want[:r.IntN(len(want)+1)]
				end = len(want)
				must(t, p.Truncate(int64(end)))
				want = want[:end:end]
			case 1:
				must(t, p.syncData())
			}
			if len(want) == 0 {
				end = 0
				b := make([]byte, sector)
				_, err := p.WriteAt(b, 0)
				must(t, err)
				want, end = append(want, b...), sector
			}
		}
		must(t, p.Sync())
		got, err := os.ReadFile(p.Name())
		must(t, err)
		if !bytes.Equal(got, want) {
			t.Fatalf("seed %d: the file has other bytes than were written", seed)
		}
	}
}

// TestFailedDirectWriteEndsAllWrites has the disk refuse what was taken already.
func TestFailedDirectWriteEndsAllWrites(t *testing.T) {
	t.Parallel()
	p := directPart(t)
	fillDisk(t, p)
	b := make([]byte, bufferSize)
	var err error
	for at := int64(0); err == nil && at < 64*bufferSize; at += bufferSize {
		_, err = p.WriteAt(b, at)
	}
	for name, err := range map[string]error{"a later write": err, "settle": p.settle(), "Sync": p.Sync(), "syncData": p.syncData()} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: error %v, want %v", name, err, syscall.ENOSPC)
		}
	}
}

// fillDisk makes p's direct writes fail as on a full disk.
func fillDisk(t *testing.T, p *partFile) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	must(t, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	must(t, p.wait(0))
	p.direct.Close()
	p.direct = full
}

// TestFullDiskBehindADirectWriteIsResumed fetches with a disk that fills up, and then
// again.
func TestFullDiskBehindADirectWriteIsResumed(t *testing.T) {
	t.Parallel()
	data := noise(40*bufferSize + 7)
	s := serve(t, &server{data: data, etag: `"a"`})
	store, physical := disk(t, nil)
	one := func(o *Options) { o.Connections = 1; o.Chunk = 4 * bufferSize }
	c := many(one)
	var once sync.Once
	c.wrap = func(f contents) contents {
		p := f.(*partFile)
		if p.closed == nil {
			t.Skip("this file system takes no direct writes here: only on ext4 and XFS are they made")
		}
		return &filling{contents: p, after: 20, full: func() { once.Do(func() { fillDisk(t, p) }) }}
	}
	err := c.Fetch(t.Context(), artifact(data, s.URL), store, part, nil)
	contains(t, err, "on this machine", "no space left on device")
	must(t, many(one).Fetch(t.Context(), artifact(data, s.URL), store, part, nil))
	holds(t, nil, physical, data)
}

// filling calls full after so many writes.
type filling struct {
	contents
	after int
	full  func()
}

func (f *filling) WriteAt(b []byte, at int64) (int, error) {
	if f.after--; f.after < 0 {
		f.full()
	}
	return f.contents.WriteAt(b, at)
}

// TestRefusedDirectWritesTakeThePageCache has a disk that wants more than sectors.
func TestRefusedDirectWritesTakeThePageCache(t *testing.T) {
	t.Parallel()
	p := directPart(t)
	p.mu.Lock()
	for i := range p.ring {
		p.ring[i].b = aligned(bufferSize + sector)[1 : bufferSize+1]
	}
	p.mu.Unlock()
	data := noise(20 * bufferSize)
	for at := 0; at < len(data); at += bufferSize {
		_, err := p.WriteAt(data[at:at+bufferSize], int64(at))
		must(t, err)
	}
	must(t, p.Sync())
	got, err := os.ReadFile(p.Name())
	must(t, err)
	if p.mu.Lock(); p.direct != p.File {
		t.Error("no direct write was refused")
	}
	p.mu.Unlock()
	if !bytes.Equal(got, data) {
		t.Error("the file has other bytes than were written")
	}
}
