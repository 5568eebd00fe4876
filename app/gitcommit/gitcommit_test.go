package gitcommit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repo is a repository with one commit, of the file "mine", in a folder of the test.
type repo struct {
	t   *testing.T
	dir string
	env []string
}

func newRepo(t *testing.T) *repo {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &repo{t, dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org"}}
	r.git("init", "-q", "-b", "main")
	r.write("mine", "1\n")
	r.write(".gitignore", "ignored\n")
	r.git("add", ".")
	r.git("commit", "-q", "-m", "first")
	return r
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *repo) write(name, text string) {
	r.t.Helper()
	at := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repo) look(dir string, files ...string) (*Repo, error) {
	return Look(r.t.Context(), r.env, filepath.Join(r.dir, dir), files)
}

func (r *repo) mustLook(dir string, files ...string) *Repo {
	r.t.Helper()
	found, err := r.look(dir, files...)
	if err != nil {
		r.t.Fatal(err)
	}
	return found
}

func TestCommitTakesOnlyWhatWasWritten(t *testing.T) {
	r := newRepo(t)
	r.write("staged", "x\n")
	r.git("add", "staged")
	r.write("mine", "edited\n")
	r.write("untracked", "x\n")
	files := []string{"p/AGENTS.md", "p/gone", "p/*", "ignored", "p/never"}
	r.write("p/gone", "x\n")
	r.write("p/x", "x\n")
	r.git("add", "p/gone")
	r.git("commit", "-q", "-m", "second", "--only", "p/gone")
	found := r.mustLook("", files...)
	r.write("p/AGENTS.md", "x\n")
	r.write("p/*", "not a pattern\n")
	r.write("ignored", "x\n")
	if err := os.Remove(filepath.Join(r.dir, "p/gone")); err != nil {
		t.Fatal(err)
	}
	id, err := found.Commit(t.Context(), files, "")
	if err != nil || id == "" || !strings.HasPrefix(r.git("rev-parse", "HEAD"), id) {
		t.Fatalf("%q, %v", id, err)
	}
	if got := r.git("show", "--name-status", "--no-renames", "--format=%s", "HEAD"); got != "aisync: update 3 files\n\nA\tp/*\nA\tp/AGENTS.md\nD\tp/gone" {
		t.Errorf("the commit: %s", got)
	}
	if got := r.git("status", "--porcelain"); got != "M mine\nA  staged\n?? p/x\n?? untracked" {
		t.Errorf("the person's changes: %s", got)
	}
	if id, err := found.Commit(t.Context(), files, ""); id != "" || err != nil {
		t.Errorf("a second commit of the same: %q, %v", id, err)
	}
}

func TestCommitInAFolderOfARepository(t *testing.T) {
	r := newRepo(t)
	found := r.mustLook("", "aisync.lock")
	if found.prefix != "" {
		t.Errorf("prefix %q", found.prefix)
	}
	r.write("p/keep", "x\n")
	below := r.mustLook("p", "aisync.lock", ".claude/rules/x.md")
	r.write("p/aisync.lock", "x\n")
	r.write("p/.claude/rules/x.md", "x\n")
	r.write("aisync.lock", "another project's\n")
	if _, err := below.Commit(t.Context(), []string{"aisync.lock", ".claude/rules/x.md"}, ""); err != nil {
		t.Fatal(err)
	}
	if got := r.git("show", "--name-only", "--format=%s", "HEAD"); got != "aisync: update .claude/rules/x.md\n\np/.claude/rules/x.md\np/aisync.lock" {
		t.Error(got)
	}
}

func TestLookRefusesWhereACommitWouldTakeMore(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*repo)
		want   string
	}{
		"an edited file":      {func(r *repo) { r.write("mine", "2\n") }, "mine has changes that are not committed"},
		"a staged file":       {func(r *repo) { r.write("mine", "2\n"); r.git("add", "mine"); r.write("mine", "1\n") }, "mine has changes that are not committed"},
		"a file git lacks":    {func(r *repo) { r.write("new", "2\n") }, "new has changes that are not committed"},
		"two files":           {func(r *repo) { r.write("new", "2\n"); r.write("mine", "2\n") }, "mine, new have changes that are not committed"},
		"a detached head":     {func(r *repo) { r.git("checkout", "-q", "--detach") }, "no branch is checked out"},
		"a merge":             {func(r *repo) { r.write(".git/MERGE_HEAD", r.git("rev-parse", "HEAD")) }, "a merge is in progress"},
		"a rebase":            {func(r *repo) { r.write(".git/rebase-merge/onto", "x") }, "a rebase is in progress"},
		"no repository":       {func(r *repo) { must(r.t, os.RemoveAll(filepath.Join(r.dir, ".git"))) }, "no git repository"},
		"another file staged": {func(r *repo) { r.write("other", "2\n"); r.git("add", "other") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRepo(t)
			c.change(r)
			_, err := r.look("", "mine", "new")
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestCommitRunsNothingOfTheRepository(t *testing.T) {
	r := newRepo(t)
	r.write(".git/hooks/pre-commit", "#!/bin/sh\ntouch ran\nexit 1\n")
	must(t, os.Chmod(filepath.Join(r.dir, ".git/hooks/pre-commit"), 0o755))
	r.git("config", "filter.x.clean", "touch ran; cat")
	r.write(".git/info/attributes", "* filter=x\n")
	found := r.mustLook("", "new")
	r.write("new", "x\n")
	if _, err := found.Commit(t.Context(), []string{"new"}, "roll out"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "ran")); err == nil {
		t.Error("a program of the repository ran")
	}
	if got := r.git("log", "-1", "--format=%s"); got != "roll out" {
		t.Error(got)
	}
}

func TestCommitThatFailsLeavesTheIndex(t *testing.T) {
	r := newRepo(t)
	found := r.mustLook("", "new")
	r.write("new", "x\n")
	found.env = append(found.env, "GIT_AUTHOR_NAME=", "GIT_COMMITTER_NAME=") // git refuses an empty name
	if _, err := found.Commit(t.Context(), []string{"new"}, ""); err == nil || !strings.Contains(err.Error(), "git commit: ") {
		t.Errorf("%v", err)
	}
	if got := r.git("status", "--porcelain"); got != "?? new" {
		t.Errorf("%s", got)
	}
}
