// Package provide holds helpers for providers of whole targets at paths. It
// decides nothing and stores nothing. A new provider calls Unseen in Observe,
// Unwritable in Preflight, and the others in Apply.
package provide

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Wanted returns what c makes of a target with one leaf: a body, or the backup
// to restore. If both are empty, the target goes.
func Wanted(c reconcile.Change) (want reconcile.Body, prior reconcile.BackupID, err error) {
	switch {
	case c.Exact != nil:
		return nil, reconcile.BackupID(*c.Exact), nil
	case len(c.Leaves) == 0:
		return nil, "", fmt.Errorf("%s: a change without a leaf", c.Target.Resource.Address)
	case c.Leaves[0].Action == reconcile.PutBack:
		return nil, c.Leaves[0].Last.Prior, nil
	case c.Leaves[0].Want != nil:
		return c.Leaves[0].Want.Body, "", nil
	}
	return nil, "", nil
}

// Unseen is the observation for an error of reading a: it is absent, something
// else is in its place, or its state is unknown.
func Unseen(a reconcile.Address, err error) reconcile.Observation {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return reconcile.Observation{}
	case errors.Is(err, fsys.ErrEscapes), errors.Is(err, fsys.ErrBlocked):
		return reconcile.Observation{Presence: reconcile.Blocked, Reason: err.Error()}
	}
	return reconcile.Observation{Presence: reconcile.Unknown, Reason: fmt.Sprintf("%s: %v", a.Name(), err)}
}

// Unmake removes the folders that MkdirAll made for a target that could not be
// written; one that is not empty stays.
func Unmake(w reconcile.WriteEnv, dirs []fsys.LogicalPath) {
	for _, d := range slices.Backward(dirs) {
		_ = w.FS.Rmdir(d)
	}
}

// KeepAs hands displaced entries to the backups, under the observed token; nil
// if nothing is kept.
func KeepAs(w reconcile.WriteEnv, token reconcile.Fingerprint) fsys.Keep {
	if w.Keep == nil {
		return nil
	}
	return func(old fsys.LogicalPath) error { return w.Keep(old, token) }
}

// Unwritable is the Preflight of a kind with paths as names: the targets that
// could not be made or replaced, each with the folder that prevents it.
func Unwritable(r reconcile.ReadEnv, batch []reconcile.Change) []reconcile.Problem {
	var problems []reconcile.Problem
	for _, c := range batch {
		a := c.Target.Resource.Address
		if err := r.FS.Writable(a.Path(r.Home)); err != nil {
			problems = append(problems, reconcile.Problem{Address: a, Err: fmt.Errorf("%s: %w", a.Name(), err)})
		}
	}
	return problems
}
