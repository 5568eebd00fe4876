package run

import (
	"cmp"
	"errors"

	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/schema"
)

// openRuns opens the runs of --project, of the supervisor's workspace, or of the
// working folder.
func openRuns(a *cli.App) (*runs.Store, error) {
	dir, home := cmp.Or(a.Flags.Project, a.Env.Get(supervise.VarWorkspace), cli.WorkingFolder()), a.RunHome()
	workspace, err := runs.Find(dir, home)
	if err == nil {
		var adapters []string
		for _, rt := range a.KnownRuntimes(workspace) {
			adapters = append(adapters, rt.ID)
		}
		return runs.Open(workspace, runs.Options{Home: home, Adapters: adapters, Check: schema.CheckRun})
	}
	if errors.Is(err, runs.ErrNoStore) {
		err = advice.Command(err, "aisync run init")
	}
	return nil, err
}

// openRun opens the run id, else the one in AISYNC_RUN, else the active one.
func openRun(a *cli.App, id string) (*runs.Run, error) {
	store, err := openRuns(a)
	if err != nil {
		return nil, err
	}
	r, err := store.Run(cmp.Or(id, a.Env.Get(supervise.VarRun)))
	if errors.Is(err, runs.ErrNoRun) {
		err = advice.Command(err, "aisync run list")
	}
	return r, err
}

// onRun calls do with the run id and closes it.
func onRun(a *cli.App, id string, do func(*runs.Run) error) error {
	r, err := openRun(a, id)
	if err != nil {
		return err
	}
	defer r.Close()
	return do(r)
}

// onState is onRun with the present state of the run.
func onState(a *cli.App, id string, do func(*runs.Run, *runs.State) error) error {
	return onRun(a, id, func(r *runs.Run) error {
		s, err := r.State()
		if err != nil {
			return err
		}
		return do(r, s)
	})
}
