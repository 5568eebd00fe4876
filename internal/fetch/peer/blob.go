package peer

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// blob serves one file with ranges. Its digest is its ETag, because it never
// changes.
func (h *handler) blob(w http.ResponseWriter, r *http.Request, sha256 string) {
	path, size, ok := h.store.Find(sha256)
	if !ok {
		http.NotFound(w, r)
		return
	}
	f, err := os.Open(path)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	// A file that is being written, or has changed since its verification, is
	// not shared.
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() != size {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream") // never sniffed
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("ETag", `"`+sha256+`"`)
	http.ServeContent(w, r, "", time.Time{}, f)
}

// Access is one request and its response.
type Access struct {
	Time   time.Time
	Remote string
	Method string
	Path   string // as sent; untrusted
	Range  string
	Status int
	Bytes  int64 // bytes of the body sent
	Took   time.Duration
}

// String is one line without control characters.
func (a Access) String() string {
	return fmt.Sprintf("%s %s %s %q %q %d %d %s", a.Time.UTC().Format(time.RFC3339), a.Remote, safe(a.Method), a.Path, a.Range, a.Status, a.Bytes, a.Took.Round(time.Millisecond))
}

// safe quotes a method that is not a plain word.
func safe(method string) string {
	for _, r := range method {
		if r < 'A' || r > 'Z' {
			return fmt.Sprintf("%q", method)
		}
	}
	return method
}

// logged reports every response to access.
func logged(next http.Handler, access func(Access)) http.Handler {
	if access == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := Access{Time: time.Now(), Remote: r.RemoteAddr, Method: r.Method, Path: r.URL.Path, Range: r.Header.Get("Range")}
		counted := &counter{ResponseWriter: w, access: &a}
		defer func() {
			a.Took = time.Since(a.Time)
			access(a)
		}()
		next.ServeHTTP(counted, r)
	})
}

// counter counts status and bytes. It passes ReadFrom on, so that files are
// sent by sendfile.
type counter struct {
	http.ResponseWriter
	access *Access
}

func (c *counter) WriteHeader(status int) {
	if c.access.Status == 0 {
		c.access.Status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

func (c *counter) Write(p []byte) (int, error) {
	c.began()
	n, err := c.ResponseWriter.Write(p)
	c.access.Bytes += int64(n)
	return n, err
}

// ReadFrom implements io.ReaderFrom.
func (c *counter) ReadFrom(r io.Reader) (int64, error) {
	c.began()
	n, err := io.Copy(c.ResponseWriter, r)
	c.access.Bytes += n
	return n, err
}

func (c *counter) began() {
	if c.access.Status == 0 {
		c.access.Status = http.StatusOK
	}
}
