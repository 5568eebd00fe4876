package task

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aisync.dev/aisync/agents/task/policy"
	"aisync.dev/aisync/agents/task/sandbox"
	"aisync.dev/aisync/agents/worktree"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// Runner carries out the tasks of a queue, one at a time. Any number of them
// may work on one queue.
type Runner struct {
	Queue    Queue
	Base     string   // what tasks begin from; "" is the default branch
	Trees    string   // the folder for work trees, made if it is missing; outside of the repository, or ignored in it
	Home     string   // of the person, which no step sees
	Show     []string // what of it steps see all the same, read-only
	Unsafe   bool     // no sandbox: the person said so
	Push     string   // the remote to push a branch to; "" none
	Executor Executor // of steps in words; nil: such a task is not taken
	Out      io.Writer
	Now      func() time.Time

	// After is called when the work is committed and pushed, or has failed,
	// before the report is written. It may be nil, and may fill in
	// r.PullRequest. Its error is noted in the report; the task stays as it is.
	After func(ctx context.Context, t spec.Task, r *Report) error

	// Watch is called when a task is begun, and what it returns once when that is
	// over: with the report, or with nil where the task was given back. Either
	// may be nil. Neither changes what comes of the task.
	Watch func(t spec.Task) (over func(*Report))

	// Reached is called with the name of each stage that is entered. It may be
	// nil; it is how the tests end a run where they want to.
	Reached func(stage string)
}

// The stages of a run, in their order. A step's is "step " and its id.
const (
	stageClaimed  = "claimed"
	stageTree     = "tree"
	stageVerify   = "verify"
	stageCommit   = "commit"
	stagePush     = "push"
	stageDecided  = "decided"
	stageReported = "reported"
	stageRemoved  = "removed"
)

// ready is what all tasks of a runner need, found before one is claimed.
type ready struct {
	repo   worktree.Repo
	base   string
	commit string
	way    sandbox.Way
	trees  string
}

// prepare looks whether a task could be carried out at all. It moves nothing.
func (r Runner) prepare(ctx context.Context, project string) (ready, error) {
	var out ready
	if info, err := os.Stat(r.Queue.Folder(project, Queued)); err != nil || !info.IsDir() {
		return out, fmt.Errorf("queue directory not found: %s", r.Queue.Folder(project, Queued))
	}
	var err error
	if out.repo, err = worktree.Open(ctx, r.Queue.Dir); err != nil {
		return out, err
	}
	if err := r.aim(ctx, &out); err != nil {
		return out, err
	}
	if err := inTheWay(ctx, out.repo, branchName("", "")); err != nil {
		return out, err
	}
	if r.Push != "" {
		if err := out.repo.Reach(ctx, r.Push); err != nil {
			return out, err
		}
	}
	out.way = sandbox.None
	if !r.Unsafe {
		if out.way, err = sandbox.Find(ctx); err != nil {
			return out, fmt.Errorf("commands of tasks are not run: %w; or say --unsafe-no-sandbox", err)
		}
	}
	sum := sha256.Sum256([]byte(out.repo.Common()))
	out.trees = filepath.Join(r.Trees, fmt.Sprintf("%s-%x", filepath.Base(out.repo.Dir), sum[:4]))
	return out, nil
}

// inTheWay is an error where a branch of the repository keeps one of a task
// from being made.
func inTheWay(ctx context.Context, repo worktree.Repo, branch string) error {
	if other := repo.InTheWay(ctx, branch); other != "" {
		return fmt.Errorf("%s has a branch called %s, and git can have none below it, where tasks have theirs (%s): rename it: git branch -m %s NEW", repo.Dir, other, branchName("<id>", "<UTC time>"), other)
	}
	return nil
}

// aim finds the commit that the next task begins from: others may have moved
// the base on.
func (r Runner) aim(ctx context.Context, p *ready) (err error) {
	p.base, p.commit, err = p.repo.Base(ctx, r.Base)
	return err
}

// place makes the folder for work trees, and refuses one where they would be
// in the person's way.
func (r Runner) place(ctx context.Context, p *ready) error {
	if err := os.MkdirAll(p.trees, 0o700); err != nil {
		return fmt.Errorf("make the folder for work trees: %w", err)
	}
	real, err := filepath.EvalSymlinks(p.trees)
	if err != nil {
		return err
	}
	p.trees = real
	if rel, err := filepath.Rel(p.repo.Dir, real); err == nil && filepath.IsLocal(rel) && !p.repo.Ignores(ctx, real) {
		return fmt.Errorf("work trees would lie in the repository itself (%s), and git does not ignore them there: say another place with --work-trees DIR", real)
	}
	return nil
}

// Look returns the task that Once would carry out and the limits of that, and
// writes nothing. Its errors are Once's.
func (r Runner) Look(ctx context.Context, project string) (Item, *Report, error) {
	p, err := r.prepare(ctx, project)
	if err != nil {
		return Item{}, nil, err
	}
	i, err := r.Queue.Next(project)
	if err != nil {
		return i, nil, err
	}
	if err := r.can(ctx, p, i.Task); err != nil {
		return i, nil, &unable{i.Task.ID, err}
	}
	report := newReport(i, p, r.now())
	report.Branch = branchName(i.Task.ID, "<UTC time>")
	l, err := policy.Of(i.Task)
	if err == nil {
		err = commands(l, i.Task)
	}
	return i, report, err
}

// Once carries out the task that is to be done first, after it has seen to
// those whose executors have died. Nothing to do is ErrNone, or a *Blocked. An
// error without a report means that no task was touched, or that it was given
// back; that a task failed is told by its report.
func (r Runner) Once(ctx context.Context, project string) (*Report, error) {
	p, err := r.begin(ctx, project)
	if err != nil {
		return nil, err
	}
	return r.once(ctx, p, project, nil)
}

func (r Runner) begin(ctx context.Context, project string) (ready, error) {
	p, err := r.prepare(ctx, project)
	if err == nil {
		err = r.place(ctx, &p)
	}
	return p, err
}

// ErrUnable is the error of a task that cannot be begun here, mostly because no
// executor can do it. It stays in its queue.
var ErrUnable = errors.New("no executor here can do it")

type unable struct {
	id  string
	err error
}

func (u *unable) Error() string        { return fmt.Sprintf("task %s: %v", u.id, u.err) }
func (u *unable) Unwrap() error        { return u.err }
func (u *unable) Is(target error) bool { return target == ErrUnable }

func (r Runner) once(ctx context.Context, p ready, project string, but []string) (*Report, error) {
	if err := r.aim(ctx, &p); err != nil {
		return nil, err
	}
	if err := r.recover(ctx, p.repo, project); err != nil {
		return nil, err
	}
	for {
		free, err := r.Queue.free(project, but...)
		if err != nil {
			return nil, err
		}
		for _, next := range free {
			if err := r.can(ctx, p, next.Task); err != nil {
				return nil, &unable{next.Task.ID, err}
			}
			i, err := r.Queue.Claim(next)
			if errors.Is(err, ErrTaken) {
				continue
			}
			if err != nil {
				return nil, err
			}
			return r.carryOut(ctx, p, i)
		}
	}
}

// can reports whether a task can be begun: its branch can be made, and somebody
// can do what it says in words.
func (r Runner) can(ctx context.Context, p ready, t spec.Task) error {
	if err := inTheWay(ctx, p.repo, branchName(t.ID, "")); err != nil {
		return err
	}
	words := false
	for _, s := range t.Steps {
		words = words || s.Action == "edit"
	}
	switch c, ok := r.Executor.(interface{ Can(spec.Task) error }); {
	case !words:
		return nil
	case r.Executor == nil:
		return fmt.Errorf("it says in words what to edit: %w", ErrUnable)
	case ok:
		return c.Can(t)
	}
	return nil
}

// Run carries out tasks until there are none, until max of them are done (0 is
// no bound), or until a time (zero is none), after which none is begun. One
// that fails, or that no executor can do, does not keep it from the next.
func (r Runner) Run(ctx context.Context, project string, max int, until time.Time) ([]*Report, error) {
	p, err := r.begin(ctx, project)
	if err != nil {
		return nil, err
	}
	var all []*Report
	var but []string
	var problems []error
	for (max == 0 || len(all) < max) && (until.IsZero() || r.now().Before(until)) {
		report, err := r.once(ctx, p, project, but)
		var u *unable
		switch {
		case report != nil:
			all = append(all, report)
			r.say("%s", report.Line())
			if err != nil {
				problems = append(problems, err)
			}
		case errors.As(err, &u):
			but = append(but, u.id)
			problems = append(problems, err)
		case errors.Is(err, ErrNone) && len(all)+len(problems) > 0:
			return all, errors.Join(problems...)
		default:
			return all, errors.Join(append(problems, err)...)
		}
	}
	return all, errors.Join(problems...)
}

func (r Runner) now() time.Time {
	if r.Now != nil {
		return r.Now().UTC()
	}
	return time.Now().UTC()
}

func (r Runner) say(format string, args ...any) {
	if r.Out != nil {
		_, _ = fmt.Fprintf(r.Out, format+"\n", args...)
	}
}

// watched begins to watch a task.
func (r Runner) watched(t spec.Task) (over func(*Report)) {
	if r.Watch != nil {
		over = r.Watch(t)
	}
	if over == nil {
		over = func(*Report) {}
	}
	return over
}

func (r Runner) reached(stage string) {
	if r.Reached != nil {
		r.Reached(stage)
	}
}

// branchName is as the older program had it.
func branchName(id, when string) string { return "chiffon/" + id + "/" + when }

// commands judges all that a task would run by itself, before any of it runs.
func commands(l policy.Limits, t spec.Task) error {
	for _, s := range t.Steps {
		if s.Action != "run" {
			continue
		}
		if err := l.Command(s.Command); err != nil {
			return fmt.Errorf("step %s: %w", s.ID, err)
		}
	}
	for _, v := range t.Verify {
		if err := l.Command(v); err != nil {
			return fmt.Errorf("verify: %w", err)
		}
	}
	return nil
}

// free finds a branch and a folder for a work tree that are not there yet.
func (r Runner) free(ctx context.Context, p ready, id string) (branch, dir string) {
	stamp := r.now().Format("20060102-150405")
	for n := 1; ; n++ {
		name := stamp
		if n > 1 {
			name = fmt.Sprintf("%s-%d", stamp, n)
		}
		branch, dir = branchName(id, name), filepath.Join(p.trees, id+"-"+name)
		_, err := os.Lstat(dir)
		if _, _, taken := p.repo.Base(ctx, "refs/heads/"+branch); taken != nil && errors.Is(err, os.ErrNotExist) {
			return branch, dir
		}
	}
}

// sentence sets errors that stand below one another side by side.
func sentence(s string) string {
	var parts []string
	for line := range strings.Lines(s) {
		if line = termtext.OneLine(line); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}
