// Package record holds what aisync last made true of each target: a Record on
// one machine, the lines of aisync.lock where git carries it. It never looks at
// a target. Start reading at Record, then at Lock.
package record

import (
	"encoding/json"
	"reflect"

	"aisync.dev/aisync/reconcile/resource"
)

// Provenance is how a leaf came to be; it decides what happens when the leaf is
// no longer wanted.
type Provenance string

const (
	Created  Provenance = "created"  // aisync made it: deleted when dropped
	Adopted  Provenance = "adopted"  // it was there: released when dropped
	Replaced Provenance = "replaced" // it replaced something: the prior is put back
)

// BackupID is the digest of kept bytes, "sha256:…".
type BackupID string

// Record is what aisync last made true of one target for one owner.
type Record struct {
	Address   resource.Address     `json:"address"`
	Owner     resource.Owner       `json:"-"` // named by the file that holds the record
	Format    string               `json:"format,omitempty"`
	Local     bool                 `json:"local,omitempty"`
	Inputs    resource.Fingerprint `json:"inputs,omitempty"` // of what it depends on
	Leaves    []LeafRecord         `json:"leaves"`           // sorted by key
	DependsOn []resource.Address   `json:"depends_on,omitempty"`
	Private   json.RawMessage      `json:"private,omitempty"` // the provider's own
}

// LeafRecord is what aisync last made true of one leaf.
type LeafRecord struct {
	Key        resource.LeafKey     `json:"key,omitempty"`
	Live       resource.Fingerprint `json:"live"`               // its value when it was last in order
	Want       resource.Fingerprint `json:"want,omitempty"`     // what was wanted then, if it differs from Live (a merge)
	Declined   resource.Fingerprint `json:"declined,omitempty"` // a want that the user refused
	Marked     bool                 `json:"marked,omitempty"`   // Live has conflict markers of a merge
	Own        resource.Ownership   `json:"own,omitempty"`
	Provenance Provenance           `json:"provenance"`
	Prior      BackupID             `json:"prior,omitempty"`   // of the whole target, where Provenance is Replaced
	Claimed    bool                 `json:"claimed,omitempty"` // only a lock claims it: this machine neither wrote nor accepted it
	Private    json.RawMessage      `json:"private,omitempty"` // the provider's, such as created containers
}

// Leaf returns the record of key, or nil.
func (r *Record) Leaf(key resource.LeafKey) *LeafRecord {
	for i := range r.Leaves {
		if r.Leaves[i].Key == key {
			return &r.Leaves[i]
		}
	}
	return nil
}

// Wanted returns what was wanted when l was recorded.
func (l *LeafRecord) Wanted() resource.Fingerprint {
	if l.Want != "" {
		return l.Want
	}
	return l.Live
}

// Owned is a record with its owner.
type Owned struct {
	Owner  resource.Owner `json:"owner"`
	Record Record         `json:"record"`
}

// Of returns o's record in list; an empty one if there is none.
func Of(list []Owned, o resource.Owner) *Record {
	for i := range list {
		if list[i].Owner == o {
			return &list[i].Record
		}
	}
	return &Record{}
}

// Same reports whether l and other record the same, or are both nil.
func (l *LeafRecord) Same(other *LeafRecord) bool { return reflect.DeepEqual(l, other) }
