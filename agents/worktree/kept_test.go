package worktree

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// keptRepo makes a repository and returns it, with a function that runs git and
// one that writes a file.
func keptRepo(t *testing.T) (Repo, func(dir string, args ...string), func(path, text string)) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("GIT_CONFIG_GLOBAL", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "a")
		t.Setenv("GIT_"+who+"_EMAIL", "a@b")
	}
	git := func(dir string, args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %s", args, out)
		}
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	repo := filepath.Join(dir, "repo")
	write(filepath.Join(repo, "a.txt"), "one\n")
	write(filepath.Join(repo, ".gitignore"), "*.ignored\n")
	git(repo, "init", "-q", "-b", "main")
	git(repo, "add", "-A")
	git(repo, "commit", "-qm", "first")
	git(repo, "config", "user.name", "a")
	git(repo, "config", "user.email", "a@b")
	r, err := Open(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	return r, git, write
}

func TestPruneKeepsWhatOnlyATreeHas(t *testing.T) {
	r, git, write := keptRepo(t)
	_, first, err := r.Base(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(filepath.Dir(r.Dir), "trees")
	none := func(Kept) string { return "" }
	for name, c := range map[string]struct {
		change      func(dir string)
		branch      string // "": of a task
		uncommitted int
		commits     int
		holds       string
		goes        bool // without force
		forced      bool // with force
		branchStays bool
	}{
		"clean":       {change: func(string) {}, goes: true, forced: true},
		"modified":    {change: func(d string) { write(d+"/a.txt", "two\n") }, uncommitted: 1, forced: true},
		"untracked":   {change: func(d string) { write(d+"/new.txt", "x") }, uncommitted: 1, forced: true},
		"ignored":     {change: func(d string) { write(d+"/x.ignored", "x") }, uncommitted: 1, forced: true},
		"nested":      {change: func(d string) { write(d+"/n/f", "x"); git(d+"/n", "init", "-q") }, uncommitted: 1, forced: true},
		"staged only": {change: func(d string) { write(d+"/a.txt", "two\n"); git(d, "add", "a.txt"); write(d+"/a.txt", "one\n") }, uncommitted: 1, forced: true},
		"marked":      {change: func(d string) { git(d, "update-index", "--assume-unchanged", "a.txt"); write(d+"/a.txt", "two\n") }, uncommitted: 1, forced: true},
		"deleted":     {change: func(d string) { os.Remove(d + "/a.txt") }, uncommitted: 1, forced: true},
		"committed":   {change: func(d string) { write(d+"/a.txt", filepath.Base(d)); git(d, "commit", "-qam", "two") }, commits: 1, goes: true, forced: true, branchStays: true},
		"merged": {change: func(d string) {
			write(d+"/m.txt", "m\n")
			git(d, "add", ".")
			git(d, "commit", "-qm", "m")
			git(d, "branch", "-f", "elsewhere")
		}, goes: true, forced: true},
		"locked":    {change: func(d string) { git(d, "worktree", "lock", d) }, holds: "git worktree unlock"},
		"detached":  {change: func(d string) { git(d, "checkout", "-q", "--detach") }, holds: "on no branch"},
		"person's":  {change: func(string) {}, branch: "mine", holds: "yours"},
		"moved":     {change: func(d string) { os.WriteFile(d+"/.git", []byte("gitdir: "+r.common+"\n"), 0o644) }, holds: "moved or copied"},
		"in use":    {change: func(d string) { workIn(t, d) }, holds: "works in it"},
		"repo gone": {change: func(d string) { os.WriteFile(d+"/.git", []byte("gitdir: /nowhere/.git/worktrees/x\n"), 0o644) }, holds: "git cannot read it"},
	} {
		t.Run(name, func(t *testing.T) {
			slug := strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), "'", "")
			for _, force := range []bool{false, true} {
				dir, branch := filepath.Join(root, "repo", slug), "chiffon/"+slug+"/1"
				if force {
					dir, branch = dir+"-forced", branch+"f"
				}
				if c.branch != "" {
					branch = c.branch + branch[len(branch)-1:]
				}
				if err := r.Lasting(t.Context(), dir, branch, first, false); err != nil {
					t.Fatal(err)
				}
				c.change(dir)
				k := Inspect(t.Context(), dir)
				if k.Uncommitted != c.uncommitted || k.Commits != c.commits && k.Holds == "" || !strings.Contains(k.Holds, c.holds) || (k.Holds == "") != (c.holds == "") || k.Bytes == 0 {
					t.Errorf("force %v: %+v", force, k)
				}
				_, err := k.Remove(t.Context(), force, none)
				_, there := os.Lstat(dir)
				goes := map[bool]bool{false: c.goes, true: c.forced}[force]
				if (err == nil) != goes || (there != nil) != goes {
					t.Errorf("force %v: removed: %v, %v", force, err, there)
				}
				_, ref := r.commit(context.Background(), "refs/heads/"+branch)
				if stays := !goes || c.branchStays; (ref == nil) != stays {
					t.Errorf("force %v: branch: %v, want it to stay: %v", force, ref, stays)
				}
			}
		})
	}
	if k := Inspect(t.Context(), r.Dir); k.Holds == "" {
		t.Errorf("the person's work tree could be removed: %+v", k)
	}
}

// workIn starts a process in dir that ends with the test.
func workIn(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

func TestRemoveAsksOthersAgain(t *testing.T) {
	r, _, _ := keptRepo(t)
	_, first, _ := r.Base(t.Context(), "main")
	dir := filepath.Join(t.TempDir(), "trees", "repo", "x")
	if err := r.Lasting(t.Context(), dir, "chiffon/x/1", first, false); err != nil {
		t.Fatal(err)
	}
	if _, err := Inspect(t.Context(), dir).Remove(t.Context(), true, func(Kept) string { return "its task runs" }); err == nil || err.Error() != "its task runs" {
		t.Error(err)
	}
	if dirs := Trees(filepath.Dir(filepath.Dir(dir))); len(dirs) != 1 || dirs[0] != dir {
		t.Errorf("%q", dirs)
	}
	if dirs := Trees(""); dirs != nil {
		t.Errorf("%q", dirs)
	}
}

// What worked in a tree can make a repository of a submodule's folder. Git runs no
// filter of that, neither to compare the tree nor to list it.
func TestSettingsOfASubmoduleDoNotRun(t *testing.T) {
	r, git, write := keptRepo(t)
	sub := filepath.Join(r.Dir, "sub")
	git(r.Dir, "init", "-q", "sub")
	git(sub, "commit", "-q", "--allow-empty", "-m", "x")
	git(r.Dir, "add", "sub")
	git(r.Dir, "commit", "-qm", "with a submodule")
	_, head, err := r.Base(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("git", "-C", sub, "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(filepath.Dir(r.Dir), "ran")
	tree, err := r.Add(t.Context(), filepath.Join(filepath.Dir(r.Dir), "trees", "p", "x"), "aisync/r/x", head)
	if err != nil {
		t.Fatal(err)
	}
	evil := filepath.Join(tree.Dir, "sub")
	git(tree.Dir, "init", "-q", "sub")
	write(filepath.Join(evil, "f"), "a\n")
	git(evil, "add", "f")
	git(evil, "commit", "-qm", "f")
	git(evil, "config", "filter.evil.clean", "touch '"+ran+"'; cat")
	write(filepath.Join(evil, ".gitattributes"), "* filter=evil\n")
	write(filepath.Join(evil, "f"), "another\n")
	for _, at := range []string{"", string(out)} { // as the index has it, git looks inside
		if at != "" {
			write(filepath.Join(evil, ".git/HEAD"), at)
		}
		if changes, err := tree.Changes(t.Context()); err != nil || len(changes) == 0 {
			t.Errorf("changes %v, %v", changes, err)
		}
		if k := Inspect(t.Context(), tree.Dir); k.Holds != "" || k.Uncommitted != 1 {
			t.Errorf("what only the tree has is not counted: %d, %s", k.Uncommitted, k.Holds)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Fatal("a filter of the submodule ran")
		}
	}
}

// A git that is killed while it makes a work tree leaves a HEAD without a commit, and
// one that looks at the work leaves its lock: neither stops the next one.
func TestKilledGitStopsNoOther(t *testing.T) {
	r, _, write := keptRepo(t)
	_, first, err := r.Base(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(r.Dir), "trees", "x")
	if err := r.Lasting(t.Context(), dir, "aisync/r/x", first, false); err != nil {
		t.Fatal(err)
	}
	admin := filepath.Join(r.Common(), "worktrees", "x")
	write(filepath.Join(admin, "HEAD"), strings.Repeat("0", 40)+"\n")
	write(filepath.Join(admin, "locked"), "initializing\n")
	write(filepath.Join(admin, "HEAD.lock"), "")
	write(filepath.Join(admin, "index.lock"), "")
	if r, err = Open(t.Context(), r.Dir); err != nil {
		t.Fatal(err)
	}
	if err := r.Lasting(t.Context(), dir, "aisync/r/x", first, true); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".git", "a.txt", ".gitignore"} { // only its folder is there yet
		_ = os.Remove(filepath.Join(dir, name))
	}
	write(filepath.Join(admin, "locked"), "initializing\n")
	if err := r.Lasting(t.Context(), dir, "aisync/r/x", first, true); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(dir, "new"), "x\n")
	write(filepath.Join(admin, "aisync-index.lock"), "")
	if w, err := r.Work(t.Context(), dir, "aisync/r/x", first, "saved\n"); err != nil || w.Saved != 1 || w.Commits != 1 {
		t.Errorf("%+v, %v", w, err)
	}
}
