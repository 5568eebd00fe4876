package doctor

import (
	"context"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// checkFolders reports folders in which no entry can be made. It makes none.
func checkFolders(_ context.Context, e *Env) Outcome {
	if e.loadErr != nil {
		return found(fail("", "%v", e.loadErr))
	}
	var out []Finding
	for _, f := range []fsys.LogicalPath{e.places.Home, e.places.State, e.places.Cache, e.storeFolder()} {
		if f == "" {
			continue
		}
		if err := e.reader.Writable(f.Join("x")); err != nil {
			out = append(out, fail("make "+e.places.Physical(f)+" a folder that you may write", "%v", err))
		}
	}
	// The folders of the specs lie outside of --root. A read-only one is enough as
	// long as everything is pinned.
	if plain, err := fsys.New(fsys.Options{}); err == nil {
		for _, dir := range []string{e.places.Config, e.places.Project} {
			if dir == "" {
				continue
			}
			if err := plain.Writable(fsys.LogicalPath(dir).Join(stack.LockName)); err != nil {
				out = append(out, warn("make "+dir+" writable, or keep a complete aisync.lock in it", "%v: nothing more can be pinned there", err))
			}
		}
	}
	return found(out...)
}

// storeFolder returns the host's model store, "" where the spec names none.
func (e *Env) storeFolder() fsys.LogicalPath {
	if e.spec.Host == nil || e.spec.Host.Store.Value == "" {
		return ""
	}
	return reconcile.Address("dir:" + e.spec.Host.Store.Value).Path(e.places.Home)
}
