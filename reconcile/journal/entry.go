// Package journal records what an apply does to each target: first in the
// journal of a running one, then in the history. It changes no target. Start
// reading at Entry, then at Begin and History.
package journal

import (
	"io/fs"
	"slices"
	"time"

	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/matrix"
	"aisync.dev/aisync/reconcile/record"
	"aisync.dev/aisync/reconcile/resource"
)

// Version is the format of journals and of the entries of finished applies.
const Version = 1

// Entry is the record of one apply, for rollback and for people.
type Entry struct {
	FormatVersion int            `json:"format_version"`
	ID            string         `json:"id"`
	Time          time.Time      `json:"time"`
	Command       string         `json:"command"`
	Version       string         `json:"version"`
	LockOwner     resource.Owner `json:"lock_owner,omitempty"` // owner whose lock took part
	LockPath      string         `json:"lock_path,omitempty"`
	RollbackOf    string         `json:"rollback_of,omitempty"`
	RolledBack    string         `json:"rolled_back,omitempty"` // id of the apply that undid this one
	Interrupted   bool           `json:"interrupted,omitempty"` // a later apply wrote its end
	Partial       bool           `json:"partial,omitempty"`     // a part of its plan was not done
	Changes       []Step         `json:"changes"`
	Resources     int            `json:"-"` // number of Changes, whether read or not
}

// Step is one change of an apply: what was there, and its outcome.
type Step struct {
	Address resource.Address     `json:"address"`
	Action  matrix.Action        `json:"action"`
	Format  string               `json:"format,omitempty"`
	Aliases []resource.Address   `json:"aliases,omitempty"` // other addresses of the same place
	Path    fsys.LogicalPath     `json:"path,omitempty"`    // of path kinds
	Folder  fsys.LogicalPath     `json:"folder,omitempty"`  // in which the target lies, where that is known
	Before  resource.Fingerprint `json:"before"`            // token of the whole target; "" if it was absent
	Mode    fs.FileMode          `json:"mode,omitempty"`
	After   resource.Fingerprint `json:"after"` // "" if it is absent, or not done yet
	Writes  bool                 `json:"writes"`
	Keys    []resource.LeafKey   `json:"keys"` // of the leaves that were written
	Had     []record.Owned       `json:"had,omitempty"`
	Got     []record.Owned       `json:"got,omitempty"`
	Dirs    []fsys.LogicalPath   `json:"dirs,omitempty"`
}

// Owners returns the owners whose records e changed, the host first.
func (e Entry) Owners() []resource.Owner {
	var out []resource.Owner
	for _, step := range e.Changes {
		for _, x := range slices.Concat(step.Had, step.Got) {
			if !slices.Contains(out, x.Owner) {
				out = append(out, x.Owner)
			}
		}
	}
	slices.Sort(out) // "host" is before "project:"
	return out
}

// Changed reports whether s changed its target or its records.
func (s Step) Changed() bool {
	if s.Writes && s.Before != s.After {
		return true
	}
	for _, list := range [][]record.Owned{s.Had, s.Got} {
		for _, x := range list {
			for _, l := range x.Record.Leaves {
				if !record.Of(s.Had, x.Owner).Leaf(l.Key).Same(record.Of(s.Got, x.Owner).Leaf(l.Key)) {
					return true
				}
			}
		}
	}
	return false
}
