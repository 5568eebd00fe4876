package fsys

import "golang.org/x/sys/unix"

const folderFlags = unix.O_RDONLY | unix.O_DIRECTORY

func exchangeat(dir int, a, b string) error {
	return unix.RenameatxNp(dir, a, dir, b, unix.RENAME_SWAP)
}

func renameNewat(from int, a string, to int, b string) error {
	return unix.RenameatxNp(from, a, to, b, unix.RENAME_EXCL)
}

// keeping implements the question of Bits; not proved.
func keeping(dir string, _ bool) keeps {
	var s unix.Statfs_t
	if err := again(func() error { return unix.Statfs(dir, &s) }); err != nil {
		return kept
	}
	switch unix.ByteSliceToString(s.Fstypename[:]) {
	case "msdos", "exfat":
		return notKept
	case "ntfs", "smbfs", "webdav", "macfuse", "osxfuse":
		return unsure
	}
	return kept
}

// noAttribute says that a file does not have an extended attribute.
const noAttribute = unix.ENOATTR

// fullSync asks the drive to empty its cache: fsync(2) of macOS does not. Where
// the file system cannot, fsync is what there is.
func fullSync(fd int) error {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0); err == nil {
		return nil
	}
	return unix.Fsync(fd)
}

// cloneat is not proved elsewhere than on Linux.
func cloneat(int, int, string, uint32) error { return unix.ENOTSUP }
