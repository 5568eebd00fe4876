package fetch

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"aisync.dev/aisync/internal/filelock"
	"aisync.dev/aisync/reconcile/fsys"
)

// lockPart opens part and holds an exclusive lock on it until the file is
// closed. Whoever held the lock before may have moved the file to its final
// name meanwhile; a file that part no longer names is never returned, as
// writing to it would change what was published.
func lockPart(store Store, part fsys.LogicalPath) (*os.File, error) {
	for range 3 {
		file, err := store.OpenPart(part)
		if err != nil {
			return nil, fmt.Errorf("open its part: %w", err)
		}
		err = filelock.Try(file, filelock.Exclusive)
		if errors.Is(err, filelock.ErrBusy) {
			file.Close()
			return nil, busy(store, part)
		}
		if err != nil {
			file.Close()
			return nil, fmt.Errorf("lock %s: %w", part, err)
		}
		same, err := names(store, part, file)
		if err == nil && same {
			return file, nil
		}
		_ = filelock.Unlock(file)
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", part, err)
		}
	}
	return nil, busy(store, part)
}

// names reports whether part is still the name of file.
func names(store Store, part fsys.LogicalPath, file *os.File) (bool, error) {
	path, err := store.Physical(part)
	if err != nil {
		return false, err
	}
	return filelock.Current(file, path)
}

// sweep removes temp files that killed writes of the journal left; the lock on
// the part is held, so nobody else writes it. What it cannot remove is only
// litter.
func sweep(store Store, journal fsys.LogicalPath) {
	entries, err := store.ReadDir(journal.Dir())
	if err != nil {
		return
	}
	for _, e := range entries {
		temp := journal.Dir().Join(e.Name())
		if !strings.HasPrefix(e.Name(), fsys.TempName(journal, "").Base()) {
			continue
		}
		if data, err := store.ReadFile(temp); err == nil {
			_ = store.Remove(temp, fsys.Expect{Digest: fsys.Digest(data)}, nil)
		}
	}
}

// busy says who is at work, as far as their journal tells.
func busy(store Store, part fsys.LogicalPath) error {
	who := "another process"
	if data, err := store.ReadFile(journalPath(part)); err == nil {
		if rec, err := decode(data); err == nil {
			who = fmt.Sprintf("process %d, which had %d of %d bytes when it last noted it", rec.PID, rec.present(), rec.Size)
		}
	}
	return fmt.Errorf("it %w into %s by %s; wait for it to end", ErrBusy, part, who)
}
