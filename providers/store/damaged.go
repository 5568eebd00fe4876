package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"aisync.dev/aisync/reconcile/fsys"
)

// Damaged reads every byte of the files that were verified before, and returns
// those whose content changed since. The error is that of the context.
func Damaged(ctx context.Context, r fsys.Reader, dir fsys.LogicalPath, held []Held, progress func(file Held, done, total int64)) ([]Checked, error) {
	once := slices.DeleteFunc(slices.Clone(held), func(h Held) bool { return h.Stat == Stat{} })
	checked, err := Verify(ctx, r, dir, once, VerifyOptions{Deep: true, Progress: progress})
	return slices.DeleteFunc(checked, func(c Checked) bool { return c.State != Changed }), err
}

// SetAside removes all names of a damaged file but one, beside its place, which
// it returns. After a kill some names are left; the next call removes them.
func SetAside(w fsys.FS, dir fsys.LogicalPath, c Checked, held []Held) (fsys.LogicalPath, error) {
	bad, err := w.Lstat(c.Where)
	if err != nil {
		return "", fmt.Errorf("set a damaged model aside: %w", err)
	}
	var names []fsys.LogicalPath
	for _, h := range held {
		names = append(append(names, h.Path, Old(dir, h.ID, h.Path.Base())), h.Views...)
	}
	for _, p := range names {
		info, err := w.Lstat(p)
		if p == c.Where || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && sameFile(info, bad) {
			err = w.Discard(p, info)
		}
		if err != nil {
			return "", fmt.Errorf("set a damaged model aside: %w", err)
		}
	}
	return Aside(w, c.Where)
}
