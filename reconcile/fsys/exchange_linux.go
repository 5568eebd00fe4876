package fsys

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// folderFlags open a folder as a place to work in, even where it may not be listed.
const folderFlags = unix.O_PATH | unix.O_DIRECTORY

func exchangeat(dir int, a, b string) error {
	return unix.Renameat2(dir, a, dir, b, unix.RENAME_EXCHANGE)
}

func renameNewat(from int, a string, to int, b string) error {
	return unix.Renameat2(from, a, to, b, unix.RENAME_NOREPLACE)
}

func fullSync(fd int) error { return unix.Fsync(fd) }

// cloneat makes name in the folder dir a file that shares the blocks of the
// file from. It has no name before it is complete, so a kill leaves nothing.
func cloneat(from, dir int, name string, mode uint32) error {
	fd, err := openat(dir, ".", unix.O_TMPFILE|unix.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.IoctlFileClone(fd, from); err != nil {
		return err
	}
	if err := unix.Fchmod(fd, mode); err != nil {
		return err
	}
	if err := unix.Fsync(fd); err != nil {
		return err
	}
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), dir, name, unix.AT_SYMLINK_FOLLOW)
}
