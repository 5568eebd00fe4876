package pin

import (
	"errors"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// ErrNotFetched says that a source is in no cache of this machine, and may not
// be fetched now.
var ErrNotFetched = errors.New("it has not been fetched to this machine")

// Reason says why something has no right pin. It decides what a person can do.
type Reason int

const (
	NotPinned     Reason = iota // and may not be pinned now
	Unfit                       // the pin of ID is damaged, or is not what the spec says
	Gone                        // the source ID no longer has what is pinned
	Changed                     // the source ID has another content than is pinned
	HubDown                     // a hub or a registry does not answer
	ManagerFailed               // a package manager cannot tell the newest version
	NotWritable                 // the lock cannot be written where its spec lies
	Unreadable                  // the header of a model's file
)

// Error is an error that has a known way out.
type Error struct {
	Reason Reason
	ID     string // of what Update would move; "" where that does not help
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// LeftOut is something that was asked for and cannot be had now.
type LeftOut struct {
	Address reconcile.Address // model:ID or package:MANAGER/NAME
	Pos     spec.Position
	Err     error
}
