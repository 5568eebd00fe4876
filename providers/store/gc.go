package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"aisync.dev/aisync/internal/filelock"
	"aisync.dev/aisync/reconcile/fsys"
)

// Garbage is something in a store that no known spec or record wants.
type Garbage struct {
	Path    fsys.LogicalPath
	Size    int64
	Kind    string // "blob", "part", "view" (a dangling link)
	Removed bool   // or would be
	Kept    string // why it is not removed, for a person
}

// GCOptions say what may go.
type GCOptions struct {
	DryRun bool
	Parts  time.Duration // unwanted parts written to within this time stay
	Now    time.Time
}

// GC removes what no spec and no record wants: blobs without another name,
// abandoned downloads, dangling links. It never removes what another name,
// another user or another process uses, and reports it. held must hold the
// records of every owner.
func GC(w fsys.FS, dir fsys.LogicalPath, held []Held, o GCOptions) ([]Garbage, error) {
	found, err := loose(w, dir, held, o)
	if err != nil || o.DryRun {
		return plain(found), err
	}
	var errs []error
	for i := range found {
		g := &found[i]
		if !g.Removed {
			continue
		}
		if err := w.Discard(g.Path, g.info); err != nil && !errors.Is(err, fs.ErrNotExist) {
			g.Removed, g.Kept = false, err.Error()
			errs = append(errs, err)
		} else if g.Kind == "blob" {
			Tidy(w, []fsys.LogicalPath{g.Path.Dir()})
		}
	}
	return plain(found), errors.Join(errs...)
}

// Loose returns what GC would consider.
func Loose(r fsys.Reader, dir fsys.LogicalPath, held []Held) ([]Garbage, error) {
	found, err := loose(r, dir, held, GCOptions{})
	return plain(found), err
}

type garbage struct {
	Garbage
	info fs.FileInfo
}

func plain(list []garbage) []Garbage {
	var out []Garbage
	for _, g := range list {
		out = append(out, g.Garbage)
	}
	return out
}

func loose(r fsys.Reader, dir fsys.LogicalPath, held []Held, o GCOptions) ([]garbage, error) {
	used := map[string]bool{}
	for _, h := range held {
		used[strings.ToLower(h.SHA256)] = true
	}
	links, out, err := storeLinks(r, dir)
	if err != nil {
		return nil, err
	}
	err = walk(r, dir.Join(blobs), 2, func(p fsys.LogicalPath, info fs.FileInfo) {
		if !info.Mode().IsRegular() || used[p.Base()] {
			return
		}
		g := garbage{Garbage{Path: p, Size: info.Size(), Kind: "blob"}, info}
		switch n := fsys.Links(info) - 1; {
		case n == 1:
			g.Kept = "another name still uses it, and would keep its bytes"
		case n > 1:
			g.Kept = fmt.Sprintf("%d other names still use it, and would keep its bytes", n)
		case links[p] != "":
			g.Kept = fmt.Sprintf("%s links to it", links[p])
		case owner(info) != os.Geteuid() && os.Geteuid() != 0:
			g.Kept = fmt.Sprintf("user %d fetched it and may use it", owner(info))
		}
		g.Removed = g.Kept == ""
		out = append(out, g)
	})
	if err != nil {
		return nil, err
	}
	part := func(p fsys.LogicalPath, info fs.FileInfo) {
		sha256, _, _ := strings.Cut(p.Base(), ".")
		_, err := r.Lstat(Blob(dir, sha256))
		have := err == nil
		switch {
		case !info.Mode().IsRegular(), used[sha256] && !have && p.Dir() == dir.Join(parts):
			return
		case strings.Contains(p.Base(), markSuffix) && have:
			return
		}
		g := garbage{Garbage{Path: p, Size: Allocated(info), Kind: "part"}, info}
		switch {
		case owner(info) != os.Geteuid() && os.Geteuid() != 0:
			g.Kept = fmt.Sprintf("user %d began it", owner(info))
		case busy(r, p.Dir().Join(sha256+".part")):
			g.Kept = "another process is fetching it"
		case !have && o.Now.Sub(info.ModTime()) < o.Parts:
			g.Kept = "it is too new"
		}
		g.Removed = g.Kept == ""
		out = append(out, g)
	}
	for _, folder := range []string{parts, oldParts} {
		if err := walk(r, dir.Join(folder), 1, part); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// storeLinks finds the links among the friendly names: by target, and as
// garbage if they dangle.
func storeLinks(r fsys.Reader, dir fsys.LogicalPath) (map[fsys.LogicalPath]fsys.LogicalPath, []garbage, error) {
	links := map[fsys.LogicalPath]fsys.LogicalPath{}
	var dead []garbage
	tops, err := r.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	for _, top := range tops {
		if top.Name() == blobs || top.Name() == parts {
			continue
		}
		err := walk(r, dir.Join(top.Name()), 2, func(p fsys.LogicalPath, info fs.FileInfo) {
			if info.Mode()&fs.ModeSymlink == 0 {
				return
			}
			to, err := r.Readlink(p)
			if err != nil {
				return
			}
			at := fsys.LogicalPath(to)
			if !strings.HasPrefix(to, "/") {
				at = p.Dir().Join(to)
			}
			if !within(dir.Join(blobs), at) {
				return
			}
			links[at] = p
			if _, err := r.Lstat(at); errors.Is(err, fs.ErrNotExist) {
				dead = append(dead, garbage{Garbage{Path: p, Kind: "view", Removed: true}, info})
			}
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return links, dead, nil
}

// busy reports whether a process is downloading into p.
func busy(r fsys.Reader, p fsys.LogicalPath) bool {
	f, err := r.Open(p)
	if err != nil {
		return false
	}
	defer filelock.Unlock(f)
	return errors.Is(filelock.Try(f, filelock.Exclusive), filelock.ErrBusy)
}

// walk visits what lies below p, at most depth folders deep, without following
// links. It skips what does not exist or may not be read.
func walk(r fsys.Reader, p fsys.LogicalPath, depth int, visit func(fsys.LogicalPath, fs.FileInfo)) error {
	entries, err := r.ReadDir(p)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fsys.ErrBlocked) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := p.Join(e.Name())
		if e.IsDir() {
			if depth > 1 {
				if err := walk(r, at, depth-1, visit); err != nil {
					return err
				}
			}
			continue
		}
		if info, err := r.Lstat(at); err == nil {
			visit(at, info)
		}
	}
	return nil
}
