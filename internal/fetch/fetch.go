// Package fetch downloads artifacts of known size and sha256 into part files,
// resumably and verified while they are written, and source trees into folders.
// It never reports success for other bytes, and never publishes a file under
// its final name. Start reading at Fetcher, then run.go.
package fetch

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"aisync.dev/aisync/internal/fetch/partfile"
	"aisync.dev/aisync/internal/filelock"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Artifact is one file of known content. The digest decides: sources are not
// trusted.
type Artifact struct {
	Name    string   // for messages
	Sources []string // tried in order: http(s)://, file:///, an absolute path, git::URL//path?ref=, what Options.Resolve knows
	Size    int64    // bytes, more than 0
	SHA256  string   // 64 hex digits

	// Mirrors are those of Sources that are left for the next one after two tries, and
	// tried last for a while once they did not answer.
	Mirrors []string
	// Tried is called with each source that was given up and why, and with nil for the
	// one that completed the file; may be nil.
	Tried func(source string, failed error)
}

// Fetcher is the interface of downloads for the rest of the program. Client
// downloads; Offline refuses.
type Fetcher interface {
	// Fetch returns nil if and only if part holds exactly a.Size bytes whose
	// sha256 is a.SHA256; they are then synced and part+".journal" is gone. It
	// may be killed anywhere and called again: what the journal recorded is
	// neither fetched nor read again, except the last chunks before the hash's
	// frontier and all after it, which show whether the disk lost writes; a
	// byte before them that rots between two runs goes unseen here. The space
	// for all of part is reserved before the first request; if there is none,
	// the error wraps ENOSPC. Fetch returns ErrBusy while another process
	// fetches into part, and ErrMismatch if a source served other bytes and
	// none the right ones; those are thrown away, so that the next call starts
	// over. After any other error, what has come is kept.
	//
	// progress, if not nil, is called at most every 100 ms and at the end,
	// never concurrently, with the number of bytes in place; it goes back if a
	// source makes the download start again.
	Fetch(ctx context.Context, a Artifact, fs Store, part fsys.LogicalPath, progress func(done, total int64)) error
	// Tree fetches a git repository (git::URL?ref=…) or an archive (URL) into
	// the folder dst, which must not exist while its parent must. //sub in src
	// takes only that folder of it. A repository's history comes along in .git,
	// at the fetched commit; submodules do not. An archive may hold folders,
	// files and links that stay inside, 50,000 of them and 512 MB unpacked. It
	// never asks for a password, and gives up a silent host. A kill leaves a
	// folder .BASE.fetch-* beside dst, and no dst.
	Tree(ctx context.Context, src, dst string) error
}

// Store is the part of fsys.FS that a download needs.
type Store interface {
	OpenPart(p fsys.LogicalPath) (*os.File, error)
	Physical(p fsys.LogicalPath) (string, error)
	ReadDir(p fsys.LogicalPath) ([]fs.DirEntry, error)
	ReadFile(p fsys.LogicalPath) ([]byte, error)
	Replace(p fsys.LogicalPath, content fsys.Content, expect fsys.Expect, keep fsys.Keep) error
	Remove(p fsys.LogicalPath, expect fsys.Expect, keep fsys.Keep) error
	Flush() error
}

var (
	// ErrOffline means that the network is required but must not be used.
	ErrOffline = reconcile.ErrOffline
	// ErrBusy means that another process is fetching into the same part.
	ErrBusy = errors.New("already being fetched")
	// ErrMismatch means that a source served bytes with another digest.
	ErrMismatch = errors.New("sha256 mismatch")
)

// Fetch implements Fetcher.
func (c *Client) Fetch(ctx context.Context, a Artifact, store Store, part fsys.LogicalPath, progress func(done, total int64)) error {
	if err := a.check(); err != nil {
		return fmt.Errorf("fetch %s: %w", a.Name, err)
	}
	file, err := lockPart(store, part)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", a.Name, err)
	}
	defer filelock.Unlock(file)
	sweep(store, journalPath(part))
	written := partfile.New(file, c.direct(file))
	defer written.End()
	d := &download{
		client:  c,
		a:       a,
		part:    part,
		file:    written,
		chunks:  newChunks(c.wrap(written), a.Size, c.chunkOf(a.Size)),
		journal: &journal{store: store, path: journalPath(part), file: written, now: c.now, bytes: c.journalBytes, every: c.journalEvery, none: c.volatile},
		notes:   notes{store: store, path: notesPath(part), none: c.volatile},
		meter:   meter{now: c.now, show: progress, total: a.Size},
	}
	defer d.notes.close()
	if err := d.run(ctx); err != nil {
		return fmt.Errorf("fetch %s: %w", a.Name, err)
	}
	return nil
}

// check refuses an artifact that cannot be verified.
func (a Artifact) check() error {
	if raw, err := hex.DecodeString(a.SHA256); err != nil || len(raw) != 32 {
		return fmt.Errorf("sha256 %q is not 64 hex digits: its content must be pinned first", a.SHA256)
	}
	if a.Size <= 0 {
		return fmt.Errorf("size %d is not known: it must be pinned first", a.Size)
	}
	if len(a.Sources) == 0 {
		return errors.New("no source")
	}
	return nil
}

const (
	reachPatience = 15 * time.Second // for all sources of one artifact
	reachPause    = 500 * time.Millisecond
	headStart     = 2 * time.Second // of mirrors that do not answer
)

// Reach asks all sources of a at once for its first byte, but mirrors first, and
// returns nil when one of them could serve a: it has an accessible file of that size, or
// is only busy. Otherwise the error gives the reason of each. It writes nothing, and
// does not ask git sources.
func (c *Client) Reach(ctx context.Context, a Artifact) error {
	if err := a.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reachPatience, fmt.Errorf("no answer within %s", reachPatience))
	defer cancel()
	type answer struct {
		i   int
		err error
	}
	answers := make(chan answer, len(a.Sources))
	waiting, others := len(a.Mirrors), make(chan struct{})
	start := sync.OnceFunc(func() { close(others) })
	if waiting == 0 {
		start()
	}
	defer time.AfterFunc(headStart, start).Stop()
	for i, raw := range a.Sources {
		go func() {
			if !slices.Contains(a.Mirrors, raw) {
				select {
				case <-others:
				case <-ctx.Done():
				}
			}
			answers <- answer{i, c.reach(ctx, raw, a)}
		}()
	}
	failures := make([]error, len(a.Sources))
	for range a.Sources {
		x := <-answers
		if x.err == nil {
			return nil
		}
		failures[x.i] = x.err
		if slices.Contains(a.Mirrors, a.Sources[x.i]) {
			if waiting--; waiting == 0 {
				start()
			}
		}
	}
	return errors.Join(failures...)
}

// reach asks one source, twice if the first failure may pass.
func (c *Client) reach(ctx context.Context, raw string, a Artifact) error {
	if strings.HasPrefix(raw, "git::") {
		return nil
	}
	src, err := c.source(raw, a)
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		st, err := src.open(ctx, 0, 1, a.Size, validator{})
		if err == nil {
			st.body.Close()
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", src, context.Cause(ctx))
		}
		var r *refusal
		switch refused := errors.As(err, &r); {
		case refused && (r.verdict == notNow || r.verdict == wholeOnly):
			return nil // it exists, and Fetch can deal with it
		case refused && r.verdict == nextSource, try > 0:
			return fmt.Errorf("%s: %w", src, err)
		}
		if err := c.sleep(ctx, reachPause); err != nil {
			return fmt.Errorf("%s: %w", src, context.Cause(ctx))
		}
	}
}

// Offline is the Fetcher of a program that must not use the network. Every call
// fails with an error that wraps ErrOffline, without side effects.
type Offline struct{}

// Fetch implements Fetcher.
func (Offline) Fetch(_ context.Context, a Artifact, _ Store, _ fsys.LogicalPath, _ func(done, total int64)) error {
	return fmt.Errorf("fetch %s (%d bytes): %w", a.Name, a.Size, ErrOffline)
}

// Tree implements Fetcher.
func (Offline) Tree(_ context.Context, src, _ string) error {
	return fmt.Errorf("fetch %s: %w", redacted(src), ErrOffline)
}
