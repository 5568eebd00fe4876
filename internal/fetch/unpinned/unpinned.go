// Package unpinned fetches what nothing is known of yet: from then on its size
// and sha256 can be pinned, and package fetch does the rest. It says nothing
// of whether what came is what its makers meant. Start reading at Get.
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

// Most is how many bytes an answer may have.
const Most = 16 << 30

// every is how many bytes may come before they are synced and noted: what a
// loss of power costs.
var every int64 = 32 << 20

// tries in a row that bring nothing before it is given up, and the pause
// before the first of them; each next one is twice as long.
var (
	tries = 4
	pause = time.Second
)

// Get brings what address holds into part, and returns its size and sha256. It
// may be killed anywhere and called again: it goes on where it was if the
// server has ranges and says that its content is the same, by a strong ETag;
// else it starts anew. What has come is noted in part+".from", which is gone at
// the end. progress may be nil; total is 0 where the server does not say it.
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

// Size asks how many bytes address holds.
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
	if size <= 0 || size > Most {
		return 0, fmt.Errorf("%s does not say how large it is", place(address))
	}
	return size, nil
}

// errBeyond says that there are no more bytes than have come: what came may be
// all, or of something else.
var errBeyond = errors.New("has no bytes where the last try ended")

// refusal is an answer that another try does not change.
type refusal struct{ error }

type getting struct {
	client   *http.Client
	address  string
	store    fsys.FS
	file     *os.File
	note     fsys.LogicalPath
	progress func(done, total int64)

	done, saved int64  // bytes that are in place, and that are noted
	etag        string // of what they are of; "" where it cannot be gone on with
}

// noted is what a part is of.
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

// save syncs what has come and notes it.
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

// once asks for what is missing and writes what comes.
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
		return fmt.Errorf("was asked for %s and answered %q", from, resp.Header.Get("Content-Range"))
	} else if total >= 0 {
		total += g.done
	}
	if err := g.file.Truncate(g.done); err != nil {
		return &refusal{err}
	}
	if total > Most {
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
		if g.done > Most {
			return &refusal{fmt.Errorf("has more than %d bytes", int64(Most))}
		}
		if g.done-g.saved >= every {
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

// finish syncs the whole and reads it once more: what is pinned is what lies there.
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

// ask asks for the bytes from from on, up to and with to where that is not
// less than 0, of the content that etag names. Its answer brings bytes.
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

// strong is the ETag of an answer, where it identifies its bytes.
func strong(h http.Header) string {
	if etag := h.Get("ETag"); strings.HasPrefix(etag, `"`) {
		return etag
	}
	return ""
}

// place is an address without what may be secret.
func place(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(no URL)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// bare takes the address out of an error: it may be signed.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
