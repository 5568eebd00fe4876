//go:build !linux

package doctor

import "golang.org/x/sys/unix"

// cannotExchange knows nothing here: APFS, which macOS uses, swaps files.
func cannotExchange(string) string { return "" }

// noExec reports whether nothing on a file system can be executed.
func noExec(s unix.Statfs_t) bool { return s.Flags&unix.MNT_NOEXEC != 0 }
