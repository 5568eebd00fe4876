package ledger

import (
	"fmt"
	"io/fs"
	"os"
	"strings"

	"aisync.dev/aisync/internal/atomicfile"
	"aisync.dev/aisync/internal/unixpath"
)

// Repair repairs what Verify finds, as the audit trail says, and returns the
// findings and the folder with a copy of every file from before. It leaves
// findings without a repair alone. Where nothing can be repaired it does nothing
// and returns no folder. It may be killed and run again.
func (l *Ledger) Repair(by string) (found []Difference, backup string, err error) {
	if err := checkAgent(by); err != nil {
		return nil, "", err
	}
	err = l.changeLocked(func() error {
		if found, err = l.verify(); err != nil {
			return err
		}
		var mended []string
		for _, d := range found {
			if d.mend == nil {
				continue
			}
			if backup == "" {
				if backup, err = l.backup(); err != nil {
					return err
				}
			}
			if err := d.mend(); err != nil {
				return fmt.Errorf("%s %s: %w; the previous files are in %s", d.Kind, d.Subject, err, backup)
			}
			mended = append(mended, d.Kind+" "+d.Subject+": "+d.Repair)
		}
		if mended == nil {
			return nil
		}
		_, err := l.record("repair", pair{"by", by}, pair{"backup", backup}, pair{"mended", mended})
		return err
	})
	return found, backup, err
}

// backup copies the files of the ledger, except older backups, into a folder of
// the ledger, and returns the folder.
func (l *Ledger) backup() (string, error) {
	to := l.path(".backup", strings.NewReplacer(":", "-", ".", "-").Replace(l.stamp()))
	if err := l.about("backup", to); err != nil {
		return "", err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return "", fmt.Errorf("back up: %w", err)
	}
	return to, unixpath.WalkDir(l.path(), func(path string, d os.DirEntry, err error) error {
		rel := strings.TrimPrefix(strings.TrimPrefix(path, l.path()), "/")
		switch {
		case err != nil:
			return err
		case rel == ".backup":
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(unixpath.Join(to, rel), 0o700)
		case !d.Type().IsRegular() || rel == lockFile:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return atomicfile.Write(unixpath.Join(to, rel), text, atomicfile.Options{Survives: atomicfile.Content})
	})
}
