package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// long serves size bytes that repeat one block, without holding them.
type long struct {
	size  int64
	block []byte
}

func (l long) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", fmt.Sprint(l.size))
	for sent := int64(0); sent < l.size; sent += int64(len(l.block)) {
		if _, err := w.Write(l.block); err != nil {
			return
		}
	}
}

func (l long) digest() string {
	h := sha256.New()
	for sent := int64(0); sent < l.size; sent += int64(len(l.block)) {
		h.Write(l.block)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// peak samples the heap while f runs, server included, and returns the most
// that was in use, in MiB.
func peak(f func()) float64 {
	runtime.GC()
	var most atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapInuse))
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	<-stopped
	return float64(most.Load()) / (1 << 20)
}

// BenchmarkDownload compares Fetch, which verifies, keeps a journal and syncs,
// with the plain ways to the same file: none of them can resume.
func BenchmarkDownload(b *testing.B) {
	for _, size := range []int64{64 << 20, 512 << 20} {
		src := long{size, noise(1 << 20)}
		srv := httptest.NewServer(src)
		defer srv.Close()
		a := Artifact{Name: "big", Sources: []string{srv.URL}, Size: size, SHA256: src.digest()}
		for name, run := range map[string]func(b *testing.B, dir string) string{
			"fetch": func(b *testing.B, root string) string {
				if err := New(Options{}).Fetch(b.Context(), a, diskAt(b, root, "one", nil), part, nil); err != nil {
					b.Fatal(err)
				}
				return a.SHA256
			},
			"copy-sync-then-hash": func(b *testing.B, root string) string {
				f := plain(b, srv.URL, root, io.Discard)
				h := sha256.New()
				if _, err := f.Seek(0, io.SeekStart); err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(h, f); err != nil {
					b.Fatal(err)
				}
				return hex.EncodeToString(h.Sum(nil))
			},
			"copy-and-hash-sync": func(b *testing.B, root string) string {
				h := sha256.New()
				plain(b, srv.URL, root, h)
				return hex.EncodeToString(h.Sum(nil))
			},
		} {
			b.Run(fmt.Sprintf("%s/%dMiB", name, size>>20), func(b *testing.B) {
				b.SetBytes(size)
				for b.Loop() {
					root := b.TempDir()
					var got string
					b.ReportMetric(peak(func() { got = run(b, root) }), "peak-MiB")
					if got != a.SHA256 {
						b.Fatal("wrong bytes")
					}
					os.RemoveAll(root)
				}
			})
		}
	}
}

// plain copies url to a file below root and into also, and syncs it.
func plain(b *testing.B, url, root string, also io.Writer) *os.File {
	b.Helper()
	f, err := os.CreateTemp(root, "plain")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	resp, err := http.Get(url)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	var w io.Writer = f
	if also != io.Discard {
		w = io.MultiWriter(f, also)
	}
	if _, err := io.Copy(w, resp.Body); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	return f
}
