package supervise

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/schema/spec"
)

// git runs git in a folder, without a person's settings, and returns its output.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=T", "-c", "user.email=t@example.org"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// inTrees is a run in a repository with one commit whose workers have work trees
// below the folder that it returns.
func inTrees(t *testing.T, change func(*spec.RunSettings), tasks ...spec.RunTask) (*run.Run, string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(root, "trees")
	r := begun(t, settings(func(s *spec.RunSettings) {
		s.Worktrees, s.WorktreeRoot, s.MaxAttempts = true, root, 1
		if change != nil {
			change(s)
		}
	}), nil, tasks...)
	ws := r.Workspace()
	git(t, ws, "init", "--quiet", "--initial-branch=main")
	git(t, ws, "config", "user.name", "T")
	git(t, ws, "config", "user.email", "t@example.org")
	// What a repository brings along is not run for it.
	hook := filepath.Join(ws, ".git", "hooks", "post-checkout")
	err = errors.Join(os.WriteFile(filepath.Join(ws, "tracked"), []byte("1\n"), 0o600),
		os.MkdirAll(filepath.Dir(hook), 0o700), os.WriteFile(hook, []byte("#!/bin/sh\ntouch '"+ws+"/hook-ran'\n"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	git(t, ws, "add", "tracked")
	git(t, ws, "commit", "--quiet", "-m", "first")
	return r, root
}

// trees are the work trees that git knows of, without the workspace's own.
func trees(t *testing.T, r *run.Run) []string {
	var out []string
	for line := range strings.SplitSeq(git(t, r.Workspace(), "worktree", "list", "--porcelain"), "\n") {
		if dir, ok := strings.CutPrefix(line, "worktree "); ok && dir != r.Workspace() {
			out = append(out, dir)
		}
	}
	return out
}

func TestWorkersGetWorkTrees(t *testing.T) {
	no := false
	commits := `cat tracked; echo "$AISYNC_TASK" > "$AISYNC_TASK"; git add . && git commit --quiet -m "$AISYNC_TASK"`
	apart := sh("apart", "touch apart")
	apart.Worktree = &no
	r, root := inTrees(t, nil, sh("a", commits), sh("b", "test -f a; "+commits, "a"), sh("c", "test ! -f a; "+commits), apart)
	if out := worked(t, supervisor(r)); out.Status != run.RunCompleted {
		t.Fatalf("ended %+v", out)
	}
	st := state(t, r)
	for _, id := range []string{"a", "b", "c"} {
		w := st.Worker(id + ".1")
		if w.Branch != "aisync/r1/"+id+".1" || !strings.HasPrefix(w.Worktree, root+"/") || filepath.Base(w.Worktree) != id+".1" {
			t.Errorf("worker %s: %+v", w.ID, w.Registration)
		}
		if got := git(t, r.Workspace(), "show", w.Branch+":"+id); got != id {
			t.Errorf("branch %s has %q", w.Branch, got)
		}
	}
	if got := git(t, r.Workspace(), "show", "aisync/r1/b.1:a"); got != "a" {
		t.Errorf("b began without the work of a, which it waits for: %q", got)
	}
	if got := trees(t, r); len(got) != 3 {
		t.Errorf("work trees: %v", got)
	}
	if w := st.Worker("apart.1"); w.Worktree != "" || w.Branch != "" {
		t.Errorf("apart: %+v", w.Registration)
	}
	for name, want := range map[string]bool{"apart": true, "a": false, "b": false, "hook-ran": false} {
		if _, err := os.Lstat(filepath.Join(r.Workspace(), name)); (err == nil) != want {
			t.Errorf("%s in the workspace: %v", name, err)
		}
	}
}

func TestWorkTreeSurvivesKilledSupervisor(t *testing.T) {
	commit := func(t *testing.T, r *run.Run) string { return git(t, r.Workspace(), "rev-parse", "HEAD") }
	for name, killed := range map[string]func(t *testing.T, r *run.Run, w *run.Worker){
		"before it was made": func(*testing.T, *run.Run, *run.Worker) {},
		"with its branch":    func(t *testing.T, r *run.Run, w *run.Worker) { git(t, r.Workspace(), "branch", w.Branch) },
		"when it was made": func(t *testing.T, r *run.Run, w *run.Worker) {
			git(t, r.Workspace(), "worktree", "add", "--quiet", "-b", w.Branch, w.Worktree, commit(t, r))
		},
		"in the middle": func(t *testing.T, r *run.Run, w *run.Worker) {
			git(t, r.Workspace(), "worktree", "add", "--quiet", "-b", w.Branch, w.Worktree, commit(t, r))
			admin := git(t, w.Worktree, "rev-parse", "--absolute-git-dir")
			err := errors.Join(os.Remove(filepath.Join(w.Worktree, "tracked")), os.WriteFile(filepath.Join(admin, "index.lock"), nil, 0o600),
				os.WriteFile(filepath.Join(admin, "locked"), []byte("initializing"), 0o600), os.Remove(filepath.Join(admin, "index")))
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := inTrees(t, nil, sh("a", "cat tracked >> own; pwd"))
			cmd := killable(t, begin, r)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var b [10]byte
			if _, err := out.Read(b[:]); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			w := state(t, r).Worker("a.1")
			killed(t, r, w)
			if out := worked(t, supervisor(r)); out.Status != run.RunCompleted {
				t.Fatalf("ended %+v", out)
			}
			if got := trees(t, r); len(got) != 1 || got[0] != w.Worktree {
				t.Errorf("work trees %v, want %s", got, w.Worktree)
			}
			if by := state(t, r).Worker(state(t, r).Task("a").DoneBy); by.ID != "a.2" || by.Worktree != w.Worktree || by.Branch != w.Branch {
				t.Errorf("done by %s: %+v", by.ID, by.Registration)
			}
			if got := lines(t, filepath.Join(w.Worktree, "own")); len(got) != 1 || got[0] != "1" {
				t.Errorf("it saw %v", got)
			}
			if locked := git(t, r.Workspace(), "worktree", "list", "--porcelain"); strings.Contains(locked, "locked") {
				t.Error(locked)
			}
		})
	}
}

func TestRetryGetsNewWorkTree(t *testing.T) {
	r, _ := inTrees(t, func(s *spec.RunSettings) { s.MaxAttempts = 2 }, sh("a", "test ! -f left; touch left; test $AISYNC_WORKER = a.2"))
	if out := worked(t, supervisor(r)); out.Status != run.RunCompleted {
		t.Fatalf("ended %+v: %+v", out, state(t, r).Tasks)
	}
	if got := trees(t, r); len(got) != 2 {
		t.Errorf("work trees %v: the first one's is a person's to remove", got)
	}
}

func TestPersonsBranchIsNotReused(t *testing.T) {
	r, _ := inTrees(t, nil, sh("a", "true"))
	git(t, r.Workspace(), "branch", "aisync/r1/a.1")
	if out := worked(t, supervisor(r)); out.Status != run.RunFailed || !strings.Contains(state(t, r).Task("a").Reason, "already exists") {
		t.Errorf("ended %+v: %+v", out, state(t, r).Tasks)
	}
	git(t, r.Workspace(), "rev-parse", "--verify", "refs/heads/aisync/r1/a.1")
}

func TestLinkedWorkTreeRootIsRefused(t *testing.T) {
	r, root := inTrees(t, nil, sh("a", "touch ran"))
	out := t.TempDir()
	if err := os.Symlink(out, root); err != nil {
		t.Fatal(err)
	}
	if got := worked(t, supervisor(r)); got.Status != run.RunFailed || !strings.Contains(state(t, r).Task("a").Reason, "through a link") {
		t.Errorf("ended %+v: %+v", got, state(t, r).Tasks)
	}
	if made, err := os.ReadDir(out); err != nil || len(made) != 0 || len(trees(t, r)) != 0 {
		t.Errorf("made %v, %v, %v", made, trees(t, r), err)
	}
	if _, err := Repository(context.Background(), t.TempDir()); err == nil {
		t.Error("any folder is a repository")
	}
}
