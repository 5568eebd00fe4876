package fetch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"aisync.dev/aisync/reconcile/fsys"
)

// oneFile is the one file of a folder.
type oneFile []byte

func (k oneFile) ReadFile(fsys.LogicalPath) ([]byte, error) { return k, nil }

// sealed is a journal with the right checksum: what it says may be anything.
func sealed(text []byte) []byte {
	var r record
	if json.Unmarshal(text, &r) != nil {
		return text
	}
	r.Version, r.Checksum = recordVersion, ""
	plain, err := json.Marshal(r)
	if err != nil {
		return text
	}
	sum := sha256.Sum256(plain)
	r.Checksum = hex.EncodeToString(sum[:])
	out, err := json.Marshal(r)
	if err != nil {
		return text
	}
	return out
}

// A journal that is believed describes a part that can be: no chunk outside of
// it, no more bytes than it has, a sum that goes on where it says.
func FuzzJournal(f *testing.F) {
	const size, length = 1000, 100
	content := bytes.Repeat([]byte("0123456789"), size/10)
	c := newChunks(&memoryFile{content}, size, length)
	for k := range 4 {
		if err := c.land(k, content[k*length:(k+1)*length]); err != nil {
			f.Fatal(err)
		}
	}
	if err := c.land(5, content[5*length:5*length+30]); err != nil {
		f.Fatal(err)
	}
	r := record{SHA256: "00", Source: "s", Seen: validator{ETag: `"a"`}}
	c.snapshot(&r)
	seed, err := r.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed, int64(size))
	f.Add([]byte(`{"size":1000,"chunk":9223372036854775807,"hash":"`+hashID+`","frontier":5}`), int64(size))
	f.Add([]byte(`{"size":1000,"chunk":100,"frontier":1000,"done":"/w==","open":[{"chunk":-1,"bytes":3}]}`), int64(size))
	f.Fuzz(func(t *testing.T, text []byte, size int64) {
		if size <= 0 || size > 1<<20 {
			return
		}
		text = sealed(text)
		rec, err := decode(text)
		if err != nil {
			return
		}
		if n, ok := Kept(oneFile(text), "part"); ok && (n < 0 || n > rec.Size) {
			t.Fatalf("%d bytes are kept of %d", n, rec.Size)
		}
		if !rec.plausible(size) {
			return
		}
		c := newChunks(&memoryFile{}, size, rec.Chunk)
		if !c.restore(rec) {
			return
		}
		present := int64(0)
		for k, s := range c.have {
			if s.n < 0 || s.n > c.full(k) {
				t.Fatalf("chunk %d has %d bytes of %d", k, s.n, c.full(k))
			}
			present += s.n
		}
		if present != c.present || present > size || c.end() > size || c.missing() > size || c.hashed > size {
			t.Fatalf("%d and %d bytes of %d, hashed %d", present, c.present, size, c.hashed)
		}
	})
}

// memoryFile is the part.
type memoryFile struct{ b []byte }

func (m *memoryFile) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(m.b).ReadAt(p, off)
}

func (m *memoryFile) WriteAt(p []byte, off int64) (int, error) {
	if need := int(off) + len(p); need > len(m.b) {
		m.b = append(m.b, make([]byte, need-len(m.b))...)
	}
	return copy(m.b[off:], p), nil
}

// Whatever the head of an answer says, its bytes are taken for those that were
// asked for, or it is refused; and no wait is negative.
func FuzzAnswer(f *testing.F) {
	f.Add(206, "bytes 10-19/100", "", `"a"`, "", int64(10), int64(10), int64(20), int64(100))
	f.Add(200, "", "gzip", `W/"a"`, "120", int64(100), int64(0), int64(100), int64(100))
	f.Add(416, "bytes */99", "", "", "Wed, 21 Oct 2065 07:28:00 GMT", int64(-1), int64(10), int64(20), int64(100))
	f.Add(503, "bytes 9223372036854775807-9223372036854775807/9223372036854775807", "identity", `"b"`, "99999999999", int64(0), int64(0), int64(1), int64(1))
	at, err := url.Parse("https://example.org/file")
	if err != nil {
		f.Fatal(err)
	}
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	s := &httpSource{now: func() time.Time { return now }}
	f.Fuzz(func(t *testing.T, code int, contentRange, encoding, etag, after string, length, from, to, size int64) {
		if from < 0 || to <= from || size < to {
			return
		}
		ranged := from > 0 || to < size
		resp := &http.Response{
			StatusCode: code, Status: http.StatusText(code), ContentLength: length, Request: &http.Request{URL: at},
			Header: http.Header{"Content-Range": {contentRange}, "Content-Encoding": {encoding}, "Etag": {etag}, "Retry-After": {after}},
		}
		if d := retryAfter(after, now); d < 0 {
			t.Fatalf("wait %s", d)
		}
		st, err := s.accept(resp, from, to, size, ranged, validator{ETag: `"a"`})
		if err != nil {
			return
		}
		switch {
		case st.from != from || st.to <= st.from || st.to > size:
			t.Fatalf("bytes %d-%d of %d, asked for %d-%d", st.from, st.to, size, from, to)
		case code == http.StatusPartialContent && st.to > to:
			t.Fatalf("more than was asked for: up to %d, not %d", st.to, to)
		case st.validator.ETag != "" && st.validator.ETag != `"a"`:
			t.Fatalf("another content, %s", st.validator.ETag)
		}
	})
}
