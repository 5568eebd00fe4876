//go:build !linux

package fetch

import "os"

// syncData makes the bytes and the length of f durable.
func syncData(f *os.File) error { return f.Sync() }
