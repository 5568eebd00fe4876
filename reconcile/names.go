// Package reconcile is the engine: it composes declarations into resources,
// decides from want, live and last what to do, plans, applies, and rolls back.
// It never knows what a resource is; providers do. Start reading at
// Engine.Plan, then Engine.Apply; matrix.Decide is where a plan's actions come
// from.
package reconcile

import (
	"aisync.dev/aisync/reconcile/journal"
	"aisync.dev/aisync/reconcile/matrix"
	"aisync.dev/aisync/reconcile/record"
	"aisync.dev/aisync/reconcile/resource"
)

// The types of the engine's parts that a provider, or a caller of Plan and
// Apply, needs: they import only this package.
type (
	Address     = resource.Address
	Owner       = resource.Owner
	Position    = resource.Position
	Fingerprint = resource.Fingerprint
	Body        = resource.Body
	LeafKey     = resource.LeafKey
	Ownership   = resource.Ownership
	Leaf        = resource.Leaf
	Declaration = resource.Declaration
	Resource    = resource.Resource
	Conflict    = resource.Conflict
	Unsupported = resource.Unsupported
	Note        = resource.Note

	Provenance = record.Provenance
	BackupID   = record.BackupID
	Record     = record.Record
	LeafRecord = record.LeafRecord
	Lock       = record.Lock
	Pin        = record.Pin

	Action   = matrix.Action
	Relation = matrix.Relation
	Choice   = matrix.Choice
	Decision = matrix.Decision

	Entry     = journal.Entry
	EntryStep = journal.Step
)

// Their values.
const (
	HostOwner = resource.HostOwner
	Seed      = resource.Seed

	Exclusive = resource.Exclusive
	Member    = resource.Member
	SeedOnly  = resource.SeedOnly

	Created  = record.Created
	Adopted  = record.Adopted
	Replaced = record.Replaced

	None    = matrix.None
	Create  = matrix.Create
	Update  = matrix.Update
	Delete  = matrix.Delete
	Accept  = matrix.Accept
	Release = matrix.Release
	Clash   = matrix.Clash
	Unclear = matrix.Unclear
	PutBack = matrix.PutBack
)

// ErrLockNewer means that a newer aisync wrote the lock.
var ErrLockNewer = record.ErrLockNewer

// ProjectOwner owns what the spec of the project in dir declares.
func ProjectOwner(dir string) Owner { return resource.ProjectOwner(dir) }

// TasksOwner stands for the task files and runs of the project in dir.
func TasksOwner(dir string) Owner { return resource.TasksOwner(dir) }

// ParseAddress checks the form of an address that a person typed.
func ParseAddress(s string) (Address, error) { return resource.ParseAddress(s) }

// ParseLock reads the bytes of a lock; file names it in errors.
func ParseLock(file string, b []byte) (*Lock, error) { return record.ParseLock(file, b) }

// Decide is the matrix, to find out what another choice would do.
func Decide(r Relation, c Choice) Decision { return matrix.Decide(r, c) }
