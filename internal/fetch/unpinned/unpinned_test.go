package unpinned

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"aisync.dev/aisync/internal/fetch"
	"aisync.dev/aisync/reconcile/fsys"
)

// shelf serves one content, and breaks off after some bytes of all answers.
type shelf struct {
	*httptest.Server
	content atomic.Pointer[[]byte]
	etag    atomic.Bool
	answer  atomic.Pointer[http.HandlerFunc]
	left    atomic.Int64
	asked   atomic.Int64
	sent    atomic.Int64
}

func newShelf(t *testing.T, content []byte) *shelf {
	tries, pause, syncEvery = 2, time.Millisecond, 64<<10
	s := &shelf{}
	s.etag.Store(true)
	s.content.Store(&content)
	s.left.Store(1 << 40)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*s.answer.Load())(w, r) }))
	s.answers(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		b := *s.content.Load()
		if s.etag.Load() {
			sum := sha256.Sum256(b)
			w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:4])+`"`)
		}
		http.ServeContent(&short{w, s}, r, "", time.Time{}, bytes.NewReader(b))
	})
	t.Cleanup(s.Close)
	return s
}

func (s *shelf) answers(h http.HandlerFunc) { s.answer.Store(&h) }

type short struct {
	http.ResponseWriter
	s *shelf
}

func (w *short) Write(b []byte) (int, error) {
	n := min(int64(len(b)), max(0, w.s.left.Load()))
	w.s.left.Add(-n)
	w.s.sent.Add(n)
	m, err := w.ResponseWriter.Write(b[:n])
	if m < len(b) {
		panic(http.ErrAbortHandler)
	}
	return m, err
}

type folder struct {
	fsys.FS
	dir string
}

func newFolder(t *testing.T) folder {
	dir := t.TempDir()
	disk, err := fsys.New(fsys.Options{Root: dir, Home: "/", Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	return folder{disk, dir}
}

func (f folder) get(t *testing.T, s *shelf) (int64, string, error) {
	t.Helper()
	return Get(t.Context(), s.Client(), s.URL+"/a.tar.gz", f, "/part", nil)
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func content(seed byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i>>8) ^ byte(i)*7 ^ seed
	}
	return b
}

func TestGetReturnsSizeAndDigest(t *testing.T) {
	want := content(1, 500<<10)
	s, f := newShelf(t, want), newFolder(t)
	size, sum, err := f.get(t, s)
	if err != nil || size != int64(len(want)) || sum != digest(want) {
		t.Errorf("%d, %s, %v", size, sum, err)
	}
	if got, _ := os.ReadFile(filepath.Join(f.dir, "part")); !bytes.Equal(got, want) {
		t.Error("the file holds something else")
	}
	if entries, _ := os.ReadDir(f.dir); len(entries) != 1 {
		t.Errorf("there is %v", entries)
	}
	if n, err := Size(t.Context(), s.Client(), s.URL); n != int64(len(want)) || err != nil {
		t.Errorf("Size says %d, %v", n, err)
	}
}

func TestAFetchThatBrokeOffGoesOn(t *testing.T) {
	want := content(1, 500<<10)
	s, f := newShelf(t, want), newFolder(t)
	s.left.Store(300 << 10)
	if _, _, err := f.get(t, s); err == nil {
		t.Fatal("half of it was taken for whole")
	}
	s.left.Store(1 << 40)
	s.sent.Store(0)
	size, sum, err := f.get(t, s)
	if err != nil || size != int64(len(want)) || sum != digest(want) {
		t.Errorf("%d, %s, %v", size, sum, err)
	}
	if sent := s.sent.Load(); sent > int64(len(want))-200<<10 {
		t.Errorf("%d bytes came again", sent)
	}
}

func TestGetNeverMixesContents(t *testing.T) {
	for name, change := range map[string]func(*shelf){
		"another content":     func(s *shelf) { s.content.Store(new(content(2, 500<<10))) },
		"a shorter content":   func(s *shelf) { s.content.Store(new(content(3, 100<<10))) },
		"no word of what":     func(s *shelf) { s.etag.Store(false) },
		"all of it was there": func(s *shelf) { s.content.Store(new((*s.content.Load())[:256<<10])) },
	} {
		s, f := newShelf(t, content(1, 500<<10)), newFolder(t)
		s.left.Store(300 << 10)
		if _, _, err := f.get(t, s); err == nil {
			t.Fatal("half of it was taken for whole")
		}
		s.left.Store(1 << 40)
		change(s)
		want := *s.content.Load()
		size, sum, err := f.get(t, s)
		if err != nil || size != int64(len(want)) || sum != digest(want) {
			t.Errorf("%s: %d, %s, %v", name, size, sum, err)
		}
		if got, _ := os.ReadFile(filepath.Join(f.dir, "part")); !bytes.Equal(got, want) {
			t.Errorf("%s: the file holds something else", name)
		}
	}
}

func TestRefusalIsNotRetried(t *testing.T) {
	s, f := newShelf(t, nil), newFolder(t)
	s.answers(http.NotFound)
	_, _, err := f.get(t, s)
	if err == nil || !strings.HasSuffix(err.Error(), "/a.tar.gz: answered 404 Not Found") {
		t.Error(err)
	}
	s.answers(func(w http.ResponseWriter, _ *http.Request) {
		s.asked.Add(1)
		http.Error(w, "later", http.StatusServiceUnavailable)
	})
	if _, _, err = f.get(t, s); err == nil || !strings.Contains(err.Error(), "503") || s.asked.Load() != 2 {
		t.Errorf("%v after %d tries", err, s.asked.Load())
	}
	s.answers(func(http.ResponseWriter, *http.Request) {})
	if _, _, err = f.get(t, s); err == nil || !strings.Contains(err.Error(), "answered with nothing") {
		t.Error(err)
	}
}

func TestTwoDoNotFetchIntoOnePart(t *testing.T) {
	s, f := newShelf(t, content(1, 1000)), newFolder(t)
	began, done := make(chan bool), make(chan bool)
	s.answers(func(w http.ResponseWriter, _ *http.Request) {
		began <- true
		<-done
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, _, err := Get(ctx, s.Client(), s.URL, f, "/part", nil)
		ended <- err
	}()
	<-began
	if _, _, err := f.get(t, s); !errors.Is(err, fetch.ErrBusy) {
		t.Error(err)
	}
	cancel()
	close(done)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
