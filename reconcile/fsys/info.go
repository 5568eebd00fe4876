package fsys

import (
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// ChangeTime returns when an entry last changed in content, name or attributes;
// unlike its modification time no program can set it, and a move renews it.
func ChangeTime(fi fs.FileInfo) time.Time {
	if st, ok := fi.Sys().(*unix.Stat_t); ok {
		return time.Unix(int64(st.Ctim.Sec), int64(st.Ctim.Nsec))
	}
	return fi.ModTime()
}

// Stamp identifies the file behind fi, and its state as of its last write, move
// or change of attributes: its inode, size and times.
func Stamp(fi fs.FileInfo) string {
	var inode uint64
	if st, ok := fi.Sys().(*unix.Stat_t); ok {
		inode = uint64(st.Ino)
	}
	return fmt.Sprintf("%d %d %d %d", inode, fi.Size(), fi.ModTime().UnixNano(), ChangeTime(fi).UnixNano())
}

// Links returns how many names the file behind fi has.
func Links(fi fs.FileInfo) uint64 {
	if st, ok := fi.Sys().(*unix.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// fileInfo is a FileInfo of an entry that was found relative to a handle.
type fileInfo struct {
	name string
	st   *unix.Stat_t
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.st.Size }
func (i fileInfo) ModTime() time.Time { return time.Unix(int64(i.st.Mtim.Sec), int64(i.st.Mtim.Nsec)) }
func (i fileInfo) IsDir() bool        { return i.Mode().IsDir() }
func (i fileInfo) Sys() any           { return i.st }

func (i fileInfo) Mode() fs.FileMode {
	m := fs.FileMode(i.st.Mode & 0o777)
	bits := uint32(i.st.Mode)
	if bits&unix.S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	if bits&unix.S_ISGID != 0 {
		m |= fs.ModeSetgid
	}
	if bits&unix.S_ISVTX != 0 {
		m |= fs.ModeSticky
	}
	switch i.st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		m |= fs.ModeDir
	case unix.S_IFLNK:
		m |= fs.ModeSymlink
	case unix.S_IFIFO:
		m |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		m |= fs.ModeSocket
	case unix.S_IFCHR:
		m |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		m |= fs.ModeDevice
	}
	return m
}
