package supervise

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/agents/worktree"
)

// place is the work tree for a worker. It is registered before it is made: after
// a crash in between, the next supervisor finds it by the registration.
type place struct {
	dir, branch string
	root        string // the folder for work trees, of other projects as well
	from        string // the branch to start from; "": the workspace's commit
	again       bool   // it was meant for a worker that never ran, and may exist
}

// placeOf returns the work tree for a worker of t; nil: the workspace.
func (s *Supervisor) placeOf(st *run.State, t run.Task, workerID string) *place {
	if !run.InTree(t.RunTask, st.Settings()) {
		return nil
	}
	p := &place{dir: filepath.Join(treesOf(st, s.Run), workerID), branch: "aisync/" + s.Run.ID + "/" + workerID, root: st.Settings().WorktreeRoot}
	if w := s.orphanedStart(st, t.ID); w != nil {
		p.dir, p.branch, p.again = w.Worktree, w.Branch, true
	}
	if len(t.DependsOn) == 1 { // several dependencies have no merged branch
		if w := st.Worker(st.Task(t.DependsOn[0]).DoneBy); w != nil {
			p.from = w.Branch
		}
	}
	return p
}

// treesOf returns the folder of a run's work trees. Workspaces may share a root
// and have runs with one name.
func treesOf(st *run.State, r *run.Run) string {
	sum := sha256.Sum256([]byte(r.Workspace()))
	return filepath.Join(st.Settings().WorktreeRoot, filepath.Base(r.Workspace())+"-"+hex.EncodeToString(sum[:4]), r.ID)
}

// orphanedStart returns the last worker of a task that was registered and never ran,
// because its supervisor died, unless its work tree was given to another worker
// since.
func (s *Supervisor) orphanedStart(st *run.State, taskID string) *run.Worker {
	var last *run.Worker
	for i := range st.Workers {
		if w := &st.Workers[i]; w.Task == taskID && w.Worktree != "" {
			last = w
		}
	}
	if last == nil {
		return nil
	}
	o, err := worker.Observe(s.Table, Folder(s.Run, last.ID), last.Owner)
	if err != nil || o.State != worker.Void || o.Ticket.Void != orphaned {
		return nil
	}
	return last
}

// make creates or finds the work tree. A request to stop does not interrupt it.
func (p *place) make(workspace string) error {
	ctx := context.Background()
	repo, err := Repository(ctx, workspace)
	if err != nil {
		return err
	}
	if err := folder(filepath.Dir(p.dir)); err != nil {
		return fmt.Errorf("make a folder for work trees: %w", err)
	}
	var commit string
	if p.from == "" {
		commit, err = repo.Head(ctx)
	} else {
		_, commit, err = repo.Base(ctx, "refs/heads/"+p.from)
	}
	if err != nil {
		return fmt.Errorf("find where to begin: %w", err)
	}
	return repo.Lasting(ctx, p.dir, p.branch, commit, p.again)
}

// folder creates a folder without following links: the root of work trees had
// none when the run began.
func folder(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		switch _, is := os.Lstat(at); {
		case errors.Is(is, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case real != at:
			return fmt.Errorf("%s leads to %s through a link made after the run began: move the link away", at, real)
		}
		return os.MkdirAll(dir, 0o700)
	}
}

// Repository opens the git repository from which workers of a workspace get work
// trees. The error is why they cannot.
func Repository(ctx context.Context, workspace string) (worktree.Repo, error) {
	repo, err := worktree.Open(ctx, workspace)
	var below *worktree.NotTop
	if errors.As(err, &below) {
		err = fmt.Errorf("%s is not the top of its git repository, which is %s: run aisync there to give workers separate work trees", below.Dir, below.Top)
	}
	return repo, err
}
