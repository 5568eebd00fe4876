package doctor

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// checkManaged reports managed files that cannot be read or replaced.
func checkManaged(_ context.Context, e *Env) Outcome {
	if e.storeErr != nil {
		return Outcome{}
	}
	var out []Finding
	for path, addr := range e.managedPaths() {
		if err := e.checkAccess(path, addr.Kind()); err != nil {
			out = append(out, fail("ls -ld "+shellquote.Terminal(e.places.Physical(path))+", then give yourself access", "%s: %v", addr, err))
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].What < out[j].What })
	return found(out...)
}

// checkAccess returns why a target that is there cannot be read or replaced. One
// that is gone, or of another type, is drift.
func (e *Env) checkAccess(path fsys.LogicalPath, kind string) error {
	info, err := e.reader.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if kind == "file" && info.Mode().IsRegular() {
		f, err := e.reader.Open(path)
		if err != nil {
			return err
		}
		f.Close()
	}
	return e.reader.Writable(path)
}

// checkLeftovers reports temp files of aisync in the folders that it writes to.
func checkLeftovers(_ context.Context, e *Env) Outcome {
	if e.storeErr != nil || e.store.Unfinished() {
		return Outcome{} // the next apply needs them
	}
	var out []Finding
	for _, dir := range e.managedFolders() {
		entries, err := e.reader.ReadDir(dir)
		if err != nil {
			continue // the check of managed files says why
		}
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), ".") && strings.Contains(entry.Name(), ".aisync-") {
				name := e.places.Physical(dir.Join(entry.Name()))
				out = append(out, warn("look into it, then: rm "+shellquote.Terminal(name), "%s was left by an apply that was killed", name))
			}
		}
	}
	return found(out...)
}

// managedFolders returns the folders of what is on record, and those of the state.
func (e *Env) managedFolders() []fsys.LogicalPath {
	seen := map[fsys.LogicalPath]bool{e.places.State: true, e.stateDir.Records(): true, e.stateDir.Applies(): true}
	for path := range e.managedPaths() {
		seen[path.Dir()] = true
	}
	out := make([]fsys.LogicalPath, 0, len(seen))
	for dir := range seen {
		out = append(out, dir)
	}
	slices.Sort(out)
	return out
}

// managedPaths returns the targets on record that are named by a path.
func (e *Env) managedPaths() map[fsys.LogicalPath]reconcile.Address {
	out := map[fsys.LogicalPath]reconcile.Address{}
	for _, rec := range e.records() {
		switch rec.Address.Kind() {
		case "file", "link", "dir":
			out[rec.Address.Path(e.places.Home)] = rec.Address
		}
	}
	return out
}

// records returns the records of the host and of the project at hand.
func (e *Env) records() []reconcile.Record {
	var out []reconcile.Record
	out = append(out, e.store.Records(reconcile.HostOwner)...)
	if e.places.Project != "" {
		out = append(out, e.store.Records(reconcile.ProjectOwner(e.places.Project))...)
	}
	return out
}
