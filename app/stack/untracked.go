package stack

import (
	"context"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/workspace"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// managed are the addresses of the project that are declared or on record. The
// value tells whether the whole of the file is ours.
func (w *View) managed() map[reconcile.Address]bool {
	out := map[reconcile.Address]bool{}
	for _, d := range w.Declared.Declarations {
		if d.Target.InProject() {
			whole := d.Target.Kind() == "file" && len(d.Leaves) == 1 && d.Leaves[0].Key == ""
			out[d.Target] = out[d.Target] || whole
		}
	}
	for _, r := range w.Store.Records(reconcile.ProjectOwner(w.Places.Project)) {
		if r.Address.InProject() {
			whole := r.Address.Kind() == "file" && len(r.Leaves) == 1 && r.Leaves[0].Key == "" && r.Leaves[0].Provenance == reconcile.Created
			out[r.Address] = out[r.Address] || whole
		}
	}
	return out
}

// strays finds files that nobody asked for in folders of the project that are
// ours: those that an apply made, that hold a whole file of ours, and in which
// git carried nothing else when the lock was last committed. What git ignores
// is nobody's.
func (w *View) strays(ctx context.Context) []reconcile.Address {
	owner := reconcile.ProjectOwner(w.Places.Project)
	if w.Places.Project == "" || !w.Has(owner) {
		return nil
	}
	managed := w.managed()
	known, ours := map[string]bool{}, map[string]bool{}
	for a, whole := range managed {
		name := path.Clean(a.Name())
		known[name] = true
		for d := path.Dir(name); d != "." && !known[d]; d = path.Dir(d) {
			known[d] = true
		}
		if dir := path.Dir(name); whole && dir != "." && !workspace.Open(dir) {
			ours[dir] = true
		}
	}
	made := map[string]bool{}
	for _, d := range w.Store.Made(owner) {
		made[string(d)] = true
	}
	var found []string
	for dir := range ours {
		if made[dir] {
			found = w.unknownIn(found, dir, known)
		}
	}
	if len(found) == 0 {
		return nil
	}
	found = w.sinceTheLock(ctx, found, known)
	slices.Sort(found)
	var out []reconcile.Address
	ignored := w.Ignored(ctx, paths(found))
	for _, f := range found {
		if !ignored[fsys.LogicalPath(f)] {
			out = append(out, reconcile.Address("file:"+f))
		}
	}
	return out
}

// unknownIn appends the files in dir that are not known, and those in folders
// in which nothing is.
func (w *View) unknownIn(found []string, dir string, known map[string]bool) []string {
	entries, err := w.Reader.ReadDir(fsys.LogicalPath(dir))
	if err != nil {
		return found // said where the files in it are looked at
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case known[name], e.Name() == "__pycache__", e.Name() == ".DS_Store", strings.HasPrefix(e.Name(), ".") && strings.Contains(e.Name(), ".aisync-"): // the last: an apply at work
		case e.IsDir():
			found = w.unknownIn(found, name, known)
		default:
			found = append(found, name)
		}
	}
	return found
}

// sinceTheLock leaves out of found what lies in folders in which git carried
// something that was not ours when the lock was last committed.
func (w *View) sinceTheLock(ctx context.Context, found []string, known map[string]bool) []string {
	dirs := map[string]bool{}
	for _, f := range found {
		dirs[path.Dir(f)] = true
	}
	var list []string
	for d := range dirs {
		list = append(list, d)
	}
	carried, ok := w.Repository(ctx).Carried(ctx, list)
	if !ok {
		return found
	}
	shared := map[string]bool{}
	for _, f := range carried {
		if !known[f] {
			shared[path.Dir(f)] = true
		}
	}
	return slices.DeleteFunc(found, func(f string) bool { return shared[path.Dir(f)] })
}

func paths(names []string) []fsys.LogicalPath {
	out := make([]fsys.LogicalPath, len(names))
	for i, n := range names {
		out[i] = fsys.LogicalPath(n)
	}
	return out
}
