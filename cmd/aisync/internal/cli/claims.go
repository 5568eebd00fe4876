package cli

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/lease"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/seat"
	"aisync.dev/aisync/internal/termtext"
)

// HoldClaims returns how a task claims, in the ledger of the project in root, what it
// writes, for as long as it works. It fails where another agent, or a person, claims
// some of that: the task waits. What the caller claims is the task's, too. A ledger
// that is unreadable stops no task. seat is the name that claims, "" where nothing was
// claimed.
func (a *App) HoldClaims(root string) func(task string, globs []string) (seat string, release func(), err error) {
	return func(task string, globs []string) (string, func(), error) {
		seat, release, why, err := a.claimFor(root, globs)
		if err != nil {
			a.Say("task %s: claims were not checked: %s", termtext.Safe(task), termtext.Safe(err.Error()))
		}
		return seat, release, why
	}
}

// claimFor claims what matches globs; why says who claims it already.
func (a *App) claimFor(root string, globs []string) (name string, release func(), why, err error) {
	release = func() {}
	asker, ok, err := a.Asker(root, "")
	if err != nil || !ok || len(globs) == 0 {
		return "", release, nil, err
	}
	if !asker.Agent() {
		asker.Names = append(asker.Names, a.Env.Get("USER"))
	}
	var paths []string
	for _, glob := range globs {
		paths = append(paths, filepath.Join(root, glob))
	}
	held, err := asker.Held(paths...)
	if err != nil {
		return "", release, nil, err
	}
	if len(held) > 0 {
		return "", release, errors.New(lease.Text(held[0])), nil
	}
	all, err := asker.Ledger.Claims()
	if err != nil {
		return "", release, nil, err
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { // the caller's, whose claim stays
		near, err := asker.Ledger.Overlapping(all, "", path)
		return err != nil || slices.ContainsFunc(near, func(c ledger.Claim) bool { return c.State != ledger.Ended })
	})
	if len(paths) == 0 {
		return "", release, nil, nil
	}
	return a.claimAs(root, paths)
}

// claimAs claims paths for this process, under a new seat.
func (a *App) claimAs(root string, paths []string) (name string, release func(), why, err error) {
	release = func() {}
	table := process.System()
	l, err := ledger.Find(root)
	if err != nil {
		return "", release, nil, err
	}
	self, err := table.Read(table.Self())
	if err != nil {
		return "", release, nil, err
	}
	room := seat.At(table, l.Root, time.Now())
	launch := fmt.Sprintf("%016x", rand.Uint64()) // not a secret: knowing it grants nothing
	s, err := room.Take(seat.Ask{Runtime: seat.Task, Worker: true, Launch: launch, PID: self.PID, Start: self.Start, Person: a.Env.Get("USER")})
	if err != nil {
		return "", release, nil, err
	}
	leave := func() {
		if err := room.Leave(s.Name, launch); err != nil {
			a.Report(err)
		}
	}
	l.Leases = &lease.Leases{Table: table, Project: room.Project, Clock: clock.Now, Holder: func() (lease.Holder, bool) {
		return lease.Holder{Runtime: seat.Task, PID: self.PID, Start: self.Start, Place: room.Here()}, true
	}}
	_, err = l.ClaimAll(s.Name, paths, false)
	if errors.Is(err, ledger.ErrClaimed) || errors.Is(err, ledger.ErrOverlap) { // another was faster
		leave()
		return "", release, err, nil
	}
	if err != nil {
		leave()
		return "", release, nil, err
	}
	return s.Name, func() {
		if _, _, err := l.ReleaseAll(s.Name, paths, false); err != nil {
			a.Report(fmt.Errorf("release the claims of the task: %w", err))
		}
		leave()
	}, nil, nil
}
