package fetch

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// watched sees every access to the bytes of a part, and spoils some writes.
type watched struct {
	contents
	mu      sync.Mutex
	lowest  int64 // that was read
	read    int64
	spoiled map[int64]int // offsets of writes, and how often each is still to go wrong
}

func (w *watched) ReadAt(p []byte, at int64) (int, error) {
	w.mu.Lock()
	w.read += int64(len(p))
	w.lowest = min(w.lowest, at)
	w.mu.Unlock()
	return w.contents.ReadAt(p, at)
}

func (w *watched) WriteAt(p []byte, at int64) (int, error) {
	w.mu.Lock()
	spoil := w.spoiled[at] > 0
	if spoil {
		w.spoiled[at]--
		p = bytes.Clone(p)
		p[len(p)/2] ^= 1
	}
	w.mu.Unlock()
	return w.contents.WriteAt(p, at)
}

// watch makes c's parts be seen by w.
func watch(c *Client, w *watched) *Client {
	w.lowest = 1 << 62
	c.wrap = func(f contents) contents { w.contents = f; return w }
	return c
}

func TestOnlySpoiledChunksAreFetchedAgain(t *testing.T) {
	t.Parallel()
	data := noise(10*64<<10 + 100)
	s := serve(t, &server{data: data, etag: `"a"`})
	w := &watched{spoiled: map[int64]int{2 * 64 << 10: 1, 7 * 64 << 10: 1}}
	store, physical := disk(t, nil)
	err := watch(many(), w).Fetch(t.Context(), artifact(data, s.URL), store, part, nil)
	must(t, err)
	holds(t, err, physical, data)
	got := s.header("Range")
	if len(got) != 13 || !strings.HasPrefix(got[11]+got[12], "bytes=131072-196607bytes=458752-524287") && !strings.HasPrefix(got[12]+got[11], "bytes=131072-196607bytes=458752-524287") {
		t.Errorf("%d ranges, %q", len(got), got)
	}
}

func TestFailingDiskIsNamed(t *testing.T) {
	t.Parallel()
	data := noise(3 * 64 << 10)
	s := serve(t, &server{data: data})
	w := &watched{spoiled: map[int64]int{64 << 10: 1 << 30}}
	store, physical := disk(t, nil)
	err := watch(many(), w).Fetch(t.Context(), artifact(data, s.URL, s.URL), store, part, nil)
	contains(t, err, "on this machine", "check the disk", "at byte 65536")
	holds(t, err, physical, data)
	if n := len(s.header("Range")); n != 5 {
		t.Errorf("%d requests, want 3 and then the chunk twice", n)
	}
	err = many().Fetch(t.Context(), artifact(data, s.URL), store, part, nil)
	must(t, err)
	holds(t, err, physical, data)
}

func TestAJournalWhoseChunksTheDiskLostCostsThoseChunks(t *testing.T) {
	t.Parallel()
	data := noise(20 * 64 << 10)
	for name, c := range map[string]struct {
		damage func(t *testing.T, physical string)
		want   string
	}{
		"before the frontier":     {flipAt(-100), "bytes=851968-917503"},
		"nothing":                 {func(*testing.T, string) {}, ""},
		"the journal is missing":  {removeJournal, ""},
		"the journal is damaged":  {flipJournal, ""},
		"the journal is of day 1": {olderJournal, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, &server{data: data, etag: `"a"`})
			store, physical := disk(t, nil)
			s.first = func(w http.ResponseWriter, r *http.Request, n int) bool {
				if n <= 14 {
					return false
				}
				w.WriteHeader(http.StatusNotFound)
				return true
			}
			one := func(o *Options) { o.Connections = 1 }
			err := many(one).Fetch(t.Context(), artifact(data, s.URL), store, part, nil)
			contains(t, err, "404", "917504 of 1310720 bytes are kept")
			s.first = nil
			c.damage(t, physical)
			err = many(one).Fetch(t.Context(), artifact(data, s.URL), store, part, nil)
			must(t, err)
			holds(t, err, physical, data)
			got := s.header("Range")[15:]
			if c.want != "" {
				if got[0] != c.want {
					t.Errorf("first asked for %q, want %q", got[0], c.want)
				}
				got = got[1:]
			}
			if len(got) != 6 || got[0] != "bytes=917504-983039" {
				t.Errorf("ranges %q", got)
			}
		})
	}
}

func olderJournal(t *testing.T, physical string) {
	must(t, os.WriteFile(physical+".journal", []byte(`{"version":1,"offset":64,"sha256_state":"c2hhA2o="}`), 0o600))
}

// hugeServer serves an artifact of which it has only the end.
type hugeServer struct {
	size, from int64
	end        []byte
	mu         sync.Mutex
	lowest     int64
	sent       int64
	asked      time.Time // first
}

func (s *hugeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var from, to int64
	_, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to)
	s.mu.Lock()
	if s.asked.IsZero() {
		s.asked = time.Now()
	}
	s.lowest = min(s.lowest, from)
	s.sent += to + 1 - from
	s.mu.Unlock()
	if err != nil || from < s.from {
		http.Error(w, "only the end is here", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, s.size))
	w.WriteHeader(http.StatusPartialContent)
	w.Write(s.end[from-s.from : to+1-s.from])
}

// The part is sparse, and the journal's sha256 state is not that of its zeros:
// had the prefix been read, let alone hashed, the digest would be another.
func TestResumingFortyEightGigabytesReadsNoneOfThePrefix(t *testing.T) {
	t.Parallel()
	const chunk, chunks = int64(8 << 20), 5722 // 48 GB
	frontier := chunk * (chunks - 2)
	s := &hugeServer{size: frontier + 12<<20 + 77, from: frontier, lowest: 1 << 62}
	s.end = noise(int(s.size - s.from))

	start := sha256.New()
	start.Write(noise(64))
	saved := state(start)
	binary.BigEndian.PutUint64(saved[len(saved)-8:], uint64(frontier)) // so many bytes, says the state
	h := sha256.New()
	must(t, h.(encoding.BinaryUnmarshaler).UnmarshalBinary(saved))
	h.Write(s.end)

	store, physical := disk(t, nil)
	must(t, os.WriteFile(physical, nil, 0o600))
	must(t, os.Truncate(physical, frontier))
	zeros := crc32.Checksum(make([]byte, chunk), castagnoli)
	rec := record{SHA256: hex.EncodeToString(h.Sum(nil)), Size: s.size, Chunk: chunk, Hash: hashID, Frontier: frontier, State: saved}
	for range chunks - 2 {
		rec.CRC = binary.LittleEndian.AppendUint32(rec.CRC, zeros)
	}
	raw, err := rec.encode()
	must(t, err)
	if len(raw) > 64<<10 {
		t.Errorf("the journal is %d bytes long", len(raw))
	}
	must(t, os.WriteFile(physical+".journal", raw, 0o600))

	w := &watched{}
	c := watch(New(Options{}), w)
	a := Artifact{Name: "huge", Sources: []string{listen(t, s)}, Size: s.size, SHA256: rec.SHA256}
	began := time.Now()
	must(t, c.Fetch(t.Context(), a, store, part, nil))
	if wait := s.asked.Sub(began); wait > time.Second {
		t.Errorf("it asked for more after %s", wait)
	} else {
		t.Logf("it asked for more after %s", wait)
	}
	if s.lowest != frontier || s.sent != int64(len(s.end)) {
		t.Errorf("fetched %d bytes from %d on, want %d from %d", s.sent, s.lowest, len(s.end), frontier)
	}
	if most := recheckedChunks*chunk + int64(len(s.end)); w.read > most || w.lowest < frontier-recheckedChunks*chunk {
		t.Errorf("read %d bytes of the part from %d on", w.read, w.lowest)
	}
	if info, err := os.Stat(physical); err != nil || info.Size() != s.size {
		t.Errorf("the part: %v %v", info, err)
	}
	if _, err := os.Lstat(physical + ".journal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal: %v", err)
	}
}

// A record says what the chunks are, and nothing else is believed.
func TestARecordRestoresExactlyWhatItWasMadeOf(t *testing.T) {
	data := noise(1000)
	file, err := os.CreateTemp(t.TempDir(), "part")
	must(t, err)
	defer file.Close()
	c := newChunks(file, 1000, 64)
	for _, k := range []int{0, 1, 2, 5, 15} {
		must(t, c.land(k, data[c.start(k):c.start(k)+c.full(k)]))
	}
	must(t, c.land(3, data[3*64:3*64+10]))
	c.closing(true)
	must(t, c.hash(t.Context(), c.feeding(0)))
	var r record
	c.snapshot(&r)
	if r.Frontier != 3*64+10 || r.present() != 3*64+10+64+40 {
		t.Errorf("frontier %d, %d bytes", r.Frontier, r.present())
	}
	d := newChunks(file, 1000, 64)
	if !d.restore(r) || d.digest() != sum(data[:r.Frontier]) || d.present != c.present || fmt.Sprint(d.have) != fmt.Sprint(c.have) {
		t.Errorf("restored %v %d, want %v %d", d.have, d.present, c.have, c.present)
	}
	for name, spoil := range map[string]func(*record){
		"another size":          func(r *record) { r.Size++ },
		"another chunk":         func(r *record) { r.Chunk++ },
		"another hash":          func(r *record) { r.Hash += "x" },
		"a frontier beyond":     func(r *record) { r.Frontier = 4 * 64 },
		"a frontier below zero": func(r *record) { r.Frontier = -1 },
		"too few checksums":     func(r *record) { r.CRC = r.CRC[4:] },
		"too many checksums":    func(r *record) { r.CRC = append(r.CRC, 1, 2, 3, 4) },
		"an open whole":         func(r *record) { r.Open[0].Bytes = 64 },
		"an open twice":         func(r *record) { r.Open = append(r.Open, r.Open[0]) },
		"no open at the end":    func(r *record) { r.Open = nil },
		"a state of nothing":    func(r *record) { r.State = r.State[:20] },
	} {
		var bad record
		c.snapshot(&bad)
		spoil(&bad)
		if newChunks(file, 1000, 64).restore(bad) {
			t.Errorf("%s was believed", name)
		}
	}
}

// TestFullDiskBehindADirectWriteIsResumed has the disk refuse what was written behind
// the download, after a first part of it.
func TestFullDiskBehindADirectWriteIsResumed(t *testing.T) {
	t.Parallel()
	data := noise(40*bufferSize + 7)
	s := serve(t, &server{data: data, etag: `"a"`})
	s.first = func(w http.ResponseWriter, r *http.Request, n int) bool {
		if n > 3 {
			w.WriteHeader(http.StatusNotFound)
		}
		return n > 3
	}
	store, physical := disk(t, nil)
	one := func(o *Options) { o.Connections = 1; o.Chunk = 4 * bufferSize }
	contains(t, many(one).Fetch(t.Context(), artifact(data, s.URL), store, part, nil), "404")
	s.first = nil
	c := many(one)
	c.direct = func(*os.File) *os.File {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			return nil
		}
		return full
	}
	err := c.Fetch(t.Context(), artifact(data, s.URL), store, part, nil)
	contains(t, err, "on this machine", "no space left on device")
	must(t, many(one).Fetch(t.Context(), artifact(data, s.URL), store, part, nil))
	holds(t, nil, physical, data)
}
