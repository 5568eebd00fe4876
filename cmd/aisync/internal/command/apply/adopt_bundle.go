package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/state"
)

// carryBack writes what was edited here into the bundle that it came from, so
// that the spec wants it from now on. folder is a checkout of the bundle; ""
// means the source itself, which must be a folder then. Everything is checked
// before the first file is written.
func carryBack(ctx context.Context, a *cli.App, ask stack.Request, f cli.ApplyFlags, folder string) error {
	if folder != "" {
		cwd, err := a.Cwd()
		if err != nil {
			return err
		}
		if folder, err = place.ExistingFolder(cwd, folder); err != nil {
			return fmt.Errorf("--to-bundle: %w", err)
		}
	}
	written, err := intoBundle(ctx, a, ask, f, folder)
	switch {
	case err != nil:
		return err
	case !written:
		a.Say("aisync: nothing to carry back: what is there is what the bundle has")
		return nil
	case folder != "":
		a.Hint("next: commit it there, and when the source has it: aisync lock --update")
		return nil
	}
	return adopt(ctx, a, ask, f) // what is there is now what the spec wants
}

// intoBundle writes the edits, and reports whether there were any.
func intoBundle(ctx context.Context, a *cli.App, ask stack.Request, f cli.ApplyFlags, folder string) (bool, error) {
	w, err := a.Opened(ctx, ask, f.LockTimeout, "aisync adopt --to-bundle")
	if err != nil {
		return false, err
	}
	defer w.Release()
	p, err := w.Plan(ctx, ask)
	if err != nil {
		return false, err
	}
	var edits []carried
	var errs []error
	for _, c := range p.Changes {
		if !matches(ask.Targets, c.Target.Resource.Address) {
			continue
		}
		e, err := carriedBy(ctx, w.View, c, folder)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w; nothing was changed", c.Target.Resource.Address, err))
		case e.path != "":
			edits = append(edits, e)
		}
	}
	if len(errs) > 0 {
		return false, errors.Join(errs...)
	}
	return len(edits) > 0, writeBack(a, w, edits)
}

// matches reports whether any pattern names a.
func matches(patterns []string, a reconcile.Address) bool {
	for _, p := range patterns {
		if a.Match(p) {
			return true
		}
	}
	return false
}

// carried is an edit of one file of a bundle.
type carried struct {
	dir, path string // of the bundle, and of the file in it
	old, new  []byte
	exec      bool
}

// carriedBy says what c's edit comes to in its bundle; nothing where there is none.
func carriedBy(ctx context.Context, w *stack.View, c reconcile.Change, folder string) (carried, error) {
	if len(c.Leaves) != 1 || c.Leaves[0].Key != "" || c.Leaves[0].Want == nil {
		return carried{}, errors.New("is no file that came out of a bundle as a whole; edit the bundle itself")
	}
	path, transform, ok := file.SourceOf(c.Leaves[0].Want.Body)
	if !ok {
		return carried{}, errors.New("is put together from more than one file of a bundle; edit the bundle itself")
	}
	dir, rel, pinned, err := sourceHolding(ctx, w, path)
	if err != nil {
		return carried{}, err
	}
	switch {
	case folder != "":
		dir = folder
		path = filepath.Join(folder, rel)
	case pinned:
		return carried{}, advice.Command(errors.New("its source is pinned, not a folder of yours"), "aisync adopt --to-bundle=CHECKOUT, the folder in which you work on the bundle")
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return carried{}, fmt.Errorf("the bundle's file: %w", err)
	}
	at := c.Target.Resource.Address.Path(w.Places.Home)
	live, err := w.Reader.ReadFile(at)
	if err != nil {
		return carried{}, err
	}
	info, err := w.Reader.Lstat(at)
	if err != nil {
		return carried{}, err
	}
	if merge.HasMarkers(live) {
		return carried{}, errors.New("still has conflict markers; edit it until none is left")
	}
	e := carried{dir: dir, path: path, old: src, exec: info.Mode()&0o100 != 0}
	// The bundle's form may not be the runtime's: what was edited in one is
	// brought into the other, and must come out of it again.
	if e.new, ok = merge.Merge3(transform(src), live, src); !ok || !bytes.Equal(transform(e.new), live) {
		if e.new = live; !bytes.Equal(transform(live), live) {
			return carried{}, fmt.Errorf("was edited where the bundle's form differs from the runtime's (its front matter); edit %s itself", path)
		}
	}
	srcInfo, err := os.Stat(path)
	if err == nil && !w.Reader.KeepsExec(at, info.Mode()) {
		e.exec = srcInfo.Mode()&0o100 != 0
	}
	if err == nil && bytes.Equal(e.old, e.new) && (srcInfo.Mode()&0o100 != 0) == e.exec {
		return carried{}, nil
	}
	return e, err
}

// sourceHolding finds the source of a file: its folder, the file's name in it,
// and whether it is a pinned copy.
func sourceHolding(ctx context.Context, w *stack.View, path string) (dir, rel string, pinned bool, err error) {
	for _, src := range stack.SourcesOf(w.Spec.Host, w.Spec.Project) {
		t, err := w.Bundles.Open(ctx, src)
		if err != nil {
			continue // said where it is needed
		}
		if rel, err := filepath.Rel(t.Dir, path); err == nil && filepath.IsLocal(rel) {
			return t.Dir, rel, bundle.Remote(src.URL), nil
		}
	}
	return "", "", false, errors.New("does not come from a source of bundles")
}

// writeBack writes edits into their bundles and shows them. What was there
// stays in the backups.
func writeBack(a *cli.App, w *stack.Session, edits []carried) error {
	for _, e := range edits {
		rel, err := filepath.Rel(e.dir, e.path)
		if err != nil {
			return err
		}
		o := w.Places.FSOptions(w.ApplyID)
		o.Root, o.Home, o.Project = "", "", e.dir
		disk, err := fsys.New(o)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if e.exec {
			mode = 0o755
		}
		if _, err := state.Open(w.FS, w.Places.State).PutBackup(w.FS, e.old); err != nil {
			return fmt.Errorf("keep %s: %w", e.path, err)
		}
		to := fsys.LogicalPath(filepath.ToSlash(rel))
		if err := disk.Replace(to, fsys.Content{Bytes: e.new, Mode: mode}, fsys.Expect{Digest: fsys.Digest(e.old)}, nil); err != nil {
			return fmt.Errorf("write %s: %w", e.path, err)
		}
		if err := disk.Flush(); err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		a.Printf("wrote %s\n", termtext.Safe(e.path))
		view.PrintDiff(a, merge.Unified("a/"+name, "b/"+name, e.old, e.new))
	}
	return nil
}
