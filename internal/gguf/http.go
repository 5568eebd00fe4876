package gguf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// HTTP returns a reader of a file of size bytes at address: one Range request
// for every ReadAt, with header. A response counts only if it is exactly the
// requested range, of a file of that size, unencoded. Errors name the status,
// never the address or the header, which may be secret.
func HTTP(ctx context.Context, client *http.Client, address string, header http.Header, size int64) io.ReaderAt {
	return &ranged{ctx, client, address, header, size}
}

type ranged struct {
	ctx     context.Context
	client  *http.Client
	address string
	header  http.Header
	size    int64
}

// ReadAt implements io.ReaderAt.
func (r *ranged) ReadAt(p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if off < 0 || off >= r.size {
		return 0, io.EOF
	}
	end := min(off+int64(len(p)), r.size)
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, r.address, nil)
	if err != nil {
		return 0, fmt.Errorf("invalid model address")
	}
	for k, v := range r.header {
		req.Header[k] = v
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, end-1))
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := r.client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", req.URL.Host, cause(err))
	}
	defer resp.Body.Close()
	want := fmt.Sprintf("bytes %d-%d/%d", off, end-1, r.size)
	switch got := resp.Header.Get("Content-Range"); {
	case resp.StatusCode == http.StatusOK:
		return 0, fmt.Errorf("%s sends whole files only (200 to a range), so the header cannot be read alone", req.URL.Host)
	case resp.StatusCode != http.StatusPartialContent:
		return 0, fmt.Errorf("%s answered %s", req.URL.Host, resp.Status)
	case got != want:
		return 0, fmt.Errorf("%s sent %q, requested %q; its file is a different one", req.URL.Host, got, want)
	case resp.Header.Get("Content-Encoding") != "":
		return 0, fmt.Errorf("%s sent the file encoded as %q", req.URL.Host, resp.Header.Get("Content-Encoding"))
	}
	n, err := io.ReadFull(resp.Body, p[:end-off])
	if err != nil {
		return n, fmt.Errorf("%s sent %d of %d bytes: %w", req.URL.Host, n, end-off, errShort)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// errShort is not io.ErrUnexpectedEOF, which would speak of the file's end.
var errShort = errors.New("the connection ended")

// cause is an error without the address, which may be signed.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
