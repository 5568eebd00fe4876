package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"aisync.dev/aisync/agents/confine"
	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/worker"
)

// Variables that tell a worker its task.
const (
	VarRun    = "AISYNC_RUN"
	VarWorker = "AISYNC_WORKER"
	VarTask   = identity.VarTask
	VarClaim  = "AISYNC_CLAIM"
	// VarWorkspace is the workspace of the run: a worker may run elsewhere.
	VarWorkspace = "AISYNC_WORKSPACE"
)

// start is a registered worker, about to be started.
type start struct {
	job   worker.Job
	env   []string
	token string
	place *place // nil: it works in the workspace
	box   *worker.Confined
	fault error // why it cannot start
}

// spawn registers workers for ready tasks, up to the limit.
func (s *Supervisor) spawn(c *run.Change) error {
	if s.Single && len(s.mine) > 0 {
		return nil
	}
	var tasks []string
	for _, t := range c.State.Ready() {
		if t.Stopped == "" && c.State.Cancelling == "" {
			tasks = append(tasks, t.ID)
		}
	}
	for _, id := range tasks {
		t := c.State.Task(id)
		if active(c.State) >= c.State.Settings().MaxWorkers {
			return nil
		}
		if other := s.livePrevious(c.State, t); other != "" {
			continue
		}
		p, err := s.Plan(*t, c.State)
		if waitsForPerson(err) || c.State.Beside(t, s.Run.Workspace()) != "" {
			continue
		}
		seat, release, held := s.hold(t)
		if held != nil {
			s.waiting[id] = held.Error()
			s.warn("task %s waits: %v", id, held)
			continue
		}
		if seat != "" {
			p.Env = append(slices.Clone(p.Env), identity.VarTaskSeat+"="+seat)
		}
		if err := s.register(c, *t, p, err); err != nil {
			release()
			return fmt.Errorf("task %s: %w", id, err)
		}
		s.holds[s.mine[len(s.mine)-1]] = release
	}
	return nil
}

func active(st *run.State) int {
	n := 0
	for _, w := range st.Workers {
		if w.Retention == run.Active && w.Substrate != run.External {
			n++
		}
	}
	return n
}

// livePrevious returns a worker that had the task before, has not reported its
// end, and is not gone: it may still work, so no other worker may start.
func (s *Supervisor) livePrevious(st *run.State, t *run.Task) string {
	for _, w := range st.Workers {
		if w.Task != t.ID || w.Substrate == run.External || w.Retention != run.Active && w.Retention != run.StaleRegistry {
			continue
		}
		o, err := worker.Observe(s.Table, Folder(s.Run, w.ID), w.Owner)
		if err != nil || !o.Gone() || o.Held && o.State != worker.Ended || o.State == worker.Waiting || o.State == worker.Absent {
			return w.ID
		}
	}
	return ""
}

// register gives t to a new worker, which start starts by p once that is
// recorded, or fails with fault.
func (s *Supervisor) register(c *run.Change, t run.Task, p Plan, fault error) error {
	if p.Substrate == "" {
		p.Substrate = worker.Process
	}
	j := worker.Job{
		Marker: worker.NewMarker(), Substrate: p.Substrate, Command: p.Command, Dir: s.Run.Workspace(), By: s.self,
		Ready: p.Ready, ReadyDelay: p.ReadyDelay, Dialogs: p.Dialogs,
		Agent: cmp.Or(p.Adapter, t.Adapter, command) != command, Sandbox: p.Confined != nil,
	}
	where, err := s.prepare(c.State, t, &j)
	if err != nil {
		return err
	}
	r := run.Registration{Task: t.ID, Adapter: cmp.Or(p.Adapter, t.Adapter, command), Substrate: p.Substrate, Owner: j.Marker, Log: logName(j.Worker)}
	if s.Executor != nil {
		r.Log = ""
	}
	if where != nil {
		r.Worktree, r.Branch = where.dir, where.branch
	}
	if err := c.Register(j.Worker, r); err != nil {
		return err
	}
	token, err := c.Claim(t.ID, j.Worker, 0)
	if err != nil {
		return err
	}
	env := append(slices.Clone(p.Env), VarRun+"="+s.Run.ID, VarWorker+"="+j.Worker, VarTask+"="+t.ID, VarClaim+"="+token, VarWorkspace+"="+s.Run.Workspace())
	s.mine = append(s.mine, j.Worker)
	text := r.Substrate
	if p.Confined != nil {
		text += ", in a sandbox"
		p.Confined.Marker = j.Marker
		p.Confined.Env = append(slices.Clone(p.Confined.Env), VarRun+"="+s.Run.ID, VarWorker+"="+j.Worker, VarTask+"="+t.ID)
	}
	s.pending = append(s.pending, start{j, env, token, where, p.Confined, fault})
	s.tell("%s: worker %s starts (%s, %s)", t.ID, j.Worker, r.Adapter, text)
	return nil
}

// prepare names the worker, chooses its place and writes its folder. A folder
// left by a supervisor that was killed before it registered anything stays
// taken.
func (s *Supervisor) prepare(st *run.State, t run.Task, j *worker.Job) (*place, error) {
	for _, dir := range []string{"workers", "logs"} {
		if dir == "logs" && s.Executor != nil {
			break // it prints nothing
		}
		at := filepath.Join(s.Run.Path, dir)
		if err := os.Mkdir(at, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("make a folder for workers: %w", err)
		}
		if info, err := os.Lstat(at); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("%s is not a folder, or is a link; move it away", at)
		}
	}
	for n := t.Attempts + 1; ; n++ {
		j.Worker = fmt.Sprintf("%.100s.%d", t.ID, n)
		if st.Worker(j.Worker) != nil {
			continue
		}
		j.Log = logOf(s.Run, j.Worker)
		where := s.placeOf(st, t, j.Worker)
		if where != nil {
			j.Dir = where.dir
		}
		err := worker.Prepare(Folder(s.Run, j.Worker), *j)
		if !errors.Is(err, worker.ErrStarted) {
			return where, err
		}
	}
}

// start starts a registered worker. A failure to start is a failed attempt.
func (s *Supervisor) start(p start) error {
	err := p.fault
	if err == nil && p.place != nil {
		err = p.place.make(s.Run.Workspace())
	}
	if err == nil {
		err = recordBegin(context.Background(), s.Run, p.job, p.place)
	}
	if err == nil && p.box != nil {
		err = p.confine(context.Background(), s.Run)
	}
	switch {
	case err != nil:
	case s.Executor == nil:
		err = s.Starter.Start(Folder(s.Run, p.job.Worker), p.job, p.env)
	default:
		if err = s.Executor.Start(Folder(s.Run, p.job.Worker), p.job, p.token, s.wake); err != nil {
			err = fmt.Errorf("%s: %w", undone, err)
		}
	}
	if err == nil {
		return nil
	}
	if _, off := worker.CallOff(Folder(s.Run, p.job.Worker), p.job.Worker, p.job.Marker, clip(err.Error())); off != nil {
		return errors.Join(err, off)
	}
	s.warn("worker %s: %v", p.job.Worker, err)
	return nil // the next round finds that it was called off
}

// confine records the sandbox of the worker, which its keeper makes. It hides the
// workspace and the work trees of other workers.
func (p start) confine(ctx context.Context, r *run.Run) error {
	if p.place == nil {
		return errors.New("a sandbox needs a separate work tree")
	}
	repo, err := Repository(ctx, r.Workspace())
	if err != nil {
		return err
	}
	if p.place.again { // of a worker that never ran
		if err := os.RemoveAll(p.place.dir + confine.Scratch); err != nil {
			return err
		}
	}
	c := *p.box
	c.Box.Hide = append(slices.Clone(c.Box.Hide), repo.Dir, p.place.root)
	if c.Box, err = confine.Tree(ctx, repo, p.place.dir, c.Box); err != nil {
		return fmt.Errorf("prepare the sandbox: %w", err)
	}
	return worker.RecordConfined(Folder(r, p.job.Worker), c)
}
