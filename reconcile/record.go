package reconcile

import "encoding/json"

// Provenance says how a leaf came to be, and so what happens when it is no
// longer wanted.
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
	Address   Address         `json:"address"`
	Owner     Owner           `json:"-"` // the file that holds it says whose it is
	Format    string          `json:"format,omitempty"`
	Local     bool            `json:"local,omitempty"`
	Inputs    Fingerprint     `json:"inputs,omitempty"` // of what it depends on
	Leaves    []LeafRecord    `json:"leaves"`           // sorted by key
	DependsOn []Address       `json:"depends_on,omitempty"`
	Private   json.RawMessage `json:"private,omitempty"` // the provider's own
}

// LeafRecord is what aisync last made true of one leaf.
type LeafRecord struct {
	Key        LeafKey         `json:"key,omitempty"`
	Live       Fingerprint     `json:"live"`               // what was there when it was last in order
	Want       Fingerprint     `json:"want,omitempty"`     // what was wanted then, where that is not Live (a merge)
	Declined   Fingerprint     `json:"declined,omitempty"` // a want that the user refused
	Marked     bool            `json:"marked,omitempty"`   // Live has conflict markers of a merge
	Own        Ownership       `json:"own,omitempty"`
	Provenance Provenance      `json:"provenance"`
	Prior      BackupID        `json:"prior,omitempty"`   // of the whole target, where Provenance is Replaced
	Claimed    bool            `json:"claimed,omitempty"` // only a lock says so: this machine neither wrote nor accepted it
	Private    json.RawMessage `json:"private,omitempty"` // the provider's own, such as containers that were made
}

// Leaf returns the record of key, or nil.
func (r *Record) Leaf(key LeafKey) *LeafRecord {
	for i := range r.Leaves {
		if r.Leaves[i].Key == key {
			return &r.Leaves[i]
		}
	}
	return nil
}

// Wanted returns what was wanted when l was recorded.
func (l *LeafRecord) Wanted() Fingerprint {
	if l.Want != "" {
		return l.Want
	}
	return l.Live
}
