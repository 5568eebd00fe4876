package fetch

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// source is one place that has an artifact; there is one implementation a
// scheme. It knows nothing of digests, parts or journals.
type source interface {
	// open yields bytes [from, to) of an artifact of size bytes, or all of
	// them from 0 where from is 0 and the place cannot do ranges. seen is what
	// the place said of its content before; where it says something else now,
	// open fails. Every error that is not a refusal may pass by itself.
	open(ctx context.Context, from, to, size int64, seen validator) (stream, error)
	// ranged reports whether several ranges may be asked for at a time.
	ranged() bool
	// String names the place for people and journals, without any secret.
	String() string
}

// stream is an answer to open.
type stream struct {
	body      io.ReadCloser
	from      int64 // where body starts: as asked, or 0
	to        int64 // where it should end; what comes after is not read
	validator validator
}

// validator identifies the content of one place over time. The zero value
// identifies nothing.
type validator struct {
	ETag string `json:"etag,omitempty"` // strong ones only
}

// verdict says what a refusal means for the download.
type verdict int

const (
	nextSource verdict = iota // this source cannot serve it
	startAgain                // its content is another one than before
	wholeOnly                 // it cannot be trusted with ranges
	moved                     // not at this address any more
	notNow                    // later perhaps
)

// refusal is an answer that is not the bytes that were asked for.
type refusal struct {
	verdict verdict
	after   time.Duration // of notNow: not before
	err     error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func refuse(v verdict, format string, args ...any) error {
	return &refusal{verdict: v, err: fmt.Errorf(format, args...)}
}

// source returns the source that serves raw, for a.
func (c *Client) source(raw string, a Artifact) (source, error) {
	if filepath.IsAbs(raw) {
		return fileSource(filepath.Clean(raw)), nil
	}
	if strings.HasPrefix(raw, "git::") {
		return &treeSource{client: c, src: raw}, nil
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("source is no URL: %w", bare(err))
	}
	switch {
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		plain := func(context.Context) (address, error) { return address{url: u}, nil }
		return c.httpSource(place(u), plain), nil
	case u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") && filepath.IsAbs(u.Path):
		return fileSource(filepath.Clean(u.Path)), nil
	}
	if r := c.resolvers[u.Scheme]; r != nil {
		return c.httpSource(place(u), func(ctx context.Context) (address, error) {
			return resolved(ctx, r, raw, a.Size, a.SHA256)
		}), nil
	}
	return nil, fmt.Errorf("source %q is not understood; use http(s)://, hf://, oci://, file:///, an absolute path or git::URL//path", place(u))
}

// place is u without what may be secret: user, query (signatures), fragment.
func place(u *url.URL) string {
	p := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, Opaque: u.Opaque}
	return p.String()
}

// fileSource is an absolute path on this machine.
type fileSource string

func (s fileSource) String() string { return string(s) }

func (s fileSource) ranged() bool { return false }

// open implements source.
func (s fileSource) open(_ context.Context, from, to, size int64, _ validator) (stream, error) {
	return openFile(string(s), from, to, size)
}

// openFile yields [from, to) of the regular file at path.
func openFile(path string, from, to, size int64) (stream, error) {
	info, err := os.Stat(path) // before opening: a pipe would block
	if err != nil {
		return stream{}, refuse(nextSource, "%w", err)
	}
	if !info.Mode().IsRegular() {
		return stream{}, refuse(nextSource, "is not a regular file")
	}
	if info.Size() != size {
		return stream{}, refuse(nextSource, "has %d bytes, not the %d that are pinned", info.Size(), size)
	}
	f, err := os.Open(path)
	if err != nil {
		return stream{}, refuse(nextSource, "%w", err)
	}
	body := struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(f, from, to-from), f}
	return stream{body: body, from: from, to: to}, nil
}
