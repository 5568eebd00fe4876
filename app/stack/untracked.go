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

// managedTargets returns the addresses of the project that are declared or on
// record. The value tells whether aisync owns the whole file.
func (v *View) managedTargets() map[reconcile.Address]bool {
	out := map[reconcile.Address]bool{}
	for _, d := range v.Declared.Declarations {
		if d.Target.InProject() {
			whole := d.Target.Kind() == "file" && len(d.Leaves) == 1 && d.Leaves[0].Key == ""
			out[d.Target] = out[d.Target] || whole
		}
	}
	for _, r := range v.Store.Records(reconcile.ProjectOwner(v.Places.Project)) {
		if r.Address.InProject() {
			whole := r.Address.Kind() == "file" && len(r.Leaves) == 1 && r.Leaves[0].Key == "" && r.Leaves[0].Provenance == reconcile.Created
			out[r.Address] = out[r.Address] || whole
		}
	}
	return out
}

// untracked returns the files that no spec asks for in folders that are ours.
// Such a folder was made by an apply, holds a whole file of ours, and had no
// other file in git when the lock was last committed. Files that git ignores do
// not count.
func (v *View) untracked(ctx context.Context) []reconcile.Address {
	owner := reconcile.ProjectOwner(v.Places.Project)
	if v.Places.Project == "" || !v.Has(owner) {
		return nil
	}
	managed := v.managedTargets()
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
	for _, d := range v.Store.Made(owner) {
		made[string(d)] = true
	}
	var found []string
	for dir := range ours {
		if made[dir] {
			found = v.unmanagedIn(found, dir, known)
		}
	}
	if len(found) == 0 {
		return nil
	}
	found = v.withoutShared(ctx, found, known)
	slices.Sort(found)
	var out []reconcile.Address
	ignored := v.Ignored(ctx, paths(found))
	for _, f := range found {
		if !ignored[fsys.LogicalPath(f)] {
			out = append(out, reconcile.Address("file:"+f))
		}
	}
	return out
}

// unmanagedIn appends to found the files below dir that are not in known.
func (v *View) unmanagedIn(found []string, dir string, known map[string]bool) []string {
	entries, err := v.Reader.ReadDir(fsys.LogicalPath(dir))
	if err != nil {
		return found // observing the files in it reports the error
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case known[name], e.Name() == "__pycache__", e.Name() == ".DS_Store", strings.HasPrefix(e.Name(), ".") && strings.Contains(e.Name(), ".aisync-"): // the last: an apply at work
		case e.IsDir():
			found = v.unmanagedIn(found, name, known)
		default:
			found = append(found, name)
		}
	}
	return found
}

// withoutShared removes from found what lies in folders in which git had files
// of others when the lock was last committed.
func (v *View) withoutShared(ctx context.Context, found []string, known map[string]bool) []string {
	dirs := map[string]bool{}
	for _, f := range found {
		dirs[path.Dir(f)] = true
	}
	var list []string
	for d := range dirs {
		list = append(list, d)
	}
	carried, ok := v.Repository().Carried(ctx, list)
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
