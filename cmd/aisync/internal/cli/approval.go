package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Approve records on this machine, outside of the project in dir, that the person
// approved the tasks or runs with digests. command is the one that the person
// typed.
func (a *App) Approve(ctx context.Context, command, dir string, digests []string) error {
	p, owner, err := a.approvals(dir)
	if err == nil {
		err = a.Machine(p).Answer(ctx, stack.LockRequest{Command: command, Timeout: time.Minute}, func(s *reconcile.Store, w fsys.FS) error { return s.Agree(w, owner, digests) })
	}
	if err != nil {
		return fmt.Errorf("record the approval: %w", err)
	}
	return nil
}

// EndApproval ends the approval of digest in dir. command is the one that used it.
func (a *App) EndApproval(ctx context.Context, command, dir, digest string) error {
	p, owner, err := a.approvals(dir)
	if err != nil {
		return err
	}
	return a.Machine(p).Answer(ctx, stack.LockRequest{Command: command, Timeout: time.Minute}, func(s *reconcile.Store, w fsys.FS) error { return s.Withdraw(w, owner, []string{digest}) })
}

// Approved returns the test for what was approved on this machine for the project
// in dir.
func (a *App) Approved(dir string) (func(digest string) bool, error) {
	p, owner, err := a.approvals(dir)
	if err != nil {
		return nil, err
	}
	reader, err := p.Reader("none")
	if err != nil {
		return nil, err
	}
	store, err := reconcile.OpenStore(reader, p.State)
	if err != nil {
		return nil, err
	}
	return func(digest string) bool { return store.Agreed(owner, digest) }, nil
}

// approvals returns where approvals lie, and the owner of those of dir.
func (a *App) approvals(dir string) (place.Places, reconcile.Owner, error) {
	p, err := a.HostPlaces()
	if err != nil {
		return p, "", err
	}
	real, err := filepath.EvalSymlinks(dir)
	return p, reconcile.TasksOwner(real), err
}
