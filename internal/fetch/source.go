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

// source is one place that has an artifact; each scheme has an implementation.
// It knows no digests, parts or journals.
type source interface {
	// open returns bytes [from, to) of an artifact of size bytes, or all of
	// them from 0 if from is 0 and the place has no ranges. It fails if the
	// content no longer matches seen. An error that is no refusal counts as
	// temporary.
	open(ctx context.Context, from, to, size int64, seen validator) (stream, error)
	// ranged reports whether concurrent ranges are allowed.
	ranged() bool
	// String names the place for people and journals, without secrets.
	String() string
}

// stream is the response to open.
type stream struct {
	body      io.ReadCloser
	from      int64 // start of body: as requested, or 0
	to        int64 // expected end; bytes after it are not read
	validator validator
}

// validator identifies the content of one place over time. The zero value
// identifies nothing.
type validator struct {
	ETag string `json:"etag,omitempty"` // strong ones only
}

// verdict is what a refusal means for the download.
type verdict int

const (
	nextSource verdict = iota // this source cannot serve it
	startAgain                // its content has changed
	wholeOnly                 // do not trust its ranges
	moved                     // no longer at this address
	expired                   // the source served it, but not at this address of the moment: ask for another
	notNow                    // perhaps later
)

// refusal is a response without the requested bytes.
type refusal struct {
	verdict verdict
	after   time.Duration // for notNow: not before
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
		return nil, fmt.Errorf("source is not a URL: %w", bare(err))
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
	return nil, fmt.Errorf("invalid source %q; use http(s)://, hf://, oci://, file:///, an absolute path or git::URL//path", place(u))
}

// Shown is source, an address or a path, without possible secrets.
func Shown(source string) string { return redacted(source) }

// place is u without possible secrets: user, query (signatures), fragment.
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

// openFile returns [from, to) of the regular file at path.
func openFile(path string, from, to, size int64) (stream, error) {
	info, err := os.Stat(path) // before opening: opening a pipe would block
	if err != nil {
		return stream{}, refuse(nextSource, "%w", err)
	}
	if !info.Mode().IsRegular() {
		return stream{}, refuse(nextSource, "is not a regular file")
	}
	if info.Size() != size {
		return stream{}, refuse(nextSource, "has %d bytes, but %d are pinned", info.Size(), size)
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
