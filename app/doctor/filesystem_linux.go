package doctor

import "golang.org/x/sys/unix"

// cannotExchange names the file system of dir if it is known to lack
// RENAME_EXCHANGE, else "". Trying it out would be a write.
func cannotExchange(dir string) string {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return ""
	}
	switch uint32(st.Type) {
	case unix.NFS_SUPER_MAGIC:
		return "NFS"
	case unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		return "SMB"
	case unix.V9FS_MAGIC:
		return "9p"
	case unix.EXFAT_SUPER_MAGIC, unix.MSDOS_SUPER_MAGIC:
		return "FAT"
	}
	return ""
}

// noExec reports whether nothing on a file system can be executed.
func noExec(s unix.Statfs_t) bool { return s.Flags&unix.ST_NOEXEC != 0 }
