// Package atomicfile writes files atomically. A reader sees the old content or
// the new one, never a part; a kill leaves at most a temporary file, whose name
// begins with a dot. It locks nothing: of two concurrent writers the last one
// wins. Call Write to replace a file, Create to make one, and New for content in
// pieces. Only reconcile/fsys writes targets of a spec.
package atomicfile

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Options say how to write a file. The zero value makes a private file that
// survives a loss of power.
type Options struct {
	// Mode is the permissions of the new file, 0 for 0600, unaffected by the
	// umask; a file system without modes chooses them.
	Mode fs.FileMode
	// Temp is the name of the temporary file, in the target's folder, with * for
	// a random part: "" is ".new-*". A name without * is for callers that
	// exclude other writers: New removes a killed writer's file of that name.
	Temp string
	// Survives is what a loss of power leaves.
	Survives Survival
	// Root confines the path, if set: no link leads out of it.
	Root *os.Root
	// Hook is called before Write and Create name the file: tests fail or kill
	// there. It may be nil.
	Hook func() error
}

// Survival is what a loss of power leaves of a written file.
type Survival int

const (
	Complete Survival = iota // the new content, once Write has returned
	Content                  // the old content or the new: the folder is not synced
	Nothing                  // perhaps an empty file: for reproducible content
)

// Write replaces a file by data in one step. It replaces a link, not the link's
// target. The folder must exist.
func Write(file string, data []byte, o Options) error {
	return write(file, data, o, (*File).Replace)
}

// Create is Write for a new file. If the name exists, even if it appears during
// the call, Create changes nothing and returns fs.ErrExist.
func Create(file string, data []byte, o Options) error {
	return write(file, data, o, (*File).Create)
}

func write(file string, data []byte, o Options, publish func(*File, string) error) error {
	f, err := New(path.Dir(file), o)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && o.Hook != nil {
		err = o.Hook()
	}
	if err == nil {
		err = publish(f, path.Base(file))
	}
	if err != nil { // not deferred: in tests a panic stands for a kill
		f.Discard()
	}
	return err
}

// File is a new file under its temporary name. End it with Replace, Create or
// Discard.
type File struct {
	in       place
	dir      string
	temp     string
	file     *os.File
	survives Survival
}

// New creates a temporary file in dir.
func New(dir string, o Options) (*File, error) {
	f := &File{in: disk{}, dir: dir, survives: o.Survives}
	if o.Root != nil {
		f.in = confined{o.Root}
	}
	mode := cmp.Or(o.Mode, 0o600)
	before, after, random := strings.Cut(cmp.Or(o.Temp, ".new-*"), "*")
	for try := 1; ; try++ {
		name := before
		if random {
			name += strconv.FormatUint(rand.Uint64(), 36) + after
		}
		f.temp = path.Join(dir, name)
		var err error
		f.file, err = f.in.OpenFile(f.temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if err == nil {
			_ = f.file.Chmod(mode) // restore what the umask removed; fewer permissions do no harm
			return f, nil
		}
		if !errors.Is(err, fs.ErrExist) || try == 100 {
			return nil, err
		}
		if random {
			continue
		}
		if err := f.in.Remove(f.temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// Write implements io.Writer.
func (f *File) Write(b []byte) (int, error) { return f.file.Write(b) }

// Replace renames the file to name in its folder, and replaces that file.
func (f *File) Replace(name string) error {
	if err := f.close(); err != nil {
		return err
	}
	if err := f.in.Rename(f.temp, path.Join(f.dir, name)); err != nil {
		return err
	}
	return f.published()
}

// Create renames the file to a new name in its folder. After fs.ErrExist another
// name may be tried. On a file system without exclusive renames and hard links
// it copies the file: there, a reader may see a part.
func (f *File) Create(name string) error {
	if err := f.close(); err != nil {
		return err
	}
	to := path.Join(f.dir, name)
	err := f.in.renameNew(f.temp, to)
	if unsupported(err) {
		err = f.copyNew(to)
	}
	if err != nil {
		return err
	}
	return f.published()
}

// Discard removes the temporary file, if it still exists. It may be called after
// the other methods, and on nil.
func (f *File) Discard() {
	if f != nil && f.temp != "" {
		f.file.Close()
		_ = f.in.Remove(f.temp) // a file that stays is litter
		f.temp = ""
	}
}

// close ends writing. It may be called again.
func (f *File) close() error {
	if f.temp == "" {
		return fs.ErrClosed
	}
	if f.survives != Nothing {
		if err := f.file.Sync(); err != nil && !errors.Is(err, fs.ErrClosed) {
			return err
		}
	}
	if err := f.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}

func (f *File) published() error {
	f.temp = ""
	if f.survives != Complete {
		return nil
	}
	return syncFolder(f.in, f.dir)
}

// copyNew copies the temporary file to a new file.
func (f *File) copyNew(to string) error {
	from, err := f.in.Open(f.temp)
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	out, err := f.in.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	if err == nil && f.survives != Nothing {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, f.in.Remove(to))
	}
	_ = f.in.Remove(f.temp) // a file that stays is litter
	return nil
}

// SyncFolder makes the names in a folder survive a loss of power. A missing or
// unreadable folder, and a file system without sync, are no error, because there
// is no remedy.
func SyncFolder(dir string) error { return syncFolder(disk{}, dir) }

func syncFolder(in place, dir string) error {
	d, err := in.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	return err
}

// Torn reports whether the last line of f is incomplete, as a killed writer
// leaves it: an appended text would continue that line.
func Torn(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], info.Size()-1); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return last[0] != '\n', nil
}

// unsupported reports whether a file system lacks a way to name a file.
func unsupported(err error) bool {
	for _, e := range []unix.Errno{unix.EPERM, unix.ENOTSUP, unix.EOPNOTSUPP, unix.ENOSYS, unix.EINVAL, unix.EMLINK} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
