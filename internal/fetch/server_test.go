package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"aisync.dev/aisync/reconcile/fsys"
)

// server is an honest HTTP server for one file, until it is told otherwise.
type server struct {
	*httptest.Server
	data      []byte
	etag      string
	noRange   bool
	dropAfter int // bytes of every body, then the connection breaks
	chunked   bool
	first     func(w http.ResponseWriter, r *http.Request, n int) bool // true: it has answered

	mu       sync.Mutex
	requests []*http.Request
	sent     int64
}

func serve(t testing.TB, s *server) *server {
	t.Helper()
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Clone(r.Context()))
	n := len(s.requests)
	s.mu.Unlock()
	if s.etag != "" {
		w.Header().Set("ETag", s.etag)
	}
	if s.first != nil && s.first(w, r, n) {
		return
	}
	from, to, code := 0, len(s.data), http.StatusOK
	if h := r.Header.Get("Range"); h != "" && !s.noRange && (r.Header.Get("If-Range") == "" || r.Header.Get("If-Range") == s.etag) {
		if _, err := fmt.Sscanf(h, "bytes=%d-%d", &from, &to); err != nil {
			panic(err)
		}
		if from >= len(s.data) {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", len(s.data)))
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return
		}
		to, code = min(to+1, len(s.data)), http.StatusPartialContent
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(s.data)))
	}
	if !s.chunked {
		w.Header().Set("Content-Length", fmt.Sprint(to-from))
	}
	w.WriteHeader(code)
	body := s.data[from:to]
	if s.dropAfter > 0 && len(body) > s.dropAfter {
		s.write(w, body[:s.dropAfter])
		panic(http.ErrAbortHandler)
	}
	s.write(w, body)
}

func (s *server) write(w http.ResponseWriter, b []byte) {
	n, _ := w.Write(b)
	w.(http.Flusher).Flush()
	s.mu.Lock()
	s.sent += int64(n)
	s.mu.Unlock()
}

// listen serves h until the test ends.
func listen(t testing.TB, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// header returns one header of every request so far.
func (s *server) header(name string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, r := range s.requests {
		all = append(all, r.Header.Get(name))
	}
	return all
}

// noise is n bytes that are the same in every run.
func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(b)
	return b
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func artifact(data []byte, sources ...string) Artifact {
	return Artifact{Name: "tiny", Sources: sources, Size: int64(len(data)), SHA256: sum(data)}
}

const part = fsys.LogicalPath("/store/tiny.part")

// disk is a real file system below a fresh folder.
func disk(t testing.TB, hook fsys.Hook) (fsys.FS, string) {
	t.Helper()
	root := t.TempDir()
	return diskAt(t, root, "one", hook), root + string(part)
}

func diskAt(t testing.TB, root, tag string, hook fsys.Hook) fsys.FS {
	t.Helper()
	if err := os.MkdirAll(root+string(part.Dir()), 0o700); err != nil {
		t.Fatal(err)
	}
	d, err := fsys.New(fsys.Options{Root: root, Home: "/home/me", Tag: tag, Hook: hook})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// holds fails the test unless success and the right bytes come together, with
// no journal left behind.
func holds(t *testing.T, err error, physical string, want []byte) {
	t.Helper()
	got, rerr := os.ReadFile(physical)
	if rerr != nil {
		t.Fatal(rerr)
	}
	if right := sum(got) == sum(want); right != (err == nil) {
		t.Errorf("Fetch returned %v, but the part being right is %v (%d bytes)", err, right, len(got))
	}
	if _, jerr := os.Lstat(physical + ".journal"); err == nil && jerr == nil {
		t.Error("the journal is still there after success")
	}
}

func contains(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}
