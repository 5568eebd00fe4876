package partfile

import (
	"errors"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

func reserve(f *os.File, from, to int64) error {
	err := retry(func() error { return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, from, to-from) })
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EFBIG) || errors.Is(err, unix.EDQUOT) {
		return err
	}
	return nil
}

func space(f *os.File) (free, held int64, ok bool) {
	var system unix.Statfs_t
	var file unix.Stat_t
	if retry(func() error { return unix.Fstatfs(int(f.Fd()), &system) }) != nil ||
		retry(func() error { return unix.Fstat(int(f.Fd()), &file) }) != nil {
		return 0, 0, false
	}
	return int64(system.Bavail) * system.Bsize, file.Blocks * 512, true
}

func written(f *os.File, length int64) int64 {
	at, err := f.Seek(0, unix.SEEK_HOLE)
	if _, serr := f.Seek(0, io.SeekStart); err != nil || serr != nil {
		return length
	}
	return min(at, length)
}

// OpenDirect opens f once more, for writes that pass the page cache by, if it lies
// on ext4 or XFS. It returns nil for others, among them those that copy, compress or
// send what is written.
func OpenDirect(f *os.File) *os.File {
	var system unix.Statfs_t
	if retry(func() error { return unix.Fstatfs(int(f.Fd()), &system) }) != nil ||
		system.Type != unix.EXT4_SUPER_MAGIC && system.Type != unix.XFS_SUPER_MAGIC {
		return nil
	}
	direct, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), os.O_WRONLY|unix.O_DIRECT, 0)
	if err != nil {
		return nil
	}
	return direct
}

// syncData makes the bytes and the length of f durable.
func syncData(f *os.File) error {
	return os.NewSyscallError("fdatasync", retry(func() error { return unix.Fdatasync(int(f.Fd())) }))
}

func writeOut(f *os.File) {
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}

func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
