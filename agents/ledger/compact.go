package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"aisync.dev/aisync/agents/ledger/trail"
)

// Compact moves the events before a time from audit.jsonl to an archive beside
// it, audit.<time>.jsonl, which all our readers read and the original does not.
// It returns the archive's name and number of lines, or none where nothing is
// that old. A crash may leave the lines in both: readers then skip the archive,
// and the next Compact removes it.
func (l *Ledger) Compact(before time.Time, by string) (name string, n int, err error) {
	if err := checkAgent(by); err != nil {
		return "", 0, err
	}
	err = l.changeLocked(func() error {
		if err := l.dropDuplicate(); err != nil {
			return err
		}
		f, err := l.open(auditFile)
		if err != nil {
			return fmt.Errorf("read %s: %w", auditFile, err)
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		if err != nil {
			return fmt.Errorf("read %s: %w", auditFile, err)
		}
		limit, cut := stampOf(before), 0
		for line := range bytes.Lines(text) {
			e := trail.Parse(bytes.TrimRight(line, "\r\n"))
			if e.Malformed == nil && !later(limit, e.TS) || !bytes.HasSuffix(line, []byte("\n")) {
				break
			}
			cut, n = cut+len(line), n+1
		}
		if n == 0 {
			return nil
		}
		if name, err = l.archiveName(); err != nil {
			return err
		}
		if err := l.replace(name, text[:cut]); err != nil {
			return err
		}
		if err := l.replace(auditFile, text[cut:]); err != nil {
			return err
		}
		// A writer without a lock may have appended to the old file.
		if late, err := afterSize(f, int64(len(text))); err != nil {
			return err
		} else if len(late) > 0 {
			if err := l.add(auditFile, late); err != nil {
				return err
			}
		}
		_, err = l.record("compact", pair{"by", by}, pair{"archivedTo", l.path(name)}, pair{"lines", n})
		return err
	})
	return name, n, err
}

// archiveForm is the time layout of an archive's name.
const archiveForm = "audit.2006-01-02T15-04-05.000Z.jsonl"

// archiveName returns a name that sorts after all archives: the time, or just
// after the last archive's. No archive is overwritten, and their order is kept.
func (l *Ledger) archiveName() (string, error) {
	archives, err := l.archives()
	if err != nil {
		return "", err
	}
	name := l.now().UTC().Format(archiveForm)
	if n := len(archives); n > 0 && name <= archives[n-1] {
		last, err := time.Parse(archiveForm, archives[n-1])
		if err != nil {
			return "", fmt.Errorf("%s is not an archive made by compact; move it away", l.path(archives[n-1]))
		}
		name = last.Add(time.Millisecond).Format(archiveForm)
	}
	return name, nil
}

func afterSize(f *os.File, size int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil || info.Size() <= size {
		return nil, err
	}
	late := make([]byte, info.Size()-size)
	_, err = f.ReadAt(late, size)
	return late, err
}

// dropDuplicate removes the archive of a Compact that was killed before it
// shortened the audit trail.
func (l *Ledger) dropDuplicate() error {
	archives, err := l.archives()
	if n := len(archives); err == nil && n > 0 && l.isDuplicated(archives[n-1]) {
		if err := l.about("remove", archives[n-1]); err != nil {
			return err
		}
		err = os.Remove(l.path(archives[n-1]))
	}
	return err
}

// isDuplicated reports whether the audit trail begins with the archive's content.
func (l *Ledger) isDuplicated(archive string) bool {
	a, err := l.open(archive)
	if err != nil {
		return false
	}
	defer a.Close()
	b, err := l.open(auditFile)
	if err != nil {
		return false
	}
	defer b.Close()
	var bufA, bufB [32 << 10]byte
	for some := false; ; some = true { // two trails differ in their first line
		n, err := io.ReadFull(a, bufA[:])
		if n == 0 {
			return some && errors.Is(err, io.EOF)
		}
		if m, _ := io.ReadFull(b, bufB[:n]); m < n || !bytes.Equal(bufA[:n], bufB[:n]) {
			return false
		}
	}
}
