package pin

import (
	"errors"

	"aisync.dev/aisync/internal/fetch/hub"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// ErrNotFetched means that a source is not in this machine's cache, and must
// not be fetched now.
var ErrNotFetched = errors.New("not fetched to this machine")

// Reason is why something has no valid pin. It decides what a person can do.
type Reason int

const (
	NotPinned     Reason = iota // and must not be pinned now
	Unfit                       // the pin of ID is damaged, or contradicts the spec
	Gone                        // the source ID no longer has what is pinned
	Changed                     // the source ID has another content than is pinned
	HubDown                     // a hub or a registry does not answer
	ManagerFailed               // a package manager cannot tell the newest version
	NotWritable                 // the lock cannot be written beside its spec
	Unreadable                  // the header of a model's file
)

// Error is an error with a known remedy.
type Error struct {
	Reason Reason
	ID     string // what Update must name; "" if that does not help
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// LeftOut is something that was asked for and is not available now.
type LeftOut struct {
	Address reconcile.Address // model:ID or package:MANAGER/NAME
	Pos     spec.Position
	Err     error
}

// Next returns what a person can do about it, as the end of a sentence.
func (l LeftOut) Next() string {
	switch {
	case l.Address.Kind() != "model":
		return "; name a version in the spec, or pin one with aisync lock when that is mended"
	case errors.Is(l.Err, hub.ErrGated), errors.Is(l.Err, hub.ErrNotFound), errors.Is(l.Err, hub.ErrMissingShard):
		return "" // the error says it: the network is there, and aisync lock would get the same answer
	}
	return "; pin it with aisync lock when the network is there"
}
