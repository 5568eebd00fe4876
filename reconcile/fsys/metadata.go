package fsys

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// copyMetadata sets the owner, extended attributes and mode of a new file, found as
// st: old's if there is one, otherwise those in the options.
func (d *Disk) copyMetadata(fd int, at string, st *unix.Stat_t, mode fs.FileMode, old *entry) error {
	if old != nil && old.isLink() {
		old = nil
	}
	uid, gid := st.Uid, st.Gid
	switch {
	case old != nil:
		uid, gid = old.st.Uid, old.st.Gid
	case d.givesAway(at):
		uid, gid = uint32(d.uid), uint32(d.gid)
	}
	if uid != st.Uid || gid != st.Gid {
		if err := d.op("chown", at, func() error { return unix.Fchown(fd, int(uid), int(gid)) }); err != nil {
			return fmt.Errorf("owner %d:%d cannot be kept: %w; change the owner of the file first", uid, gid, err)
		}
	}
	if old != nil {
		if err := d.copyAttributes(fd, at, old); err != nil {
			return err
		}
	}
	bits := modeBits(mode)
	switch {
	case mode != 0:
	case old != nil:
		bits = uint32(old.st.Mode) & 0o7777
	default:
		bits = 0o644
	}
	if old == nil && bits == uint32(st.Mode)&0o7777 {
		return nil
	}
	err := d.op("chmod", at, func() error { return unix.Fchmod(fd, bits) })
	if errors.Is(err, unix.EPERM) && keeping(filepath.Dir(at), false) != kept {
		return nil // a Windows disk in WSL reports it; others stay silent: https://github.com/microsoft/WSL/issues/41519
	}
	return err
}

// givesAway reports whether a new entry at the physical path at belongs to the user
// that root works for. The machine's own configuration is root's: a unit that a
// person may change would run what they write into it.
func (d *Disk) givesAway(at string) bool {
	if !d.chown {
		return false
	}
	for _, machine := range []string{"etc", "Library"} {
		dir := filepath.Join(d.root, machine)
		if at == dir || strings.HasPrefix(at, dir+"/") {
			return false
		}
	}
	return true
}

// copyAttributes copies the extended attributes of the file old. User
// attributes and access lists must be copied; attributes that the system sets
// are copied if the system allows it. The error names old and the attribute.
func (d *Disk) copyAttributes(fd int, at string, old *entry) error {
	names, err := attributeNames(old.fd)
	if err != nil {
		return fmt.Errorf("extended attributes of %s cannot be read, and would be lost: %w", old.path(), err)
	}
	for _, name := range names {
		value, err := attribute(old.fd, name)
		if errors.Is(err, noAttribute) {
			continue // removed meanwhile
		}
		if err == nil {
			err = d.op("setxattr", at, func() error { return unix.Fsetxattr(fd, name, value, 0) })
		} else {
			err = fmt.Errorf("read: %w", err)
		}
		if err != nil && (ownAttribute(name) || !refused(err)) {
			return fmt.Errorf("extended attribute %s of %s cannot be kept: %w", name, old.path(), err)
		}
	}
	return nil
}

func ownAttribute(name string) bool {
	return strings.HasPrefix(name, "user.") || name == "system.posix_acl_access"
}

// refused reports whether the system denies something to this user.
func refused(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || unsupported(err)
}

func attributeNames(fd int) ([]string, error) {
	for {
		n, err := listAttributes(fd, nil)
		if unsupported(err) || n == 0 && err == nil {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		b := make([]byte, n)
		n, err = listAttributes(fd, b)
		if err == unix.ERANGE {
			continue // it grew in between
		}
		if err != nil {
			return nil, err
		}
		var names []string
		for _, name := range bytes.Split(b[:n], []byte{0}) {
			if len(name) > 0 {
				names = append(names, string(name))
			}
		}
		return names, nil
	}
}

func listAttributes(fd int, b []byte) (n int, err error) {
	err = again(func() (err error) { n, err = unix.Flistxattr(fd, b); return err })
	return n, err
}

func attribute(fd int, name string) ([]byte, error) {
	get := func(b []byte) (n int, err error) {
		err = again(func() (err error) { n, err = unix.Fgetxattr(fd, name, b); return err })
		return n, err
	}
	for {
		n, err := get(nil)
		if err != nil || n == 0 {
			return nil, err
		}
		b := make([]byte, n)
		n, err = get(b)
		if err == unix.ERANGE {
			continue
		}
		if err != nil {
			return nil, err
		}
		return b[:n], nil
	}
}

// modeBits converts Go's mode to the system's permission bits.
func modeBits(m fs.FileMode) uint32 {
	bits := uint32(m.Perm())
	if m&fs.ModeSetuid != 0 {
		bits |= unix.S_ISUID
	}
	if m&fs.ModeSetgid != 0 {
		bits |= unix.S_ISGID
	}
	if m&fs.ModeSticky != 0 {
		bits |= unix.S_ISVTX
	}
	return bits
}
