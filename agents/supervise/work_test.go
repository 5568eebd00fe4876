package supervise

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/schema/spec"
)

// agents runs the commands of tasks as if claude were they, but those of others.
func agents(r *run.Run, others ...string) *Supervisor {
	s := planned(r, Plan{Adapter: "claude", Substrate: worker.Process})
	plan := s.Plan
	s.Plan = func(t run.Task, st *run.State) (Plan, error) {
		p, err := plan(t, st)
		for _, id := range others {
			if t.ID == id {
				p.Adapter = command
			}
		}
		return p, err
	}
	return s
}

func TestUncommittedWorkGoesOn(t *testing.T) {
	r, _ := inTrees(t, nil,
		sh("leaves", "echo new > new; echo 2 > tracked; mkdir ignored; echo ignored > .gitignore; touch ignored/x"),
		sh("next", "grep -qx new new && grep -qx 2 tracked && test ! -e ignored/x", "leaves"),
		sh("commits", "echo c > c; git add c; git commit --quiet -m c"))
	s := agents(r, "next")
	var said []string
	s.Say = func(text string) { said = append(said, text) }
	if out := worked(t, s); out.Status != run.RunCompleted {
		t.Fatalf("ended %+v: %q", out, said)
	}
	st := state(t, r)
	for _, id := range []string{"leaves", "commits"} {
		if task := st.Task(id); task.Proof["output:changes"] != 1 {
			t.Errorf("the diff of %s is no evidence: %v", id, task.Proof)
		}
	}
	text := strings.Join(said, "\n")
	if !strings.Contains(text, "leaves: done (worker leaves.1; aisync committed the files that it left uncommitted: 3)") || strings.Contains(text, "commits.1; aisync") {
		t.Error(text)
	}
	if got := git(t, r.Workspace(), "log", "--format=%s", "-1", "aisync/r1/leaves.1"); !strings.Contains(got, "what worker leaves.1 left uncommitted") {
		t.Errorf("the commit is %q", got)
	}
	if got := git(t, st.Worker("leaves.1").Worktree, "status", "--porcelain"); got != "" {
		t.Errorf("the work tree still has changes:\n%s", got)
	}
	list, _, err := r.EvidenceList()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Name == changes && e.Task == "leaves" {
			if text, err := os.ReadFile(filepath.Join(r.Path, e.Ref)); err != nil || !strings.Contains(string(text), "+new") {
				t.Errorf("the diff is %q, %v", text, err)
			}
		}
	}
}

func TestFailedWorkStaysUncommitted(t *testing.T) {
	r, _ := inTrees(t, nil, sh("breaks", "echo half > half; exit 3"), sh("nothing", "echo I did it"), sh("strays", "git checkout -q -b other; echo x > x"))
	worked(t, agents(r))
	st := state(t, r)
	for id, want := range map[string]string{
		"breaks":  "files that it left uncommitted in " + st.Worker("breaks.1").Worktree + ": 1",
		"nothing": "it wrote nothing and named no artifact",
		"strays":  "it is on refs/heads/other, not on branch aisync/r1/strays.1",
	} {
		if task := st.Task(id); task.Status != run.TaskLost || !strings.Contains(task.Reason, want) {
			t.Errorf("%s is %s: %s", id, task.Status, task.Reason)
		}
	}
	if got := git(t, r.Workspace(), "log", "--format=%s", "-1", "aisync/r1/breaks.1"); got != "first" {
		t.Errorf("the branch has %q", got)
	}
}

func TestDoneNeedsWork(t *testing.T) {
	r, _ := inTrees(t, nil, spec.RunTask{ID: "idle"}, spec.RunTask{ID: "busy"})
	for _, id := range []string{"idle", "busy"} {
		marker := worker.NewMarker()
		p := &place{dir: filepath.Join(state(t, r).Settings().WorktreeRoot, id), branch: "aisync/r1/" + id}
		reg := run.Registration{Task: id, Adapter: "codex", Substrate: run.Tmux, Owner: marker, Worktree: p.dir, Branch: p.branch}
		if err := r.Register(id, reg); err != nil {
			t.Fatal(err)
		}
		token, err := r.Claim(id, id, 0)
		if err != nil {
			t.Fatal(err)
		}
		j := worker.Job{Worker: id, Marker: marker, Agent: true, Command: []string{"x"}}
		if err := worker.Prepare(Folder(r, id), j); err != nil {
			t.Fatal(err)
		}
		if err := p.make(r.Workspace()); err != nil {
			t.Fatal(err)
		}
		if err := recordBegin(t.Context(), r, j, p); err != nil {
			t.Fatal(err)
		}
		if id == "busy" {
			if err := os.WriteFile(filepath.Join(p.dir, "made"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		work, err := Done(t.Context(), r, token)
		if id == "idle" && (err == nil || !strings.Contains(err.Error(), "rule agent-wrote-nothing")) || id == "busy" && (err != nil || work.Saved != 1) {
			t.Errorf("%s: %+v, %v", id, work, err)
		}
	}
	if st := state(t, r); st.Task("idle").Status == run.TaskDone || st.Task("busy").Status != run.TaskDone {
		t.Errorf("idle is %s, busy is %s", st.Task("idle").Status, st.Task("busy").Status)
	}
}

// In the workspace any change of files that git does not ignore is work.
func TestWorkInWorkspaceIsTold(t *testing.T) {
	no := false
	here := func(id, script string) spec.RunTask {
		t := sh(id, script)
		t.Worktree = &no
		return t
	}
	r, _ := inTrees(t, func(s *spec.RunSettings) { s.MaxWorkers = 1 },
		here("talks", "echo I did it"), here("caches", "mkdir cache; touch cache/x"), here("edits", "echo 2 > tracked"), here("edits-again", "echo 3 > tracked"),
		here("stages", "echo 4 > four; git add four"), here("commits", "git commit --quiet -m four four"), here("removes", "rm four"))
	if err := os.WriteFile(filepath.Join(r.Workspace(), ".git", "info", "exclude"), []byte("cache\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	worked(t, agents(r))
	st := state(t, r)
	for _, task := range st.Tasks {
		if done := task.ID != "talks" && task.ID != "caches"; (task.Status == run.TaskDone) != done || done != (task.Proof["output:changes"] == 1) {
			t.Errorf("%s is %s: %s, %v", task.ID, task.Status, task.Reason, task.Proof)
		}
	}
}

// Several supervisors may look at one worker at once: its files are committed once.
func TestWorkIsSavedOnce(t *testing.T) {
	r, _ := inTrees(t, nil, sh("leaves", "echo new > new; exit 4"))
	worked(t, agents(r))
	w := state(t, r).Worker("leaves.1")
	var wait sync.WaitGroup
	saved := make(chan int, 4)
	for range 4 {
		wait.Go(func() {
			work, err := WorkOf(t.Context(), r, w, true)
			if err != nil || work.Commits != 1 || !work.Wrote {
				t.Errorf("%+v, %v", work, err)
			}
			saved <- work.Saved
		})
	}
	wait.Wait()
	sum := 0
	for range 4 {
		sum += <-saved
	}
	if got := git(t, r.Workspace(), "rev-list", "--count", "main..aisync/r1/leaves.1"); got != "1" || sum != 1 {
		t.Errorf("%s commits of %d files", got, sum)
	}
}
