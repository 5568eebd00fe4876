package reconcile

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/journal"
	"aisync.dev/aisync/reconcile/record"
)

// entry is the head of the journal: what is about to be done.
func (a *applying) entry(ctx context.Context) Entry {
	e := Entry{
		FormatVersion: journal.Version, ID: a.options.ID, Time: a.w.Clock().UTC(), Command: a.options.Command,
		Version: a.options.Version, RollbackOf: a.options.RollbackOf, Partial: a.partial, LockOwner: a.store.lockOwner, LockPath: a.store.lockFile(),
	}
	missing := map[fsys.LogicalPath][]fsys.LogicalPath{}
	for _, c := range a.changes {
		s := a.intent(ctx, c)
		if c.Writes() && s.Folder != "" {
			s.Dirs = a.missing(s.Folder, missing)
		}
		if a.store.inherited && c.Action == Accept && c.Target.Resource.Local && c.ofProject() && s.Path != "" {
			s.Dirs = parents(s.Path)
		}
		e.Changes = append(e.Changes, s)
	}
	return e
}

// intent is the step of c, with what its provider knows before it writes.
func (a *applying) intent(ctx context.Context, c Change) EntryStep {
	s := a.step(c)
	if f, ok := a.engine.provider(s.Address.Kind()).(Foreteller); ok && c.Writes() {
		out := f.Foretell(ctx, a.w.ReadEnv, c)
		for i := range s.Got {
			s.Got[i].Record = out.into(s.Got[i].Record)
		}
	}
	return s
}

// missing returns dir and the folders above it that are not there, top first.
func (a *applying) missing(dir fsys.LogicalPath, known map[fsys.LogicalPath][]fsys.LogicalPath) []fsys.LogicalPath {
	if dir == "." || dir == "/" {
		return nil
	}
	if dirs, ok := known[dir]; ok {
		return dirs
	}
	var dirs []fsys.LogicalPath
	if _, err := a.w.FS.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		dirs = append(slices.Clone(a.missing(dir.Dir(), known)), dir)
	}
	known[dir] = dirs
	return dirs
}

func (a *applying) step(c Change) EntryStep {
	addr := c.Target.Resource.Address
	s := EntryStep{Address: addr, Aliases: c.Target.Aliases, Action: c.Action, Format: c.Target.Resource.Format, Before: c.Before.Token, After: c.Before.Token, Writes: c.Writes()}
	if addr.IsPath() {
		s.Path = addr.Path(a.w.Home)
		info, err := a.w.FS.Lstat(s.Path)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 && addr.Kind() == "file" {
			if to, ferr := fsys.Follow(a.w.FS, a.w.Home, s.Path); ferr == nil {
				s.Path = to
				info, err = a.w.FS.Lstat(to)
			}
		}
		s.Folder = s.Path.Dir()
		if err == nil {
			s.Mode = info.Mode().Perm()
		}
	}
	if p, ok := a.engine.provider(addr.Kind()).(Placed); ok {
		s.Folder = p.Folder(c.Target, a.w.Home)
	}
	for _, l := range c.Leaves {
		if l.Writes() {
			s.Keys = append(s.Keys, l.Key)
		}
	}
	for _, rec := range a.store.of(c.Target) {
		if slices.Contains(c.Owners, rec.Owner) {
			s.Had = append(s.Had, record.Owned{Owner: rec.Owner, Record: rec})
		}
	}
	for _, rec := range c.Next {
		s.Got = append(s.Got, record.Owned{Owner: rec.Owner, Record: rec})
	}
	return s
}
