package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/internal/atomicfile"
	"aisync.dev/aisync/internal/filelock"
	"aisync.dev/aisync/internal/termtext"
)

// Intent is one edit of a shared file, before it is made. Old is the text that it
// changes or takes away.
type Intent struct{ File, Heading, What, Old string }

// text returns the intent as an item of the journal, with the old text as an org
// example: each line after two spaces, and after a comma where org wants one.
func (i Intent) text(now time.Time) string {
	item := fmt.Sprintf("- [%s] %s :: %s :: %s\n", now.Format("2006-01-02 Mon 15:04:05"), termtext.OneLine(i.File), termtext.OneLine(i.Heading), termtext.OneLine(i.What))
	if strings.TrimSpace(i.Old) == "" {
		return item
	}
	var b strings.Builder
	b.WriteString(item + "  #+begin_example\n")
	for line := range strings.Lines(i.Old) {
		if bare := strings.TrimLeft(line, " \t,"); strings.HasPrefix(bare, "*") || strings.HasPrefix(bare, "#+") {
			at := len(line) - len(strings.TrimLeft(line, " \t"))
			line = line[:at] + "," + line[at:]
		}
		b.WriteString("  " + terminated(line, "\n"))
	}
	return b.String() + "  #+end_example\n"
}

// Journal appends an intent to the context's journal and syncs it: after a crash
// the journal names the edit in progress. The context must have been started.
func (c Context) Journal(i Intent, now time.Time) error {
	if id, err := c.copied(); err != nil || id != "" {
		return errors.Join(err, c.notStarted())
	}
	f, err := c.openLocked()
	if errors.Is(err, fs.ErrNotExist) {
		return c.notStarted()
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer f.Close()
	line := i.text(now)
	if torn, err := atomicfile.Torn(f); err != nil {
		return fmt.Errorf("journal: %w", err)
	} else if torn {
		line = "\n" + line
	}
	if _, err := f.WriteString(line); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return f.Sync()
}

func (c Context) notStarted() error {
	return fmt.Errorf("the context of %s is not started: %s; run: aisync session start", c.Name(), c.Path)
}

// copied returns the id of the agent whose copy is in the place of the primary's
// context; "" for every other context.
func (c Context) copied() (string, error) {
	if c.ID != "" {
		return "", nil
	}
	return Copied(c.Root)
}

// openLocked opens and locks the context for appending; if the file was replaced
// before the lock, it opens the new one.
func (c Context) openLocked() (*os.File, error) {
	for {
		f, err := os.OpenFile(c.Path, os.O_RDWR|os.O_APPEND|unix.O_NOFOLLOW, 0)
		if err != nil {
			return nil, err
		}
		if err := wait(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		same, err := filelock.Current(f, c.Path)
		if same {
			return f, nil
		}
		_ = f.Close() // a file that was replaced
		if err != nil {
			return nil, err
		}
	}
}
