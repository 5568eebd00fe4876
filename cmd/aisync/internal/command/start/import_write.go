package start

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/app/gather"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/reconcile/fsys"
)

// write writes the bundle, and then the spec that names it. A file of the
// bundle that is there keeps its bytes, and that is said.
func (im *importing) write(texts map[string][]byte) error {
	p := im.places
	disk, err := fsys.New(fsys.Options{Tag: "import", Home: fsys.LogicalPath(p.Physical(p.Home)), UID: p.UID, GID: p.GID, Chown: p.Chown})
	if err != nil {
		return err
	}
	for _, f := range im.found.Files {
		if err := im.writeNew(disk, fsys.LogicalPath(im.bundle).Join(f.Path), f.Text, f.Mode); err != nil {
			return err
		}
	}
	if im.edit != nil {
		if err := disk.Flush(); err != nil {
			return err
		}
		return im.edit.Write(texts)
	}
	for name, text := range texts {
		if err := im.writeNew(disk, fsys.LogicalPath(name), text, 0o644); err != nil {
			return err
		}
	}
	return disk.Flush()
}

func (im *importing) writeNew(disk fsys.FS, name fsys.LogicalPath, text []byte, mode fs.FileMode) error {
	old, err := disk.ReadFile(name)
	switch {
	case err == nil && bytes.Equal(old, text):
		return nil
	case err == nil:
		im.found.Kept = append(im.found.Kept, gather.Kept{Path: im.short(string(name)), Why: "it was there already, and differs from what was read"})
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if _, err := disk.MkdirAll(name.Dir(), 0o755); err != nil {
		return err
	}
	if err := disk.Replace(name, fsys.Content{Bytes: text, Mode: mode}, fsys.Expect{Absent: true}, nil); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	im.written = append(im.written, string(name))
	return nil
}

// over is what was taken over and is in none of the places that an apply will
// keep: programs would read it beside what is made from it.
func (im *importing) over(ctx context.Context) []string {
	a := *im.app
	a.Flags.Quiet = true
	where := stack.ScopeHost
	if !im.options.Home {
		where, a.Flags.Project = stack.ScopeProject, im.dir
	}
	w, err := a.Loaded(ctx, where, stack.Open)
	if err != nil {
		return nil // aisync plan says why
	}
	var targets []string
	for _, d := range w.Declared.Declarations {
		targets = append(targets, string(d.Target.Path(w.Places.Home)))
	}
	var out []string
	for _, t := range im.found.Taken {
		at := t.From
		if im.options.Home {
			at = string(im.places.Home.Join(t.From))
		}
		kept := slices.ContainsFunc(targets, func(p string) bool { return p == at || strings.HasPrefix(p, at+"/") })
		if !kept && !strings.HasPrefix(t.From, ".rule") && made(t, targets) {
			out = append(out, im.short(filepath.Join(im.dir, t.From)))
		}
	}
	return out
}

// made reports whether some target holds what t became. The text of a rule is
// in an instruction file where it is in no folder.
func made(t gather.Taken, targets []string) bool {
	name := strings.TrimSuffix(path.Base(t.To), ".md")
	switch t.What {
	case "rule":
		return slices.ContainsFunc(targets, func(p string) bool { return strings.HasSuffix(p, ".md") || strings.HasSuffix(p, ".mdc") })
	case "skill":
		return slices.ContainsFunc(targets, func(p string) bool { return strings.Contains(p, "/"+name+"/") })
	case "command", "agent":
		return slices.ContainsFunc(targets, func(p string) bool { return strings.HasPrefix(path.Base(p), name+".") })
	}
	return false
}
