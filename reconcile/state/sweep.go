package state

import (
	"errors"
	"fmt"
	"io/fs"
	"sort"
	"strings"
	"time"

	"aisync.dev/aisync/reconcile/fsys"
)

// kept is one backup file.
type kept struct {
	path fsys.LogicalPath
	id   string
	size int64
	time time.Time // when it came in, not when its bytes were written
}

// SweepBackups removes backups that needed, by digest, does not name:
// everything older than age, and then the oldest until the rest, needed or not,
// is at most limit bytes. It returns what it removed; with w nil it only
// returns what it would remove.
func (d *Dir) SweepBackups(w fsys.FS, needed map[string]bool, now time.Time, age time.Duration, limit int64) (removed []fsys.LogicalPath, freed int64, err error) {
	all, err := d.backups()
	if err != nil {
		return nil, 0, err
	}
	var total int64
	for _, k := range all {
		total += k.size
	}
	for _, k := range all {
		if needed[k.id] || now.Sub(k.time) < age && total <= limit {
			continue
		}
		if w != nil {
			b, err := w.ReadFile(k.path)
			if err != nil {
				return removed, freed, fmt.Errorf("sweep backups: %w", err)
			}
			if err := w.Remove(k.path, fsys.Expect{Digest: fsys.Digest(b)}, nil); err != nil {
				return removed, freed, fmt.Errorf("sweep backups: %w", err)
			}
		}
		removed, freed, total = append(removed, k.path), freed+k.size, total-k.size
	}
	return removed, freed, nil
}

// backups lists what is kept, the oldest first.
func (d *Dir) backups() ([]kept, error) {
	base := d.base.Join("backups")
	dirs, err := d.r.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list backups: %w", err)
	}
	var all []kept
	for _, dir := range dirs {
		if !dir.IsDir() {
			continue
		}
		files, err := d.r.ReadDir(base.Join(dir.Name()))
		if err != nil {
			return nil, fmt.Errorf("list backups: %w", err)
		}
		for _, f := range files {
			p := base.Join(dir.Name(), f.Name())
			id := "sha256:" + f.Name()
			if isLink(p) {
				id = "link:" + strings.TrimSuffix(f.Name(), linkEnding)
			}
			if at, err := d.backup(id); err != nil || at != p {
				continue // left over, or not ours
			}
			info, err := d.r.Lstat(p)
			if err != nil {
				return nil, fmt.Errorf("list backups: %w", err)
			}
			all = append(all, kept{p, id, info.Size(), fsys.ChangeTime(info)})
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].time.Before(all[j].time) })
	return all, nil
}
