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
// closed. The previous holder may have moved the file to its final name in the
// meantime; lockPart never returns a file that part no longer names, because
// writing to it would change a published file.
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
			return nil, fmt.Errorf("stat %s: %w", part, err)
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

// sweep removes the temp files of killed journal writes. The caller holds the
// lock of the part, so no other process writes the journal. What sweep cannot
// remove is only litter.
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

// busy describes the process at work, from its journal.
func busy(store Store, part fsys.LogicalPath) error {
	who := "another process"
	if data, err := store.ReadFile(journalPath(part)); err == nil {
		if rec, err := decode(data); err == nil {
			who = fmt.Sprintf("process %d, which last recorded %d of %d bytes", rec.PID, rec.present(), rec.Size)
		}
	}
	return fmt.Errorf("%w into %s by %s; wait for it to end", ErrBusy, part, who)
}
