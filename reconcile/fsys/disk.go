package fsys

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Disk is the FS of the real file system.
type Disk struct {
	root    string // physical, links resolved
	home    LogicalPath
	project string // physical, links resolved, or ""
	tag     string
	hook    Hook
	uid     int
	gid     int
	chown   bool
	folders folders
	bits    Bits

	mu    sync.Mutex
	dirty map[string]bool // physical folders that changed since the last Flush
	weak  map[string]bool // physical folders where entries cannot be exchanged
}

var _ FS = (*Disk)(nil)

// New returns the file system that o describes. Root and Project must exist.
func New(o Options) (*Disk, error) {
	d := &Disk{home: o.Home, tag: o.Tag, hook: o.Hook, uid: o.UID, gid: o.GID, chown: o.Chown,
		folders: folders{byPath: map[LogicalPath]*folder{}}, dirty: map[string]bool{}, weak: map[string]bool{}}
	if o.Home != "" {
		if err := valid(o.Home); err != nil || o.Home.Project() {
			return nil, fmt.Errorf("home %q must be a clean absolute path", o.Home)
		}
	}
	root := o.Root
	if root == "" {
		root = "/"
	}
	var err error
	if d.root, err = base("root", root); err != nil {
		return nil, err
	}
	if o.Project != "" {
		if d.project, err = base("project", o.Project); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// base resolves a folder that the user named, and thereby trusts.
func base(what, p string) (string, error) {
	abs, err := filepath.Abs(p)
	if err != nil {
		return "", fmt.Errorf("%s folder %s: %w", what, p, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("%s folder: %w", what, err)
	}
	fi, err := os.Stat(real)
	if err != nil {
		return "", fmt.Errorf("%s folder: %w", what, err)
	}
	if !fi.IsDir() {
		return "", fmt.Errorf("%s %s is not a folder", what, p)
	}
	return real, nil
}

// Weaker lists the physical folders whose file system cannot exchange entries
// in one step: there, another program's change between the last check and the
// rename is overwritten without notice.
func (d *Disk) Weaker() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for p := range d.weak {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

func (d *Disk) weaken(f *folder) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.weak[f.physical] = true
}

// Replace implements FS.
func (d *Disk) Replace(p LogicalPath, content Content, expect Expect, keep Keep) error {
	return d.place(p, expect, keep, func(f *folder, temp string, old *entry) (identity, error) {
		from := content.From
		if from == nil {
			from = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes)), nil }
		}
		return d.create(f, temp, func(w io.Writer) error {
			r, err := from()
			if err != nil {
				return err
			}
			defer r.Close()
			_, err = io.Copy(w, r)
			return err
		}, content.Mode, old)
	})
}

// Symlink implements FS.
func (d *Disk) Symlink(p LogicalPath, target string, expect Expect, keep Keep) error {
	return d.place(p, expect, keep, func(f *folder, temp string, _ *entry) (identity, error) {
		return d.link(f, temp, target)
	})
}

// place lets build make the new entry beside p and puts it where p is.
func (d *Disk) place(p LogicalPath, expect Expect, keep Keep, build func(*folder, string, *entry) (identity, error)) error {
	f, name, err := d.split(p)
	if err != nil {
		return err
	}
	defer d.folders.release(f)
	old, err := f.expect(name, expect)
	if err != nil {
		return err
	}
	defer old.close()
	temp := TempName(p, d.tag).Base()
	made, err := build(f, temp, old)
	if err != nil {
		return err
	}
	if !expect.Absent && old.changed() {
		// A change seen before the exchange never becomes visible as displaced;
		// a later one is swapped back.
		err = f.recheck(name, name, expect)
	}
	if err != nil {
		err = d.discard(f, temp, made, err)
	} else if !expect.Absent {
		err = d.swap(f, name, temp, made, expect, keep)
	} else if err = d.renameNew(f, temp, f, name); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%s %w: it was not there", f.path(name), ErrChanged)
		}
		err = d.discard(f, temp, made, err)
	}
	if err != nil {
		return err
	}
	d.changed(f)
	return nil
}

// create makes a new regular file, complete and on disk, or nothing. old is the
// entry whose owner, mode and attributes to keep; may be nil.
func (d *Disk) create(f *folder, name string, fill func(io.Writer) error, mode fs.FileMode, old *entry) (id identity, err error) {
	at := f.path(name)
	fd := -1
	err = d.op("create", at, func() (err error) {
		fd, err = unix.Openat(f.fd, name, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		return err
	})
	if errors.Is(err, fs.ErrExist) {
		return id, fmt.Errorf("%s is left from an interrupted run: %w", at, err)
	}
	if err != nil {
		return id, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return id, err
	}
	id = identityOf(&st)
	err = fill(writer{d, fd, at})
	if err == nil {
		err = d.copyMetadata(fd, at, &st, mode, old)
	}
	if err == nil {
		err = d.sync(fd, at)
	}
	if err != nil {
		return id, d.discard(f, name, id, err)
	}
	return id, nil
}

// link makes a new link, or nothing.
func (d *Disk) link(f *folder, name, target string) (id identity, err error) {
	at := f.path(name)
	err = d.op("symlink", at, func() error { return unix.Symlinkat(target, f.fd, name) })
	if errors.Is(err, fs.ErrExist) {
		return id, fmt.Errorf("%s is left from an interrupted run: %w", at, err)
	}
	if err != nil {
		return id, err
	}
	st, err := lstatat(f.fd, name)
	if err != nil {
		return id, &fs.PathError{Op: "lstat", Path: at, Err: err}
	}
	id = identityOf(st)
	if d.givesAway(at) {
		err = d.op("chown", at, func() error { return unix.Fchownat(f.fd, name, d.uid, d.gid, unix.AT_SYMLINK_NOFOLLOW) })
		if err != nil {
			return id, d.discard(f, name, id, err)
		}
	}
	return id, nil
}
