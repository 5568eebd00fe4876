package fsys

import "golang.org/x/sys/unix"

// folderFlags open a folder as a place to work in, even where it may not be listed.
const folderFlags = unix.O_PATH | unix.O_DIRECTORY

func exchangeat(dir int, a, b string) error {
	return unix.Renameat2(dir, a, dir, b, unix.RENAME_EXCHANGE)
}

func renameNewat(from int, a string, to int, b string) error {
	return unix.Renameat2(from, a, to, b, unix.RENAME_NOREPLACE)
}

func fullSync(fd int) error { return unix.Fsync(fd) }
