package main

import (
	"cmp"
	"errors"

	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/supervise"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/schema"
)

// openRuns opens the runs of the workspace that the caller stands in, or that its
// supervisor has given it.
func (a *app) openRuns() (*runs.Store, error) {
	dir, home := cmp.Or(a.g.project, a.env.Get(supervise.VarWorkspace), workingFolder()), a.runHome()
	workspace, err := runs.Find(dir, home)
	if err == nil {
		var adapters []string
		for _, rt := range a.knownRuntimes(workspace) {
			adapters = append(adapters, rt.ID)
		}
		return runs.Open(workspace, runs.Options{Home: home, Adapters: adapters, Check: schema.CheckRun})
	}
	if errors.Is(err, runs.ErrNoStore) {
		err = advice.Command(err, "aisync run init")
	}
	return nil, err
}

// runHome is the home whose .ilchul holds the user's defaults; "" where there is none.
func (a *app) runHome() string {
	p, err := a.placesFor("")
	if err != nil {
		return ""
	}
	return p.Physical(p.Home)
}

// openRun opens one run: the one named, else the caller's, else the active one.
func (a *app) openRun(id string) (*runs.Run, error) {
	store, err := a.openRuns()
	if err != nil {
		return nil, err
	}
	r, err := store.Run(cmp.Or(id, a.env.Get(supervise.VarRun)))
	if errors.Is(err, runs.ErrNoRun) {
		err = advice.Command(err, "aisync run list")
	}
	return r, err
}

// onRun opens one run for as long as do is about it.
func (a *app) onRun(id string, do func(*runs.Run) error) error {
	r, err := a.openRun(id)
	if err != nil {
		return err
	}
	defer r.Close()
	return do(r)
}

// onState is onRun with the run as it is now.
func (a *app) onState(id string, do func(*runs.Run, *runs.State) error) error {
	return a.onRun(id, func(r *runs.Run) error {
		s, err := r.State()
		if err != nil {
			return err
		}
		return do(r, s)
	})
}
