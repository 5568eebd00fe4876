package fsys

import (
	"sync"

	"golang.org/x/sys/unix"
)

// maxFolders bounds how many folders are held open; far below the usual limit
// of 1024 open files.
const maxFolders = 128

// folders keeps resolved folders open, so that a thousand files in one folder
// cost one resolution. An entry is used only while its physical path still
// leads to the same inode.
type folders struct {
	mu     sync.Mutex
	byPath map[LogicalPath]*folder
}

// get returns the folder p if it is cached and still in place, or nil.
func (c *folders) get(p LogicalPath) *folder {
	c.mu.Lock()
	f := c.byPath[p]
	if f != nil {
		f.refs++
	}
	c.mu.Unlock()
	if f == nil {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Lstat(f.physical, &st); err == nil && identityOf(&st) == f.id {
		return f
	}
	c.mu.Lock()
	c.drop(f)
	c.mu.Unlock()
	c.release(f)
	return nil
}

// put caches f, with one reference for the caller.
func (c *folders) put(p LogicalPath, f *folder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.byPath[p]; old != nil {
		c.drop(old)
	}
	for _, old := range c.byPath {
		if len(c.byPath) < maxFolders {
			break
		}
		c.drop(old)
	}
	f.refs++
	c.byPath[p] = f
}

// drop removes f; its last user closes it. The caller holds mu.
func (c *folders) drop(f *folder) {
	if f.dropped {
		return
	}
	f.dropped = true
	delete(c.byPath, f.logical)
	if f.refs == 0 {
		f.close()
	}
}

// release gives back one reference.
func (c *folders) release(f *folder) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.refs--; f.refs == 0 && f.dropped {
		f.close()
	}
}
