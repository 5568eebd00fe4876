package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/reconcile/fsys"
)

// interrupted fetches data until at least n bytes are verified, then cancels.
// What the server sent until then is in s.sent.
func interrupted(t *testing.T, s *server, store fsys.FS, a Artifact, n int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seconds atomic.Int64 // the workers and the growth of their number ask at once
	c := New(Options{Chunk: 16 << 20, Now: func() time.Time { return time.Unix(seconds.Add(1), 0) }})
	err := c.Fetch(ctx, a, store, part, func(done, _ int64) {
		if done >= n {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted fetch: %v", err)
	}
	contains(t, err, "are kept in", string(part), "run the same command again")
}

// kept reads the journal that an interrupted fetch left.
func kept(t *testing.T, physical string) record {
	t.Helper()
	raw, err := os.ReadFile(physical + ".journal")
	if err != nil {
		t.Fatal(err)
	}
	rec, err := decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func halfThenWait(data []byte) func(http.ResponseWriter, *http.Request, int) bool {
	return func(w http.ResponseWriter, r *http.Request, n int) bool {
		if n > 1 {
			return false
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		w.Write(data[:len(data)/2])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return true
	}
}

func TestAnInterruptedFetchGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()
	data := noise(12 << 20)
	half := fmt.Sprintf("bytes=%d-%d", len(data)/2, len(data)-1)
	for name, c := range map[string]struct {
		damage func(t *testing.T, physical string)
		etag   string // of the second run
		lied   bool   // the first run was served other bytes
		want   []string
	}{
		"nothing happened between":      {want: []string{half}},
		"the journal is gone":           {damage: removeJournal, want: []string{half}},
		"the journal is damaged":        {damage: flipJournal, want: []string{half}},
		"the journal is of a later day": {damage: newerJournal, want: []string{half}},
		"bytes follow the last record":  {damage: appendJunk, want: []string{half}},
		"the first half was wrong":      {lied: true, want: []string{half, ""}},
		"the content has changed":       {etag: `"b"`, want: []string{half, ""}},
		"the tail was lost on disk":     {damage: flipAt(-10), want: []string{fmt.Sprintf("bytes=%d-%d", 4<<20, len(data)-1)}}, // what the last notes but one say
		"the part was cut":              {damage: cut, want: []string{fmt.Sprintf("bytes=%d-%d", 2<<20, len(data)-1)}},
		"the notes are gone":            {damage: func(t *testing.T, p string) { must(t, os.Truncate(p+".journal.notes", 0)) }, want: []string{half}},
		"the part is gone":              {damage: func(t *testing.T, p string) { must(t, os.Remove(p)) }, want: []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, &server{data: data, etag: `"a"`, first: halfThenWait(data)})
			store, physical := disk(t, nil)
			if c.lied {
				s.first = halfThenWait(noise(len(data) + 1)[1:])
			}
			a := artifact(data, s.URL)
			interrupted(t, s, store, a, int64(len(data)/2))
			if rec := kept(t, physical); rec.present() != int64(len(data)/2) || rec.Seen.ETag != `"a"` || rec.Source != s.URL {
				t.Fatalf("journal: %+v", rec)
			}
			if c.damage != nil {
				c.damage(t, physical)
			}
			if c.etag != "" {
				s.etag = c.etag
			}
			err := quick(nil).Fetch(t.Context(), a, store, part, nil)
			holds(t, err, physical, data)
			if err != nil {
				t.Error(err)
			}
			if got := s.header("Range")[1:]; strings.Join(got, " ") != strings.Join(c.want, " ") {
				t.Errorf("ranges %q, want %q", got, c.want)
			}
		})
	}
}

func removeJournal(t *testing.T, physical string) { must(t, os.Remove(physical+".journal")) }

func flipJournal(t *testing.T, physical string) {
	raw, err := os.ReadFile(physical + ".journal")
	must(t, err)
	at := bytes.Index(raw, []byte(`"sha256_state":"`)) + 40 // within the state
	raw[at] = map[bool]byte{true: 'A', false: 'B'}[raw[at] == 'B']
	must(t, os.WriteFile(physical+".journal", raw, 0o600))
}

func newerJournal(t *testing.T, physical string) {
	must(t, os.WriteFile(physical+".journal", []byte(`{"version":2}`), 0o600))
}

func appendJunk(t *testing.T, physical string) {
	f, err := os.OpenFile(physical, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.Write(make([]byte, 9<<20))
	must(t, errors.Join(err, f.Close()))
}

// flipAt changes the byte at an offset from the end of the part.
func flipAt(from int64) func(*testing.T, string) {
	return func(t *testing.T, physical string) {
		f, err := os.OpenFile(physical, os.O_RDWR, 0)
		must(t, err)
		end, err := f.Seek(from, 2)
		must(t, err)
		b := make([]byte, 1)
		_, err = f.ReadAt(b, end)
		must(t, err)
		b[0] ^= 1
		_, err = f.WriteAt(b, end)
		must(t, errors.Join(err, f.Close()))
	}
}

func cut(t *testing.T, physical string) { must(t, os.Truncate(physical, 3<<20)) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAJournalThatCannotBeWrittenEndsTheFetchAndTheNextOneRecovers(t *testing.T) {
	t.Parallel()
	data := noise(6 << 20)
	for nth := 1; nth <= 4; nth++ {
		s := serve(t, &server{data: data, etag: `"a"`})
		root := t.TempDir()
		writes := 0
		full := diskAt(t, root, "one", func(op fsys.Op) error {
			if op.Name == "write" {
				if writes++; writes >= nth {
					return syscall.ENOSPC
				}
			}
			return nil
		})
		c := New(Options{JournalBytes: 1 << 20})
		err := c.Fetch(t.Context(), artifact(data, s.URL, s.URL), full, part, nil)
		if !errors.Is(err, syscall.ENOSPC) || len(s.header("Range")) > 1 {
			t.Errorf("write %d: %v after %d requests", nth, err, len(s.header("Range")))
		}
		if err != nil && strings.Contains(err.Error(), "are kept") {
			t.Errorf("write %d: %v", nth, err)
		}
		err = c.Fetch(t.Context(), artifact(data, s.URL), diskAt(t, root, "two", nil), part, nil)
		must(t, err)
		holds(t, err, root+string(part), data)
	}
}

func TestACompletePartNeedsNoSource(t *testing.T) {
	data := noise(3 << 20)
	store, physical := disk(t, nil)
	must(t, os.WriteFile(physical, append(data, 1, 2, 3), 0o600))
	err := quick(nil).Fetch(t.Context(), artifact(data, "http://127.0.0.1:1/"), store, part, nil)
	must(t, err)
	holds(t, err, physical, data)
}

func TestASecondFetchIsToldOfTheFirst(t *testing.T) {
	data := noise(1 << 20)
	started := make(chan struct{})
	s := serve(t, &server{data: data})
	s.first = func(w http.ResponseWriter, r *http.Request, n int) bool {
		close(started)
		<-r.Context().Done()
		return true
	}
	root := t.TempDir()
	one, two := diskAt(t, root, "one", nil), diskAt(t, root, "two", nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- quick(nil).Fetch(ctx, artifact(data, s.URL), one, part, nil) }()
	<-started
	err := quick(nil).Fetch(t.Context(), artifact(data, s.URL), two, part, nil)
	if !errors.Is(err, ErrBusy) {
		t.Errorf("%v is not ErrBusy", err)
	}
	contains(t, err, "tiny", string(part), fmt.Sprintf("process %d", os.Getpid()), "wait for it")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// movedAway is a file system on which another process publishes the part
// between its being opened and being locked.
type movedAway struct {
	fsys.FS
	physical string
	once     bool
}

func (m *movedAway) OpenPart(p fsys.LogicalPath) (*os.File, error) {
	f, err := m.FS.OpenPart(p)
	if !m.once {
		m.once = true
		err = errors.Join(err, os.Rename(m.physical, m.physical+".published"))
	}
	return f, err
}

func TestAPublishedFileIsNotWrittenTo(t *testing.T) {
	data := noise(1000)
	s := serve(t, &server{data: data})
	store, physical := disk(t, nil)
	must(t, os.WriteFile(physical, []byte("published"), 0o600))
	err := quick(nil).Fetch(t.Context(), artifact(data, s.URL), &movedAway{FS: store, physical: physical}, part, nil)
	must(t, err)
	holds(t, err, physical, data)
	if got, err := os.ReadFile(physical + ".published"); err != nil || string(got) != "published" {
		t.Errorf("the published file holds %q, %v", got, err)
	}
}

func TestLitterOfAKilledJournalWriteIsSwept(t *testing.T) {
	data := noise(1000)
	s := serve(t, &server{data: data})
	store, physical := disk(t, nil)
	litter := filepath.Join(filepath.Dir(physical), fsys.TempName(journalPath(part), "one").Base())
	must(t, os.WriteFile(litter, []byte("half a rec"), 0o600))
	must(t, quick(nil).Fetch(t.Context(), artifact(data, s.URL), store, part, nil))
	if _, err := os.Lstat(litter); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("litter: %v", err)
	}
}

func TestProgressEndsWithTheWholeAndIsNotTooOften(t *testing.T) {
	data := noise(9 << 20)
	s := serve(t, &server{data: data})
	store, _ := disk(t, nil)
	still := time.Unix(1, 0)
	var seen []int64
	c := New(Options{Now: func() time.Time { return still }})
	must(t, c.Fetch(t.Context(), artifact(data, s.URL), store, part, func(done, total int64) {
		if total != int64(len(data)) {
			t.Errorf("total %d", total)
		}
		seen = append(seen, done)
	}))
	if len(seen) != 2 || seen[0] != 0 || seen[1] != int64(len(data)) {
		t.Errorf("with a clock that stands still: %d", seen)
	}
}

func TestFilesAreCopiedAndVerified(t *testing.T) {
	data := noise(3 << 20)
	dir := t.TempDir()
	right, wrong := filepath.Join(dir, "right"), filepath.Join(dir, "wrong")
	must(t, os.WriteFile(right, data, 0o600))
	must(t, os.WriteFile(wrong, append([]byte{^data[0]}, data[1:]...), 0o600))
	for src, fails := range map[string][]string{
		right:                         nil,
		"file://" + right:             nil,
		"file://localhost" + right:    nil,
		wrong:                         {"sha256 mismatch", wrong},
		dir:                           {"not a regular file"},
		dir + "/none":                 {"no such file"},
		"file://elsewhere" + right:    {"invalid source"},
		"relative/path":               {"invalid source"},
		"s3://bucket/key?sig=private": {"invalid source"},
	} {
		store, physical := disk(t, nil)
		err := quick(nil).Fetch(t.Context(), artifact(data, src), store, part, nil)
		holds(t, err, physical, data)
		if fails != nil {
			contains(t, err, fails...)
		} else if err != nil {
			t.Error(err)
		}
	}
}

func TestARecordIsDueAfterSoManyBytesOrSoLong(t *testing.T) {
	start := time.Unix(100, 0)
	for _, c := range []struct {
		offset int64
		later  time.Duration
		due    bool
	}{
		{1000, time.Hour, false}, // nothing new to tell
		{1001, time.Second, false},
		{1001, 2 * time.Second, true},
		{1031, 0, false},
		{1032, 0, true},
	} {
		j := &journal{landed: 1000, at: start, bytes: 64, every: 2 * time.Second, now: func() time.Time { return start.Add(c.later) }}
		if got := j.due(c.offset); got != c.due {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
