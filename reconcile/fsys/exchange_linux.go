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

// The numbers of file systems that may keep no modes, and have no name in
// package unix: src/stat.c of GNU coreutils, and fs/ntfs3/super.c of Linux.
const (
	ntfsMagic   = 0x5346544e
	ntfs3Magic  = 0x7366746e
	vboxMagic   = 0x786f4256 // a folder shared with a virtual machine: VirtualBox, VMware, Parallels
	vmhgfsMagic = 0xbacbacbc
	prlMagic    = 0x7c7c6673
	wslMagic    = 0x53464846 // WSL 1; WSL 2 shows Windows' disks through 9p
)

// keeping implements the question of Bits. A FUSE file system of a device is
// NTFS or exFAT as a rule. One without is sshfs, gocryptfs or a container's
// share, which keep modes: that all files there are plain says nothing.
func keeping(dir string, executable bool) keeps {
	var s unix.Statfs_t
	if err := again(func() error { return unix.Statfs(dir, &s) }); err != nil {
		return kept
	}
	switch uint32(s.Type) {
	case unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC:
		return notKept
	case unix.FUSE_SUPER_MAGIC:
		var st unix.Stat_t
		if !executable && (unix.Stat(dir, &st) != nil || unix.Major(st.Dev) == 0) {
			return kept
		}
		return unsure
	case unix.V9FS_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC,
		ntfsMagic, ntfs3Magic, vboxMagic, vmhgfsMagic, prlMagic, wslMagic:
		return unsure
	}
	return kept
}

// noAttribute says that a file does not have an extended attribute.
const noAttribute = unix.ENODATA

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
