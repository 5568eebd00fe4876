package partfile

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// directPart returns a part whose writes pass the page cache by.
func directPart(t *testing.T) *File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "part"))
	must(t, err)
	t.Cleanup(func() { f.Close() })
	p := New(f, OpenDirect(f))
	t.Cleanup(p.End)
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
			n := []int{Most, Most, Most, sector, 100, 3*sector + 1}[r.IntN(6)]
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
			got := make([]byte, min(len(want)-from, 1+r.IntN(Most)))
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
				must(t, p.SyncData())
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
	p.mu.Lock()
	p.direct.Close()
	p.direct = full(t)
	p.mu.Unlock()
	b := make([]byte, Most)
	var err error
	for at := int64(0); err == nil && at < 64*Most; at += Most {
		_, err = p.WriteAt(b, at)
	}
	for name, err := range map[string]error{"a later write": err, "settle": p.Settle(), "Sync": p.Sync(), "syncData": p.SyncData()} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: error %v, want %v", name, err, syscall.ENOSPC)
		}
	}
}

// full is a file on a disk without space.
func full(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	must(t, err)
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestRefusedDirectWritesTakeThePageCache has a disk that wants more than sectors.
func TestRefusedDirectWritesTakeThePageCache(t *testing.T) {
	t.Parallel()
	p := directPart(t)
	p.mu.Lock()
	for i := range p.ring {
		p.ring[i].b = aligned(Most + sector)[1 : Most+1]
	}
	p.mu.Unlock()
	data := make([]byte, 20*Most)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	for at := 0; at < len(data); at += Most {
		_, err := p.WriteAt(data[at:at+Most], int64(at))
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
