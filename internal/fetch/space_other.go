//go:build !linux

package fetch

import "os"

// reserve has no portable form; writes report what does not fit.
func reserve(*os.File, int64, int64) error { return nil }

// space does not know.
func space(*os.File) (free, held int64, ok bool) { return 0, 0, false }

// written does not know of holes.
func written(_ *os.File, length int64) int64 { return length }

// syncData makes the bytes and the length of f durable.
func syncData(f *os.File) error { return f.Sync() }

// writeOut does nothing: the system begins by itself.
func writeOut(*os.File) {}
