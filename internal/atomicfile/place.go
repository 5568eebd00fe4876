package atomicfile

import (
	"io/fs"
	"os"
)

// place is where paths begin: the file system, or a confining folder.
type place interface {
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Open(name string) (*os.File, error)
	Remove(name string) error
	Rename(from, to string) error
	renameNew(from, to string) error
}

type disk struct{}

func (disk) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}
func (disk) Open(name string) (*os.File, error) { return os.Open(name) }
func (disk) Remove(name string) error           { return os.Remove(name) }
func (disk) Rename(from, to string) error       { return os.Rename(from, to) }
func (disk) renameNew(from, to string) error    { return RenameNew(from, to) }

type confined struct{ *os.Root }

func (c confined) renameNew(from, to string) error {
	if err := c.Link(from, to); err != nil {
		return err
	}
	_ = c.Remove(from) // a file that stays is litter
	return nil
}
