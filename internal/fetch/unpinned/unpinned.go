// Package unpinned downloads a file of unknown size and digest, and returns
// both (trust on first use); from then on they can be pinned, and package fetch
// verifies them. It does not judge the content. Call Get.
package unpinned

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"aisync.dev/aisync/internal/fetch"
	"aisync.dev/aisync/internal/filelock"
	"aisync.dev/aisync/reconcile/fsys"
)

// MaxSize is the largest accepted response, in bytes.
const MaxSize = 16 << 30

// syncEvery is the number of bytes between syncs: what a loss of power costs.
var syncEvery int64 = 32 << 20

// tries is the number of consecutive failures before giving up, and pause the
// wait before the first retry; each further wait is twice as long.
var (
	tries = 4
	pause = time.Second
)

// Get downloads address into part, and returns its size and sha256. It may be
// killed anywhere and called again: it continues if the server has ranges and a
// strong ETag shows the same content; otherwise it starts over. It records its
// progress in part+".from", which is gone at the end. progress may be nil;
// total is 0 if the server does not report it.
func Get(ctx context.Context, client *http.Client, address string, store fsys.FS, part fsys.LogicalPath, progress func(done, total int64)) (size int64, digest string, err error) {
	f, err := store.OpenPart(part)
	if err != nil {
		return 0, "", err
	}
	defer filelock.Unlock(f)
	if err := filelock.Try(f, filelock.Exclusive); err != nil {
		return 0, "", fmt.Errorf("%s %w", place(address), fetch.ErrBusy)
	}
	g := &getting{client: client, address: address, store: store, file: f, note: part + ".from", progress: progress}
	if err := g.resume(); err != nil {
		return 0, "", err
	}
	for failed := 0; ; {
		was := g.done
		err := g.once(ctx)
		var final *refusal
		switch {
		case err == nil:
			return g.finish()
		case ctx.Err() != nil:
			return 0, "", errors.Join(ctx.Err(), g.save())
		case errors.As(err, &final):
			return 0, "", fmt.Errorf("%s: %w", place(address), err)
		}
		if failed++; g.done > was {
			failed = 1
		}
		if failed >= tries {
			return 0, "", errors.Join(fmt.Errorf("%s: %w", place(address), bare(err)), g.save())
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause << (failed - 1)):
		}
	}
}

// Size asks for the number of bytes at address.
func Size(ctx context.Context, client *http.Client, address string) (int64, error) {
	resp, err := ask(ctx, client, address, 0, 0, "")
	if err != nil {
		return 0, fmt.Errorf("%s: %w", place(address), bare(err))
	}
	defer resp.Body.Close()
	size := resp.ContentLength
	if resp.StatusCode == http.StatusPartialContent {
		_, total, _ := strings.Cut(resp.Header.Get("Content-Range"), "/")
		if size, err = strconv.ParseInt(total, 10, 64); err != nil {
			size = 0
		}
	}
	if size <= 0 {
		return 0, fmt.Errorf("%s does not report its size", place(address))
	}
	return size, nil
}

// errBeyond means that there are no more bytes than came: they may be complete,
// or of another file.
var errBeyond = errors.New("no bytes where the last try ended")

// refusal is a response that a retry does not change.
type refusal struct{ error }

type getting struct {
	client   *http.Client
	address  string
	store    fsys.FS
	file     *os.File
	note     fsys.LogicalPath
	progress func(done, total int64)

	done, saved int64  // bytes in place, and recorded
	etag        string // of the bytes; "" if the download cannot continue
}

// noted is the record of a part.
type noted struct {
	Address string `json:"address"`
	ETag    string `json:"etag"`
	Synced  int64  `json:"synced"`
}

// resume finds out how far an earlier call came.
func (g *getting) resume() error {
	b, err := g.store.ReadFile(g.note)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var n noted
	info, err := g.file.Stat()
	if err == nil && json.Unmarshal(b, &n) == nil && n.Address == place(g.address) && n.ETag != "" && n.Synced <= info.Size() {
		g.done, g.saved, g.etag = n.Synced, n.Synced, n.ETag
	}
	return err
}

// save syncs and records what has come.
func (g *getting) save() error {
	if g.etag == "" || g.done == g.saved {
		return nil
	}
	if err := g.file.Sync(); err != nil {
		return err
	}
	b, err := json.Marshal(noted{place(g.address), g.etag, g.done})
	if err != nil {
		return err
	}
	expect := fsys.Expect{Absent: true}
	if digest, _, err := g.store.Digest(g.note); err == nil {
		expect = fsys.Expect{Digest: digest}
	}
	g.saved = g.done
	return g.store.Replace(g.note, fsys.Content{Bytes: b, Mode: 0o600}, expect, nil)
}

// once requests what is missing and writes what comes.
func (g *getting) once(ctx context.Context) error {
	if g.etag == "" {
		g.done, g.saved = 0, 0
	}
	resp, err := ask(ctx, g.client, g.address, g.done, -1, g.etag)
	if errors.Is(err, errBeyond) {
		g.etag = ""
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	total := resp.ContentLength
	if from := "bytes " + strconv.FormatInt(g.done, 10) + "-"; resp.StatusCode == http.StatusOK {
		g.done, g.saved, g.etag = 0, 0, strong(resp.Header)
	} else if !strings.HasPrefix(resp.Header.Get("Content-Range"), from) {
		g.done, g.saved, g.etag = 0, 0, ""
		return fmt.Errorf("requested %s, got %q", from, resp.Header.Get("Content-Range"))
	} else if total >= 0 {
		total += g.done
	}
	if err := g.file.Truncate(g.done); err != nil {
		return &refusal{err}
	}
	if total > MaxSize {
		return &refusal{fmt.Errorf("has %d bytes, more than a release may", total)}
	}
	return g.write(ctx, resp.Body, max(total, 0))
}

func (g *getting) write(ctx context.Context, body io.Reader, total int64) error {
	buf := make([]byte, 256<<10)
	for shown := time.Now(); ; {
		n, err := body.Read(buf)
		if _, failed := g.file.WriteAt(buf[:n], g.done); failed != nil {
			return &refusal{failed}
		}
		g.done += int64(n)
		if g.done > MaxSize {
			return &refusal{fmt.Errorf("has more than %d bytes", int64(MaxSize))}
		}
		if g.done-g.saved >= syncEvery {
			if err := g.save(); err != nil {
				return &refusal{err}
			}
		}
		if g.progress != nil && (err != nil || time.Since(shown) > 100*time.Millisecond) {
			shown = time.Now()
			g.progress(g.done, total)
		}
		switch {
		case err == io.EOF && total > 0 && g.done < total:
			return io.ErrUnexpectedEOF
		case err == io.EOF && g.done == 0:
			return &refusal{errors.New("answered with nothing")}
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// finish syncs the file and reads it once more: what is pinned is what lies on
// disk.
func (g *getting) finish() (int64, string, error) {
	if err := g.file.Sync(); err != nil {
		return 0, "", err
	}
	h := sha256.New()
	n, err := io.Copy(h, io.NewSectionReader(g.file, 0, g.done))
	if err != nil {
		return 0, "", err
	}
	if info, err := g.store.Lstat(g.note); err == nil {
		if err := g.store.Discard(g.note, info); err != nil {
			return 0, "", err
		}
	}
	return n, hex.EncodeToString(h.Sum(nil)), nil
}

// ask requests the bytes from from on, up to and including to if that is not
// negative, of the content with that etag. Its response has bytes.
func ask(ctx context.Context, client *http.Client, address string, from, to int64, etag string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, &refusal{bare(err)}
	}
	req.Header.Set("Accept-Encoding", "identity")
	switch {
	case to >= 0:
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, to))
	case from > 0:
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
		req.Header.Set("If-Range", etag)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, bare(err)
	}
	switch code := resp.StatusCode; {
	case code == http.StatusOK, code == http.StatusPartialContent:
		return resp, nil
	case code == http.StatusRequestedRangeNotSatisfiable && from > 0:
		err = errBeyond
	case code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout:
		err = fmt.Errorf("answered %s", resp.Status)
	default:
		err = &refusal{fmt.Errorf("answered %s", resp.Status)}
	}
	resp.Body.Close()
	return nil, err
}

// strong is the ETag of a response, if it is a strong one.
func strong(h http.Header) string {
	if etag := h.Get("ETag"); strings.HasPrefix(etag, `"`) {
		return etag
	}
	return ""
}

// place is an address without possible secrets.
func place(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(no URL)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// bare removes the address, which may be signed, from an error.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
