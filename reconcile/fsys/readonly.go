package fsys

import (
	"io/fs"
	"os"
)

// ReadOnly returns r without any way to its writing methods, whatever r is.
func ReadOnly(r Reader) Reader { return readOnly{r} }

type readOnly struct{ r Reader }

func (o readOnly) Lstat(p LogicalPath) (fs.FileInfo, error) { return o.r.Lstat(p) }
func (o readOnly) ReadFile(p LogicalPath) ([]byte, error)   { return o.r.ReadFile(p) }
func (o readOnly) Open(p LogicalPath) (*os.File, error)     { return o.r.Open(p) }
func (o readOnly) Digest(p LogicalPath) (string, fs.FileMode, error) {
	return o.r.Digest(p)
}
func (o readOnly) ReadDir(p LogicalPath) ([]fs.DirEntry, error) { return o.r.ReadDir(p) }
func (o readOnly) Readlink(p LogicalPath) (string, error)       { return o.r.Readlink(p) }
func (o readOnly) Physical(p LogicalPath) (string, error)       { return o.r.Physical(p) }
func (o readOnly) Writable(p LogicalPath) error                 { return o.r.Writable(p) }
