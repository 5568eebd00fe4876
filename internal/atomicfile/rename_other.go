//go:build !linux

package atomicfile

// RenameNew renames a file to a new name; fs.ErrExist if the name exists.
func RenameNew(from, to string) error { return linkNew(from, to) }
