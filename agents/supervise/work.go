package supervise

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/agents/worktree"
)

// Work is what a worker wrote.
type Work struct {
	Commits     int          // on its branch
	Saved       int          // files that were left uncommitted, and were committed for it
	Uncommitted int          // files that it left uncommitted
	Wrote       bool         // there is a commit, an uncommitted file, or a change in the workspace
	Changes     run.Evidence // the diff of its branch, or the names of the files; without Ref where there is none
}

// changes is the name of the evidence that is a worker's diff.
const changes = "changes"

// unwatched are the folders of a workspace in which aisync itself and sessions of
// agents write.
var unwatched = []string{".ilchul", ".ai", "inbox"}

// recordBegin records what a worker finds at its start, by which workOf tells its work.
func recordBegin(ctx context.Context, r *run.Run, j worker.Job, p *place) error {
	b := worker.Begin{Marker: j.Marker, At: time.Now().UTC()}
	var err error
	switch {
	case p != nil:
		var repo worktree.Repo
		if repo, err = Repository(ctx, r.Workspace()); err == nil {
			b.Commit, err = repo.Branch(ctx, p.branch)
		}
	case j.Agent:
		b.Stamp, _, err = worktree.Stamp(ctx, r.Workspace(), b.At, unwatched...)
	default:
		return nil
	}
	if err != nil {
		return fmt.Errorf("record where the worker begins: %w", err)
	}
	return worker.RecordBegin(Folder(r, j.Worker), b)
}

// WorkOf returns what worker w wrote. With save it commits, on the worker's
// branch, what it left uncommitted: only commits go on to the tasks that
// wait for its task.
func WorkOf(ctx context.Context, r *run.Run, w *run.Worker, save bool) (Work, error) {
	var out Work
	b, err := worker.ReadBegin(Folder(r, w.ID), w.Owner)
	if err != nil {
		return out, err
	}
	if w.Worktree == "" {
		if b.Stamp == "" { // a version before this started it
			return Work{Wrote: true}, nil
		}
		now, fresh, err := worktree.Stamp(ctx, r.Workspace(), b.At, unwatched...)
		if err != nil || now == b.Stamp {
			return out, err
		}
		out.Wrote = true
		out.Changes, err = keepChanges(r, strings.NewReader("Files of the workspace, changed while the worker ran:\n"+strings.Join(fresh, "\n")+"\n"))
		return out, err
	}
	repo, err := Repository(ctx, r.Workspace())
	if err != nil {
		return out, err
	}
	if b.Commit == "" {
		if b.Commit, err = repo.Head(ctx); err != nil {
			return out, err
		}
	}
	text := ""
	if save {
		text = fmt.Sprintf("%s: what worker %s left uncommitted\n\nThe worker (%s) ended without a commit of these files. aisync committed them for\ntask %s of run %s.\n", w.Task, w.ID, w.Adapter, w.Task, r.ID)
	}
	tree, err := repo.Work(ctx, w.Worktree, w.Branch, b.Commit, text)
	if err != nil {
		return out, err
	}
	out.Commits, out.Uncommitted, out.Saved = tree.Commits, tree.Uncommitted, tree.Saved
	out.Wrote = out.Commits+out.Uncommitted > 0
	if out.Commits == 0 {
		return out, nil
	}
	var diff bytes.Buffer
	if err := repo.Diff(ctx, b.Commit, tree.Tip, &diff); err != nil {
		return out, err
	}
	out.Changes, err = keepChanges(r, &diff)
	return out, err
}

// keepChanges keeps a worker's changes as evidence.
func keepChanges(r *run.Run, text io.Reader) (e run.Evidence, err error) {
	e = run.Evidence{Kind: "output", Name: changes}
	e.Ref, e.Digest, e.Size, err = r.KeepOutput(text)
	return e, err
}

// answers reports whether the graph asks nothing of a task but what is printed or
// a command that passes: such a task need not write.
func answers(t *run.Task) bool { return len(t.Evidence) > 0 }

// unproved returns why an agent's task is not done though the agent says so, ""
// if it is: it wrote nothing, and named no artifact.
func unproved(st *run.State, w *run.Worker, t *run.Task, wrote bool) string {
	if wrote || answers(t) || !st.Settings().RequireEvidence || t.Proof["artifact"] > 0 {
		return ""
	}
	text := "it wrote nothing and named no artifact; what it printed is no evidence of work"
	if w.Worktree == "" {
		text += `. Without "worktree": true it starts with the permissions that you gave ` + w.Adapter + ", and may not have been allowed to write"
	}
	return text + fmt.Sprintf(`. A task that only answers has "evidence": ["output"] in the graph (task %s)`, t.ID)
}

// Done completes the task of a claim, as its worker reports. For an agent that a
// supervisor started it first commits what is uncommitted in its work tree, and
// adds its diff as evidence; it refuses an agent that wrote nothing.
func Done(ctx context.Context, r *run.Run, token string) (Work, error) {
	st, err := r.State()
	if err != nil {
		return Work{}, err
	}
	t := st.Holder(token)
	if t == nil {
		return Work{}, r.Complete(token) // it names the rule
	}
	w := st.Worker(t.Claim.Worker)
	if w == nil || !agent(w) || w.Substrate == run.External {
		return Work{}, r.Complete(token)
	}
	work, err := WorkOf(ctx, r, w, true)
	if err != nil {
		return work, err
	}
	if why := unproved(st, w, t, work.Wrote); why != "" {
		return work, &run.Refusal{Rule: "agent-wrote-nothing", Why: "task " + t.ID + " is not done: " + why, Next: "do the task, or run: aisync run worker fail --reason WHY"}
	}
	if work.Changes.Ref != "" {
		if err := r.AddEvidence(token, work.Changes); err != nil {
			return work, err
		}
	}
	return work, r.Complete(token)
}
