package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/internal/atomicfile"
	"aisync.dev/aisync/internal/filelock"
	"aisync.dev/aisync/internal/unixpath"
)

// changeLocked runs change while no other process of ours changes this ledger. The
// original takes no lock: each operation copes with its writes by appending,
// renaming, and reading again after a write.
func (l *Ledger) changeLocked(change func() error) error {
	f, err := os.OpenFile(l.path(lockFile), os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("open the lock of %s: %w", Dir, err)
	}
	defer f.Close() // releases the lock too
	if err := filelock.Wait(context.Background(), f, filelock.Exclusive); err != nil {
		return fmt.Errorf("lock %s: %w", Dir, err)
	}
	if err := l.writable(); err != nil {
		return err
	}
	return change()
}

// readLocked runs look while no process of ours changes the ledger. Before the first
// change there is no lock file, and steady makes none.
func (l *Ledger) readLocked(look func() error) error {
	f, err := os.OpenFile(l.path(lockFile), os.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return look()
	}
	defer f.Close()
	if err := filelock.Wait(context.Background(), f, filelock.Shared); err != nil {
		return fmt.Errorf("lock %s: %w", Dir, err)
	}
	return look()
}

func (l *Ledger) about(op, file string) error {
	if l.hook == nil {
		return nil
	}
	return l.hook(op, file)
}

// create writes a new file with its first content, unless it exists.
func (l *Ledger) create(file, text string) error {
	if _, err := os.Lstat(l.path(file)); err == nil {
		return nil
	}
	if err := l.about("create", file); err != nil {
		return err
	}
	// The name appears with its content in one step: a reader never sees an
	// inbox without its header.
	o := l.writing(file, "link")
	o.Survives = atomicfile.Nothing
	if err := atomicfile.Create(l.path(file), []byte(text), o); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make %s: %w", file, err)
	}
	return nil
}

// replace replaces a file's content in one step and keeps its mode.
func (l *Ledger) replace(file string, text []byte) error {
	if err := l.about("replace", file); err != nil {
		return err
	}
	o := l.writing(file, "rename")
	if info, err := os.Lstat(l.path(file)); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file; move it away", l.path(file))
		}
		o.Mode = info.Mode().Perm()
	}
	if err := atomicfile.Write(l.path(file), text, o); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// writing returns the options for writing file, under a temporary name that only
// the holder of the lock uses.
func (l *Ledger) writing(file, step string) atomicfile.Options {
	return atomicfile.Options{Temp: "." + unixpath.Base(l.path(file)) + ".tmp", Survives: atomicfile.Content, Hook: func() error { return l.about(step, file) }}
}

// add appends text to file in one write. If a killed writer left an incomplete
// last line, add ends it first. The cost does not depend on the file's size.
func (l *Ledger) add(file string, text []byte) error {
	if err := l.about("append", file); err != nil {
		return err
	}
	f, err := os.OpenFile(l.path(file), os.O_RDWR|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return fmt.Errorf("append to %s: %w", file, err)
	}
	if err := l.mustBeFile(f, file); err != nil {
		return errors.Join(err, f.Close())
	}
	torn, err := atomicfile.Torn(f)
	if torn {
		text = append([]byte{'\n'}, text...)
	}
	if err == nil {
		_, err = f.Write(text)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("append to %s: %w", file, err)
	}
	return nil
}

// read returns a file's content; none where it is missing.
func (l *Ledger) read(file string) ([]byte, error) {
	f, err := l.open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return b, nil
}

// open opens a file of the ledger for reading. It does not wait for a named pipe
// in its place.
func (l *Ledger) open(file string) (*os.File, error) {
	f, err := os.OpenFile(l.path(file), os.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := l.mustBeFile(f, file); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// mustBeFile returns an error if f, which was opened as file, is something else.
func (l *Ledger) mustBeFile(f *os.File, file string) error {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is %s, not a file; move it away and run: ensemble init", l.path(file), kindOf(info.Mode()))
	}
	return err
}

func kindOf(m os.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&os.ModeNamedPipe != 0:
		return "a named pipe"
	case m&os.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
