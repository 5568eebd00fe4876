//go:build !linux

package partfile

import "os"

// reserve has no portable form; writes report what does not fit.
func reserve(*os.File, int64, int64) error { return nil }

// space is unknown here.
func space(*os.File) (free, held int64, ok bool) { return 0, 0, false }

// written ignores holes here.
func written(_ *os.File, length int64) int64 { return length }

// syncData makes the bytes and the length of f durable.
func syncData(f *os.File) error { return f.Sync() }

// writeOut does nothing: the system starts by itself.
func writeOut(*os.File) {}

// OpenDirect returns nil: every write goes through the page cache.
func OpenDirect(*os.File) *os.File { return nil }
