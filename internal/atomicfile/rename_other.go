//go:build !linux

package atomicfile

// RenameNew renames a file to a name that must be free: fs.ErrExist if it is not.
func RenameNew(from, to string) error { return linkNew(from, to) }
