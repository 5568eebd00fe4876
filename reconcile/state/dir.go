// Package state holds the byte-level stores in the state folder: versioned JSON
// files, backups, written texts, the lock. It knows nothing of plans or
// records, and writes only through fsys. Start reading at Dir.
package state

import (
	"sync"

	"aisync.dev/aisync/reconcile/fsys"
)

// Dir is the state folder. Nothing in it needs to exist to be read. Safe for
// concurrent use.
type Dir struct {
	r    fsys.Reader
	base fsys.LogicalPath

	mu    sync.Mutex
	packs map[string]*pack // texts, by name

	keeping sync.Mutex // one backup is made at a time: two of one digest would meet in one temp file
}

// Open returns the Dir of a folder; it reads and writes nothing.
func Open(r fsys.Reader, base fsys.LogicalPath) *Dir {
	return &Dir{r: r, base: base, packs: map[string]*pack{}}
}

// Base returns the folder itself.
func (d *Dir) Base() fsys.LogicalPath { return d.base }

// Records is the folder with one file for each owner.
func (d *Dir) Records() fsys.LogicalPath { return d.base.Join("records") }

// index is the file of the Index.
func (d *Dir) index() fsys.LogicalPath { return d.base.Join("records.index") }

// Journal is the file of a running apply.
func (d *Dir) Journal() fsys.LogicalPath { return d.base.Join("journal.jsonl") }

// Applies is the folder with one file for each finished apply.
func (d *Dir) Applies() fsys.LogicalPath { return d.base.Join("applies") }

// ID is the file that identifies this state folder.
func (d *Dir) ID() fsys.LogicalPath { return d.base.Join("id.json") }

// LockFile is the file whose flock one apply holds.
func (d *Dir) LockFile() fsys.LogicalPath { return d.base.Join("lock") }
