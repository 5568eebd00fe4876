package task

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/agents/sandbox"
	"aisync.dev/aisync/agents/task/policy"
	"aisync.dev/aisync/agents/worktree"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

// Runner carries out the tasks of a queue, one at a time. Any number of runners
// may work on one queue.
type Runner struct {
	Queue    Queue
	Base     string   // where tasks begin; "" is the default branch
	Trees    string   // the folder for work trees, created if missing; outside the repository, or ignored in it
	Home     string   // of the person
	Show     []string // paths that steps may read besides the system's and the work tree
	Unsafe   bool     // no sandbox: the person asked for it
	Push     string   // the remote to push branches to; "": none
	Executor Executor // for steps in words; nil: such tasks are not taken
	Network  Network  // whether tasks that ask for the network are taken
	Out      io.Writer
	Now      func() time.Time

	// After is called when the work is committed and pushed, or has failed,
	// before the report is written. It may be nil, and may set r.PullRequest.
	// Its error is noted in the report and does not change the task's result.
	After func(ctx context.Context, t spec.Task, r *Report) error

	// Watch is called when a task begins, and its result once at the end: with
	// the report, or nil where the task was given back. Either may be nil.
	// Neither affects the task.
	Watch func(t spec.Task) (over func(*Report))

	// Hold is called before a task begins, and release when it has ended: it takes
	// what the task may write. An error means that the task waits in its queue. Nil:
	// nothing is taken.
	Hold func(t spec.Task) (release func(), err error)

	// Reached is called with the name of each stage that is entered. It may be
	// nil; tests use it to stop a run at a stage.
	Reached func(stage string)
}

// The stages of a run, in order. A step's is "step " and its id.
const (
	stageClaimed  = "claimed"
	stageTree     = "tree"
	stageBefore   = "baseline" // verify before the steps
	stageVerify   = "verify"
	stageCommit   = "commit"
	stagePush     = "push"
	stageDecided  = "decided"
	stageReported = "reported"
	stageRemoved  = "removed"

	// Of the recovery of a task whose executor has died.
	stageFound  = "found"
	stageTaken  = "taken over"
	stageBuried = "buried"
)

// readiness is what all tasks of a runner need, found before one is claimed.
type readiness struct {
	repo   worktree.Repo
	base   string
	commit string
	way    sandbox.Way
	trees  string
}

// prepare checks whether tasks can be carried out at all. It moves nothing.
func (r Runner) prepare(ctx context.Context, project string) (readiness, error) {
	var out readiness
	if info, err := os.Stat(r.Queue.Folder(project, Queued)); err != nil || !info.IsDir() {
		return out, fmt.Errorf("queue directory not found: %s", r.Queue.Folder(project, Queued))
	}
	var err error
	if out.repo, err = worktree.Open(ctx, r.Queue.Dir); err != nil {
		return out, err
	}
	if err := r.resolveBase(ctx, &out); err != nil {
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
			return out, fmt.Errorf("commands of tasks are not run: %w, or use --unsafe-no-sandbox", err)
		}
	}
	sum := sha256.Sum256([]byte(out.repo.Common()))
	out.trees = filepath.Join(r.Trees, fmt.Sprintf("%s-%x", filepath.Base(out.repo.Dir), sum[:4]))
	return out, nil
}

// inTheWay returns an error if a branch of the repository prevents the task's
// branch.
func inTheWay(ctx context.Context, repo worktree.Repo, branch string) error {
	if other := repo.InTheWay(ctx, branch); other != "" {
		return fmt.Errorf("%s has a branch %s, which prevents the branches of tasks (%s); rename it: git branch -m %s NEW", repo.Dir, other, branchName("<id>", "<UTC time>"), other)
	}
	return nil
}

// resolveBase finds the commit where the next task begins: the base may have moved.
func (r Runner) resolveBase(ctx context.Context, p *readiness) (err error) {
	p.base, p.commit, err = p.repo.Base(ctx, r.Base)
	return err
}

// prepareTrees creates the folder for work trees, and refuses one inside the repository
// that git does not ignore.
func (r Runner) prepareTrees(ctx context.Context, p *readiness) error {
	if err := os.MkdirAll(p.trees, 0o700); err != nil {
		return fmt.Errorf("make the folder for work trees: %w", err)
	}
	real, err := filepath.EvalSymlinks(p.trees)
	if err != nil {
		return err
	}
	p.trees = real
	if rel, err := filepath.Rel(p.repo.Dir, real); err == nil && filepath.IsLocal(rel) && !p.repo.Ignores(ctx, real) {
		return fmt.Errorf("work trees would lie in the repository itself (%s), where git does not ignore them: choose another folder with --work-trees DIR", real)
	}
	return nil
}

// holds reports whether dir lies in the folder for work trees.
func (p readiness) holds(dir string) bool {
	rel, err := filepath.Rel(p.trees, dir)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

// Look returns the task that Once would carry out and its limits, and writes
// nothing. Its errors are Once's.
func (r Runner) Look(ctx context.Context, project string) (Item, *Report, error) {
	p, err := r.prepare(ctx, project)
	if err != nil {
		return Item{}, nil, err
	}
	i, err := r.Queue.Next(project)
	if err != nil {
		return i, nil, err
	}
	if err := r.can(ctx, p, i); err != nil {
		return i, nil, &unable{[]string{i.Task.ID}, err}
	}
	report := newReport(i, p, r.now())
	report.Branch = branchName(i.Task.ID, "<UTC time>")
	l, err := policy.Of(i.Task)
	if err == nil {
		err = commands(l, i.Task)
	}
	return i, report, err
}

// Once carries out the first task, after recovering those whose executors have
// died. Nothing to do is ErrNone, or a *Blocked. An error without a report means
// that no task was touched, or that it was given back; a failed task is a
// report.
func (r Runner) Once(ctx context.Context, project string) (*Report, error) {
	p, err := r.begin(ctx, project)
	if err != nil {
		return nil, err
	}
	return r.once(ctx, p, project, nil)
}

func (r Runner) begin(ctx context.Context, project string) (readiness, error) {
	p, err := r.prepare(ctx, project)
	if err == nil {
		err = r.prepareTrees(ctx, &p)
	}
	return p, err
}

func (r Runner) once(ctx context.Context, p readiness, project string, but []string) (*Report, error) {
	if err := r.resolveBase(ctx, &p); err != nil {
		return nil, err
	}
	if err := r.recover(ctx, p, project); err != nil {
		return nil, err
	}
	var leased error
	for {
		free, err := r.Queue.free(project, but...)
		if err == ErrNone && leased != nil { // it says nothing else
			return nil, fmt.Errorf("%w that is free: %w", ErrNone, leased)
		}
		if err != nil {
			return nil, err
		}
		for _, next := range free {
			if err := r.can(ctx, p, next); err != nil {
				return nil, &unable{[]string{next.Task.ID}, err}
			}
			release, err := r.hold(next.Task)
			if err != nil {
				return nil, &unable{[]string{next.Task.ID}, err}
			}
			report, err := r.attempt(ctx, p, next)
			release()
			if errors.Is(err, ErrTaken) {
				if _, there := os.Lstat(next.Path); there == nil { // its lease is older than the move of its file
					but, leased = append(slices.Clip(but), next.Task.ID), err
				}
				continue
			}
			if err != errChanged { // else it was given back: look again
				return report, err
			}
			break
		}
	}
}

// Run carries out tasks until none is left, until max are done (0: no limit), or
// until a time (zero: none) after which none begins. It continues after a task
// that fails or that no executor can do. Its error names the tasks that are not
// approved.
func (r Runner) Run(ctx context.Context, project string, max int, until time.Time) ([]*Report, error) {
	all, err := r.run(ctx, project, max, until)
	if n := (*NotApproved)(nil); ctx.Err() == nil && !errors.As(err, &n) {
		if waits := r.Queue.unapproved(project); errors.As(waits, &n) {
			if errors.Is(err, ErrNone) { // nothing else
				return all, waits
			}
			err = errors.Join(err, waits)
		}
	}
	return all, err
}

func (r Runner) run(ctx context.Context, project string, max int, until time.Time) ([]*Report, error) {
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
			but = append(but, u.ids...)
			problems = append(problems, err)
		case errors.Is(err, ErrNone) && len(all)+len(problems) > 0:
			return all, errors.Join(grouped(problems)...)
		default:
			return all, errors.Join(append(grouped(problems), err)...)
		}
	}
	return all, errors.Join(grouped(problems)...)
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

// hold calls Hold.
func (r Runner) hold(t spec.Task) (release func(), err error) {
	if r.Hold == nil {
		return func() {}, nil
	}
	return r.Hold(t)
}

// watched calls Watch.
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

// branchName returns the branch name in the older program's form.
func branchName(id, when string) string { return "chiffon/" + id + "/" + when }

// commands judges all commands of a task before any of them runs.
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

// free returns an unused branch and folder for a work tree.
func (r Runner) free(ctx context.Context, p readiness, id string) (branch, dir string) {
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

// sentence joins the lines of joined errors.
func sentence(s string) string {
	var parts []string
	for line := range strings.Lines(s) {
		if line = termtext.OneLine(line); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}
