package reconcile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/record"
)

// Recover finishes the records of an apply that was killed: displaced bytes go
// to the backups, half-made files are removed, and what became true is
// recorded. It returns one line for a person for each thing it did. The caller
// holds the lock of the state. It may be killed and called again.
func (e *Engine) Recover(ctx context.Context, w WriteEnv, s *Store) ([]string, error) {
	if s.journal == nil {
		return nil, nil
	}
	j := s.journal
	said := []string{fmt.Sprintf("the apply of %s (%s) was interrupted; finishing its records", j.Entry().Time.Local().Format("2006-01-02 15:04:05"), j.Entry().ID)}
	if slices.ContainsFunc(j.Entry().Changes, func(step EntryStep) bool { return s.elsewhere(j.Entry(), step) }) {
		dir := j.Entry().LockOwner.ProjectDir()
		switch gone, err := isGone(dir); {
		case err != nil:
			return nil, fmt.Errorf("recover: %w", err)
		case !gone:
			return nil, advice.New(fmt.Errorf("an apply in %s was interrupted", dir), advice.ApplyThere(dir))
		}
		said = append(said, fmt.Sprintf("its project %s is gone; only what lies outside of it is looked at", dir))
	}
	tidied, err := e.tidy(ctx, w, s, j.Entry())
	said = append(said, tidied...)
	if err != nil {
		return said, fmt.Errorf("recover: %w", err)
	}
	entry, lines := e.replay(ctx, w.ReadEnv, s, j)
	entry.Interrupted = true
	s.recovered = true
	for _, step := range entry.Changes {
		if p, ok := e.provider(step.Address.Kind()).(Tidier); ok && step.Before != "" && step.After == "" && !s.elsewhere(entry, step) {
			p.Tidy(ctx, w, step.Address)
		}
	}
	s.sweepDirs(w, entry)
	if err := w.FS.Flush(); err != nil {
		return said, fmt.Errorf("recover: sync folders: %w", err)
	}
	if err := s.finish(w.FS, entry, nil, j); err != nil {
		return said, fmt.Errorf("recover: %w", err)
	}
	return append(said, lines...), nil
}

// tidy handles everything that the changes of entry left beside their targets,
// and in the state folder. It returns a line for each thing that a person
// should know.
func (e *Engine) tidy(ctx context.Context, w WriteEnv, s *Store, entry Entry) ([]string, error) {
	var said []string
	listed := map[fsys.LogicalPath][]fs.DirEntry{}
	for _, step := range entry.Changes {
		if s.elsewhere(entry, step) {
			continue
		}
		if step.Path == "" {
			if err := sweepFolder(w.FS, step.Folder, entry.ID); err != nil {
				return said, fmt.Errorf("%s: %w", step.Address, err)
			}
			continue
		}
		left, err := leftovers(w.FS, step.Path, entry.ID, listed)
		if err != nil {
			return said, fmt.Errorf("%s: %w", step.Address, err)
		}
		if len(left) == 0 {
			continue
		}
		ours := e.holds(ctx, w.ReadEnv, step)
		for _, temp := range left {
			line, err := settleTemp(w.FS, s, step, temp, ours)
			if err != nil {
				return said, fmt.Errorf("%s: %w", step.Address, err)
			}
			if line != "" {
				said = append(said, line)
			}
		}
	}
	return said, s.sweepTemps(w.FS)
}

// sweepFolder removes what the apply id left in the folder of a change without
// a path: its provider's notes.
func sweepFolder(w fsys.FS, dir fsys.LogicalPath, id string) error {
	if dir == "" {
		return nil
	}
	entries, err := w.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), ".aisync-"+id) && e.Type().IsRegular() {
			if err := removeTemp(w, dir.Join(e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// elsewhere reports whether step lies in another project than the one at hand.
func (s *Store) elsewhere(e Entry, step EntryStep) bool {
	inProject := step.Path != "" && step.Path.Project() || ofProjectItself(step.Address)
	return inProject && e.LockOwner != s.lockOwner
}

// settleTemp handles the temp file that a killed change left beside its target:
// the new bytes that did not get there, or the old ones that came out. ours
// means that the target holds what the change was to write.
func settleTemp(w fsys.FS, s *Store, step EntryStep, temp fsys.LogicalPath, ours bool) (string, error) {
	was, err := fsys.DigestAt(w, temp)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	now, err := fsys.DigestAt(w, step.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	before := contentDigest(step.Before)
	drop := func() error {
		if _, err := w.Lstat(temp); errors.Is(err, fs.ErrNotExist) {
			return nil // KeepBackup took it
		}
		if err := w.Remove(temp, fsys.Expect{Digest: was}, nil); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	keep := func(old fsys.LogicalPath) error { return s.dir.KeepBackup(w, old, now) }
	switch {
	case before == "" || now == before:
		return "", drop() // new bytes that never got there, or the second name of those that did
	case was == before:
		if err := s.dir.KeepBackup(w, temp, was); err != nil {
			return "", err
		}
		return "", drop() // what KeepBackup left, if anything
	case now == "" && step.Action == Delete:
		return yours(step), w.Move(temp, step.Path)
	case ours:
		if err := copyOver(w, temp, step.Path, fsys.Expect{Digest: now}, keep); err != nil {
			return "", err
		}
		return yours(step), drop()
	}
	// Another program wrote the target before ours did; its temp file goes to
	// the backups, in case it is not ours after all.
	if err := s.dir.KeepBackup(w, temp, was); err != nil {
		return "", err
	}
	return "", drop()
}

// copyOver puts what lies at from in the place of to.
func copyOver(w fsys.FS, from, to fsys.LogicalPath, expect fsys.Expect, keep fsys.Keep) error {
	info, err := w.Lstat(from)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := w.Readlink(from)
		if err != nil {
			return err
		}
		return w.Symlink(to, target, expect, keep)
	}
	b, err := w.ReadFile(from)
	if err != nil {
		return err
	}
	return w.Replace(to, fsys.Content{Bytes: b, Mode: info.Mode().Perm()}, expect, keep)
}

// removeTemp removes a left-over, if it still exists.
func removeTemp(w fsys.FS, temp fsys.LogicalPath) error {
	digest, err := fsys.DigestAt(w, temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return w.Remove(temp, fsys.Expect{Digest: digest}, nil)
}

// leftovers names what the apply id may have left beside p, and what a killed
// recovery may have left while removing it.
func leftovers(r fsys.Reader, p fsys.LogicalPath, id string, listed map[fsys.LogicalPath][]fs.DirEntry) ([]fsys.LogicalPath, error) {
	dir := p.Dir()
	if _, ok := listed[dir]; !ok {
		list, err := r.ReadDir(dir)
		if err != nil && !fsys.Conclusive(err) { // a folder that is not there holds nothing
			return nil, err
		}
		listed[dir] = list
	}
	var out []fsys.LogicalPath
	for _, name := range []fsys.LogicalPath{fsys.TempName(p, id), fsys.AsideName(p, id)} {
		for _, e := range listed[dir] {
			if e.Name() == name.Base() || strings.HasPrefix(e.Name(), "."+name.Base()+".aisync-") {
				out = append(out, dir.Join(e.Name()))
			}
		}
	}
	return out, nil
}

// Sweep removes what commands killed before their journal began left of
// aisync's own files. The caller holds the lock of the state, and no apply is
// unfinished.
func (s *Store) Sweep(w fsys.FS) error { return s.sweepTemps(w) }

// sweepTemps removes what killed commands left of aisync's own files: beside
// the project's lock, and in the state folder.
func (s *Store) sweepTemps(w fsys.FS) error {
	sweep := func(dir fsys.LogicalPath, prefix string) error {
		entries, err := w.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), prefix) && strings.Contains(e.Name(), ".aisync-") {
				if err := removeTemp(w, dir.Join(e.Name())); err != nil {
					return err
				}
			}
		}
		return nil
	}
	base := s.dir.Base()
	dirs := []fsys.LogicalPath{base, s.dir.Records(), s.dir.Applies(), base.Join("contents")}
	kept, err := w.ReadDir(base.Join("backups"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range kept {
		dirs = append(dirs, base.Join("backups", e.Name()))
	}
	for _, dir := range dirs {
		if err := sweep(dir, "."); err != nil {
			return err
		}
	}
	if s.lockPath == "" {
		return nil
	}
	for _, prefix := range []string{".", ".."} { // the second of a killed recovery
		if err := sweep(s.lockPath.Dir(), prefix+s.lockPath.Base()+".aisync-"); err != nil {
			return err
		}
	}
	return nil
}

func yours(step EntryStep) string {
	return fmt.Sprintf("%s: another program changed it while it was written; that version is back", step.Address)
}

// holds reports whether the target of step is as the step was to leave it.
func (e *Engine) holds(ctx context.Context, r ReadEnv, step EntryStep) bool {
	looked := e.look(ctx, r, step)
	for _, g := range step.Got {
		now := record.Of(looked.Got, g.Owner)
		for _, l := range g.Record.Leaves {
			if got := now.Leaf(l.Key); slices.Contains(step.Keys, l.Key) && (got == nil || got.Live != l.Live) {
				return false
			}
		}
	}
	return len(step.Got) > 0
}

// Declarations turns the records of o back into declarations with only
// fingerprints. A plan made of them shows drift and nothing pending: for when
// the sources are not available.
func (s *Store) Declarations(o Owner) []Declaration {
	var out []Declaration
	for _, rec := range s.Records(o) {
		d := Declaration{Target: rec.Address, Owner: o, Format: rec.Format, DependsOn: rec.DependsOn, Local: rec.Local}
		for _, l := range rec.Leaves {
			want := l.Wanted()
			if l.Declined != "" {
				want = l.Declined
			}
			d.Leaves = append(d.Leaves, Leaf{Key: l.Key, Own: l.Own, Body: known(want)})
		}
		out = append(out, d)
	}
	return out
}
