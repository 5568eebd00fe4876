//go:build unix && !linux && !darwin

package fsys

import "golang.org/x/sys/unix"

const folderFlags = unix.O_RDONLY | unix.O_DIRECTORY

func exchangeat(dir int, a, b string) error { return unix.ENOSYS }

func renameNewat(from int, a string, to int, b string) error { return unix.ENOSYS }

func keeping(string, bool) keeps { return kept }

// noAttribute says that a file does not have an extended attribute.
const noAttribute = unix.ENOENT

func fullSync(fd int) error { return unix.Fsync(fd) }

// cloneat is not proved elsewhere than on Linux.
func cloneat(int, int, string, uint32) error { return unix.ENOTSUP }
