package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile/fsys"
)

// AdoptOptions limit what Adopt may do.
type AdoptOptions struct {
	DryRun   bool // only look
	Copy     bool // allow a second copy if the bytes cannot be shared
	Progress func(file fsys.LogicalPath, done, total int64)
}

// Adopted is a wanted file that was found elsewhere, or why it was not taken.
type Adopted struct {
	Held
	Program string
	From    fsys.LogicalPath // "" if none was found
	How     string           // "hardlink", "reflink", "copy"; "" if nothing was done
	Why     string           // the reason for a person, if nothing was done
}

// searchDepth bounds the search below a folder; the hub's cache needs 2, LM
// Studio 3.
const searchDepth = 8

// Adopt finds files that other programs have already fetched, reads each once,
// and gives the right ones a name in the store. It writes nowhere else. The
// next apply makes the other names without reading the files again.
func Adopt(ctx context.Context, w fsys.FS, dir fsys.LogicalPath, held []Held, places []Location, o AdoptOptions) ([]Adopted, error) {
	var out []Adopted
	want := map[string]Held{} // by sha256
	for _, h := range held {
		f, err := state(w, dir, h)
		switch {
		case err != nil:
			return nil, err
		case !h.Wanted || f.State != Unpinned && f.State != Missing && f.State != Partial:
		case h.SHA256 == "":
			out = append(out, Adopted{Held: h, Why: "it is not pinned yet; " + advice.LockOnline})
		default:
			want[strings.ToLower(h.SHA256)] = h
		}
	}
	for _, place := range places {
		var hits []Adopted
		err := walk(w, place.Dir, searchDepth, func(p fsys.LogicalPath, info fs.FileInfo) {
			if within(dir, p) || !info.Mode().IsRegular() {
				return
			}
			for _, h := range candidates(want, p.Base(), info.Size()) {
				hits = append(hits, Adopted{Held: h, Program: place.Program, From: p})
			}
		})
		if err != nil {
			out = append(out, Adopted{Program: place.Program, From: place.Dir, Why: err.Error()})
		}
		for _, a := range hits {
			if _, still := want[strings.ToLower(a.SHA256)]; !still {
				continue
			}
			if err := a.take(ctx, w, dir, o); err != nil {
				return append(out, a), err
			}
			if a.How != "" || o.DryRun {
				delete(want, strings.ToLower(a.SHA256))
			}
			out = append(out, a)
		}
	}
	return out, nil
}

// candidates are the wanted files that a file of that name and size may be: a
// name that is a digest decides; otherwise size and extension decide whether to
// read it.
func candidates(want map[string]Held, name string, size int64) []Held {
	digest := strings.TrimPrefix(strings.ToLower(name), "sha256-")
	if _, err := hex.DecodeString(digest); err == nil && len(digest) == 64 {
		if h, ok := want[digest]; ok && h.Size == size {
			return []Held{h}
		}
		return nil
	}
	var out []Held
	for _, h := range want {
		base := h.Path.Base()
		alike := strings.HasSuffix(strings.ToLower(name), strings.ToLower(base)) || strings.EqualFold(path.Ext(name), path.Ext(base))
		if h.Size == size && alike {
			out = append(out, h)
		}
	}
	return out
}

// take brings the file into the store, and fills How or Why.
func (a *Adopted) take(ctx context.Context, w fsys.FS, dir fsys.LogicalPath, o AdoptOptions) error {
	blob := Blob(dir, a.SHA256)
	if o.DryRun {
		a.Why = fmt.Sprintf("would be verified (%d bytes to read) and linked", a.Size)
		return nil
	}
	before, err := w.Lstat(a.From)
	if err != nil {
		a.Why = err.Error()
		return nil
	}
	sum, err := Hash(ctx, w, a.From, func(done, total int64) {
		if o.Progress != nil {
			o.Progress(a.From, done, total)
		}
	})
	if err == nil && !strings.EqualFold(sum, a.SHA256) {
		err = fmt.Errorf("sha256 mismatch: want %s, got %s", a.SHA256, sum)
	}
	if err == nil {
		err = CheckGGUF(w, a.From, a.Path.Base())
	}
	if err == nil {
		if after, lerr := w.Lstat(a.From); lerr != nil || !StatOf(before).Of(after) {
			err = errors.New("changed while it was read")
		}
	}
	if err != nil {
		a.Why = err.Error()
		return ctx.Err()
	}
	if _, err := MakeDir(w, dir, blob.Dir()); err != nil {
		return err
	}
	switch err := a.share(w, dir, blob, o.Copy); {
	case errors.Is(err, fsys.ErrCannotShare):
		a.Why = fmt.Sprintf("the store cannot share its bytes (another file system or owner), so %d bytes would be copied; %s", a.Size, advice.WithCopy)
		return nil
	case err != nil:
		return fmt.Errorf("adopt %s: %w", a.From, err)
	}
	info, err := w.Lstat(blob)
	if err != nil {
		return err
	}
	return Mark(w, dir, a.SHA256, info)
}

func (a *Adopted) share(w fsys.FS, dir, blob fsys.LogicalPath, copies bool) error {
	a.How = string(HardLink)
	err := w.Link(a.From, blob)
	if errors.Is(err, fsys.ErrCannotShare) {
		a.How = string(RefLink)
		err = w.Clone(a.From, blob, BlobMode(w, dir))
	}
	if errors.Is(err, fsys.ErrCannotShare) && copies {
		a.How = "copy"
		err = duplicate(w, dir, a.From, blob, a.SHA256)
	}
	if err != nil {
		a.How = ""
	}
	return err
}

// duplicate copies from into the store and verifies the copy.
func duplicate(w fsys.FS, dir, from, blob fsys.LogicalPath, want string) error {
	sum := sha256.New()
	open := func() (io.ReadCloser, error) {
		f, err := w.Open(from)
		return &hashed{f, sum}, err
	}
	if err := w.Replace(blob, fsys.Content{From: open, Mode: BlobMode(w, dir)}, fsys.Expect{Absent: true}, nil); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); !strings.EqualFold(got, want) {
		info, err := w.Lstat(blob)
		if err == nil {
			err = w.Discard(blob, info)
		}
		return errors.Join(fmt.Errorf("sha256 mismatch in the copy: want %s, got %s; the disk or the memory of this machine may be failing", want, got), err)
	}
	return nil
}

// hashed hashes a file while it is read.
type hashed struct {
	io.ReadCloser
	sum hash.Hash
}

func (h *hashed) Read(b []byte) (int, error) {
	n, err := h.ReadCloser.Read(b)
	h.sum.Write(b[:n])
	return n, err
}
