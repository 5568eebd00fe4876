// Package atomicfile is the one writer of files. A reader sees the old content
// or the new one, never a part; a kill leaves at most a temporary file, whose
// name begins with a dot. It locks nothing: of two writers at once the last one
// wins. Call Write to replace a file and Create to make one; New is for content
// that comes in pieces. Targets of a spec are written by reconcile/fsys alone.
package atomicfile

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Options say how a file is written. The zero value makes a private file that
// survives a loss of power.
type Options struct {
	// Mode is the permissions of the new file, 0 for 0600. The umask takes none of
	// them; a file system that keeps no modes gives its own.
	Mode fs.FileMode
	// Temp is the name of the temporary file, in the folder of the other, with *
	// for a random part: "" is ".new-*". A name without * is for a caller who keeps
	// other writers away: what a killed one left under it is removed.
	Temp string
	// Survives is what a loss of power may take.
	Survives Survival
	// Root confines the path, where it is not nil: no link leads out of it.
	Root *os.Root
	// Hook is called before the file gets its name, by Write and Create: a test
	// fails or kills there. It may be nil.
	Hook func() error
}

// Survival is what of a written file a loss of power leaves.
type Survival int

const (
	Complete Survival = iota // the new content, once Write has returned
	Content                  // the old content or the new: the folder is not synced
	Nothing                  // perhaps an empty file: for what can be made again
)

// Write makes path hold data in one step, and replaces what is there: a link too,
// not what it leads to. The folder must be there.
func Write(path string, data []byte, o Options) error {
	return write(path, data, o, (*File).Replace)
}

// Create is Write for a name that must be free. Where it is taken, even between
// two steps of this call, it changes nothing and returns fs.ErrExist.
func Create(path string, data []byte, o Options) error {
	return write(path, data, o, (*File).Create)
}

func write(path string, data []byte, o Options, publish func(*File, string) error) error {
	f, err := New(filepath.Dir(path), o)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && o.Hook != nil {
		err = o.Hook()
	}
	if err == nil {
		err = publish(f, filepath.Base(path))
	}
	if err != nil { // not deferred: a panic is a stand-in for a kill, in tests
		f.Discard()
	}
	return err
}

// File is a new file under its temporary name. Replace or Create ends it, or
// Discard.
type File struct {
	in       place
	dir      string
	temp     string
	file     *os.File
	survives Survival
}

// New makes a temporary file in dir.
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
		f.temp = filepath.Join(dir, name)
		var err error
		f.file, err = f.in.OpenFile(f.temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if err == nil {
			_ = f.file.Chmod(mode) // what the umask took; fewer permissions are no danger
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

// Replace gives the file a name in its folder, in the place of what has it.
func (f *File) Replace(name string) error {
	if err := f.close(); err != nil {
		return err
	}
	if err := f.in.Rename(f.temp, filepath.Join(f.dir, name)); err != nil {
		return err
	}
	return f.published()
}

// Create gives the file a name in its folder that must be free. After fs.ErrExist
// another name may be tried. A file system that neither renames without replacing
// nor has hard links gets the file in two steps: there, a reader may see a part.
func (f *File) Create(name string) error {
	if err := f.close(); err != nil {
		return err
	}
	to := filepath.Join(f.dir, name)
	err := f.in.renameNew(f.temp, to)
	if unsupported(err) {
		err = f.copyNew(to)
	}
	if err != nil {
		return err
	}
	return f.published()
}

// Discard removes the temporary file, if there is one yet. It may be called
// after everything else, and of nil.
func (f *File) Discard() {
	if f != nil && f.temp != "" {
		f.file.Close()
		_ = f.in.Remove(f.temp) // what stays is litter
		f.temp = ""
	}
}

// close ends the writing. It may be called again.
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

// copyNew makes a file that must not be there of the temporary one.
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
	_ = f.in.Remove(f.temp) // what stays is litter
	return nil
}

// SyncFolder makes the names in a folder survive a loss of power. A folder that
// is gone, or that may not be read, and a file system that syncs none, is no
// error: there is nothing that could be done.
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

// Torn reports whether the last line of f has no end, which a writer that was
// killed left: what is appended must not be glued to it.
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
