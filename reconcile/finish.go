package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"

	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/journal"
)

// commit makes the changes durable and records them; it removes the journal
// last.
func (a *applying) commit(ctx context.Context) error {
	if len(a.torn) > 0 {
		// A failed change takes back what it made, if it still can. What it
		// left because of another writer is that writer's, and was named.
		entry := a.journal.Entry()
		entry.Changes = slices.DeleteFunc(slices.Clone(entry.Changes), func(s EntryStep) bool { return !a.torn[s.Address] })
		if _, err := a.engine.tidy(ctx, a.w, a.store, entry); err != nil {
			return err
		}
	}
	entry, _ := a.engine.replay(ctx, a.w.ReadEnv, a.store, a.journal)
	a.markIgnored(ctx)
	a.store.sweepDirs(a.w, entry)
	if err := a.w.FS.Flush(); err != nil {
		return fmt.Errorf("sync folders: %w", err)
	}
	if !slices.ContainsFunc(entry.Changes, EntryStep.Changed) {
		a.result.ID = ""
	}
	return a.store.finish(a.w.FS, entry, a.contents, a.journal)
}

// nothing updates records although there is no change: a missing lock, or what
// an interrupted apply did not ask git about.
func (a *applying) nothing(ctx context.Context) error {
	a.markIgnored(ctx)
	if err := a.store.save(a.w.FS); err != nil {
		return err
	}
	if err := a.store.saveLock(a.w.FS); err != nil {
		return err
	}
	if a.options.RollbackOf != "" && !a.partial {
		if err := a.store.saveUndone(a.w.FS, a.options.RollbackOf, a.options.ID); err != nil {
			return err
		}
	}
	return a.w.FS.Flush()
}

// markIgnored makes targets local that git does not carry. It asks about all of
// the project's, including those of an interrupted apply.
func (a *applying) markIgnored(ctx context.Context) {
	if a.options.Ignored == nil || a.store.lock == nil || len(a.changes) == 0 && !a.store.recovered {
		return
	}
	o := a.store.lockOwner
	var paths []fsys.LogicalPath
	for _, rec := range a.store.Records(o) {
		if rec.Address.InProject() && !rec.Local {
			paths = append(paths, rec.Address.Path(a.w.Home))
		}
	}
	if len(paths) == 0 {
		return
	}
	ignored := a.options.Ignored(ctx, paths)
	for _, rec := range slices.Clone(a.store.Records(o)) {
		if rec.Address.InProject() && !rec.Local && ignored[rec.Address.Path(a.w.Home)] {
			rec.Local = true
			a.store.set(o, rec.Address, &rec)
		}
	}
}

// sweepDirs removes the folders that aisync made and that the changes of entry
// left empty, unless a spec asks for the folder itself.
func (s *Store) sweepDirs(w WriteEnv, entry Entry) {
	gone := map[fsys.LogicalPath]bool{}
	for _, step := range entry.Changes {
		if step.Folder != "" && step.Writes && step.After == "" && !s.elsewhere(entry, step) {
			for d := step.Folder; d != "." && d != "/" && !gone[d]; d = d.Dir() {
				gone[d] = true
			}
		}
	}
	if len(gone) == 0 {
		return
	}
	for d := range gone {
		if !d.Project() && s.everything() != nil { // another owner may have made it, or want it
			return
		}
	}
	for o, f := range s.owners {
		for _, rec := range f.Records {
			if p := rec.Address.Path(w.Home); rec.Address.Kind() == "dir" && (!p.Project() || o == s.lockOwner) {
				delete(gone, p)
			}
		}
	}
	for o, f := range s.owners {
		dirs := slices.Clone(f.Dirs)
		sort.Slice(dirs, func(i, j int) bool { return len(dirs[i]) > len(dirs[j]) })
		for _, d := range dirs {
			if !gone[d] || d.Project() && o != s.lockOwner {
				continue
			}
			if err := w.FS.Rmdir(d); err == nil || errors.Is(err, fs.ErrNotExist) {
				f.Dirs = slices.DeleteFunc(f.Dirs, func(x fsys.LogicalPath) bool { return x == d })
				s.touched[o] = true
			}
		}
	}
}

// finish writes records, lock, contents and the entry, and ends the journal.
func (s *Store) finish(w fsys.FS, entry Entry, contents map[Owner]map[string][]byte, j *journal.Journal) error {
	if s.err != nil {
		return s.err
	}
	if err := s.writeID(w, entry.ID); err != nil {
		return err
	}
	if err := s.saveLock(w); err != nil {
		return err
	}
	if err := s.save(w); err != nil {
		return err
	}
	for o, add := range contents {
		if err := s.dir.WriteContents(w, fileName(o), add, s.digests(o)); err != nil {
			return fmt.Errorf("keep written texts: %w", err)
		}
	}
	entry.Partial = entry.Partial || slices.ContainsFunc(entry.Changes, func(step EntryStep) bool { return !j.Did(step) })
	if slices.ContainsFunc(entry.Changes, EntryStep.Changed) {
		if err := journal.Write(w, s.dir, entry); err != nil {
			return err
		}
	}
	if entry.RollbackOf != "" && !entry.Partial {
		if err := s.saveUndone(w, entry.RollbackOf, entry.ID); err != nil {
			return err
		}
	}
	// The journal must outlast the records: a file system may write the changes
	// of two folders in any order.
	if err := w.Flush(); err != nil {
		return fmt.Errorf("sync records: %w", err)
	}
	if err := j.End(w, s.dir.Journal()); err != nil {
		return fmt.Errorf("end journal: %w", err)
	}
	s.journal = nil
	return w.Flush()
}

// saveUndone records in the history that the apply undone was undone by
// another.
func (s *Store) saveUndone(w fsys.FS, undone, by string) error {
	e, err := s.markRolledBack(undone, by)
	if err != nil {
		return err
	}
	return journal.Write(w, s.dir, e)
}

// markRolledBack records in an apply's entry that it was undone. If the entry
// already says so, with the same apply, a kill came in between.
func (s *Store) markRolledBack(undone, by string) (Entry, error) {
	e, err := s.readEntry(undone)
	if err == nil && e.ID == "" {
		err = fmt.Errorf("%w: %s", ErrNoApply, undone)
	}
	e.RolledBack = by
	return e, err
}

// saveLock writes the lock in use if it differs from its file.
func (s *Store) saveLock(w fsys.FS) error {
	if s.lock == nil {
		return nil
	}
	s.lock.SetRecords(s.Records(s.lockOwner))
	want := s.lock.Bytes()
	expect := fsys.Expect{}
	switch have, err := w.ReadFile(s.lockPath); {
	case errors.Is(err, fs.ErrNotExist):
		if s.lock.Empty() {
			return nil
		}
		expect.Absent = true
	case err != nil:
		return fmt.Errorf("read lock: %w", err)
	case string(have) == string(want):
		return nil
	case s.lock.Empty():
		return w.Remove(s.lockPath, fsys.Expect{Digest: fsys.Digest(have)}, nil)
	default:
		expect.Digest = fsys.Digest(have)
	}
	if err := w.Replace(s.lockPath, fsys.Content{Bytes: want}, expect, nil); err != nil {
		return fmt.Errorf("write lock: %w", err)
	}
	return nil
}
