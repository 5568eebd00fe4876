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
	"aisync.dev/aisync/internal/secret"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/state"
)

// adoptToBundle writes edited files back into the bundle that they came from, and
// adopts them. folder is a checkout of the bundle; "" means the source itself, which
// must be a folder. It checks all edits before it writes the first.
func adoptToBundle(ctx context.Context, a *cli.App, ask stack.Request, f cli.ApplyFlags, folder string) error {
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
		a.Say("aisync: nothing to write back: the files match the bundle")
		return nil
	case folder != "":
		a.Hint("next: commit and publish it there, then: aisync lock --update")
		return nil
	}
	return adopt(ctx, a, ask, f, nil) // the files are now what the spec asks for
}

// intoBundle writes the edits and reports whether there were any.
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
	var edits []bundleEdit
	var errs []error
	for _, c := range p.Changes {
		if !matches(ask.Targets, c.Target.Resource.Address) {
			continue
		}
		e, err := editOf(ctx, w.View, c, folder)
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

// matches reports whether one of patterns matches a.
func matches(patterns []string, a reconcile.Address) bool {
	for _, p := range patterns {
		if a.Match(p) {
			return true
		}
	}
	return false
}

// bundleEdit is an edit of one file of a bundle.
type bundleEdit struct {
	dir, path string // of the bundle, and of the file in it
	old, new  []byte
	exec      bool
}

// editOf translates the edit of c's file into one of its bundle's file; the zero
// bundleEdit if there is none.
func editOf(ctx context.Context, w *stack.View, c reconcile.Change, folder string) (bundleEdit, error) {
	if len(c.Leaves) != 1 || c.Leaves[0].Key != "" || c.Leaves[0].Want == nil {
		return bundleEdit{}, errors.New("not a whole file of a bundle; edit the bundle itself")
	}
	path, transform, ok := file.SourceOf(c.Leaves[0].Want.Body)
	if !ok {
		return bundleEdit{}, errors.New("made from several files of a bundle; edit the bundle itself")
	}
	dir, rel, pinned, err := sourceHolding(ctx, w, path)
	if err != nil {
		return bundleEdit{}, err
	}
	switch {
	case folder != "":
		dir = folder
		path = filepath.Join(folder, rel)
	case pinned:
		return bundleEdit{}, advice.Command(errors.New("its source is pinned, not a folder"), "aisync adopt --to-bundle=CHECKOUT, with the folder in which you work on the bundle")
	}
	src, err := os.ReadFile(path)
	if err != nil {
		return bundleEdit{}, fmt.Errorf("read the bundle's file: %w", err)
	}
	at := c.Target.Resource.Address.Path(w.Places.Home)
	live, err := w.Reader.ReadFile(at)
	if err != nil {
		return bundleEdit{}, err
	}
	info, err := w.Reader.Lstat(at)
	if err != nil {
		return bundleEdit{}, err
	}
	if merge.HasMarkers(live) {
		return bundleEdit{}, errors.New("has conflict markers; resolve them first")
	}
	for _, m := range secret.Find(string(live)) {
		if line := secret.Line(string(live), m.Start); !bytes.Contains(src, live[m.Start:m.End]) {
			return bundleEdit{}, fmt.Errorf("line %d holds %s, and a bundle is made for git; take it out, or keep the edit here: aisync adopt without --to-bundle", line, m.Kind)
		}
	}
	e := bundleEdit{dir: dir, path: path, old: src, exec: info.Mode()&0o100 != 0}
	// The bundle's form may differ from the runtime's: merge the edit into the
	// bundle's form and check that it transforms into the live file.
	if e.new, ok = merge.Merge3(transform(src), live, src); !ok || !bytes.Equal(transform(e.new), live) {
		if e.new = live; !bytes.Equal(transform(live), live) {
			return bundleEdit{}, fmt.Errorf("edited where the bundle's form differs from the runtime's (its front matter); edit %s itself", path)
		}
	}
	srcInfo, err := os.Stat(path)
	if err == nil && !w.Reader.KeepsExec(at, info.Mode()) {
		e.exec = srcInfo.Mode()&0o100 != 0
	}
	if err == nil && bytes.Equal(e.old, e.new) && (srcInfo.Mode()&0o100 != 0) == e.exec {
		return bundleEdit{}, nil
	}
	return e, err
}

// sourceHolding returns the folder of the source that contains path, the file's name
// in it, and whether it is a pinned copy.
func sourceHolding(ctx context.Context, w *stack.View, path string) (dir, rel string, pinned bool, err error) {
	for _, src := range stack.SourcesOf(w.Spec.Host, w.Spec.Project) {
		t, err := w.Bundles.Open(ctx, src)
		if err != nil {
			continue // reported where the source is needed
		}
		if rel, err := filepath.Rel(t.Dir, path); err == nil && filepath.IsLocal(rel) {
			return t.Dir, rel, bundle.Remote(src.URL), nil
		}
	}
	return "", "", false, errors.New("not from a source of bundles")
}

// writeBack writes edits into their bundles and shows the differences. It keeps
// backups of the old files.
func writeBack(a *cli.App, w *stack.Session, edits []bundleEdit) error {
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
		view.PrintDiff(a, secret.MaskText(merge.Unified("a/"+name, "b/"+name, e.old, e.new)))
	}
	return nil
}
