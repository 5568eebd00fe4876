package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBringsTellsWhatGitThenWrites asks first, and compares with what the real command
// changes.
func TestBringsTellsWhatGitThenWrites(t *testing.T) {
	environ := append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	for _, c := range []struct{ before, line, want string }{
		{"", "git merge topic", "new.txt topic.txt"},
		{"", "git merge --no-ff -m 'all of it' topic", "new.txt topic.txt"},
		{"", "cd sub && git merge topic", "new.txt topic.txt"},
		{"git branch -q --set-upstream-to=topic", "git merge", "new.txt topic.txt"},
		{"git branch -q --set-upstream-to=topic", "git pull -q --no-rebase", "new.txt topic.txt"},
		{"", "git rebase topic", "main.txt new.txt topic.txt"},
		{"git branch -q --set-upstream-to=topic", "git rebase", "main.txt new.txt topic.txt"},
		{"", "git cherry-pick topic", "new.txt"},
		{"", "git cherry-pick topic~2..topic", "new.txt topic.txt"},
		{"", "git revert --no-edit HEAD", "main.txt"},
		{"", "git checkout -q topic", "main.txt new.txt topic.txt"},
		{"", "git switch -q topic", "main.txt new.txt topic.txt"},
		{"", "git checkout -q -b more topic", "main.txt new.txt topic.txt"},
		{"git checkout -q topic && git checkout -q main", "git checkout -q -", "main.txt new.txt topic.txt"},
		{"", "git reset -q --keep HEAD~1", "main.txt"},
		{"echo x >>sub/x && git stash -q", "git stash pop", "sub/x"},
		{"echo x >>sub/x && echo y >fresh && git stash -q -u", "git stash apply 0", "fresh sub/x"},
		{"git format-patch -q -1 topic --stdout >../a.patch", "git am -q ../a.patch", "new.txt"},
		{"git diff HEAD topic >../a.patch", "git apply ../a.patch", "main.txt new.txt topic.txt"},
		{"git diff HEAD topic >../a.patch", "git apply --check ../a.patch", ""},
		{"", "git checkout -q -b more", ""},
		{"", "git stash list", ""},
	} {
		dir := filepath.Join(t.TempDir(), "p")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		sh := func(line string) {
			t.Helper()
			cmd := exec.Command("sh", "-ec", line)
			cmd.Dir, cmd.Env = dir, environ
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
		}
		sh(`git init -q -b main . && mkdir sub && echo 1 >sub/x && echo 1 >topic.txt && git add . && git commit -qm one
git checkout -q -b topic && echo 2 >>topic.txt && git commit -qam two && echo 1 >new.txt && git add . && git commit -qm three
git checkout -q main && echo 1 >main.txt && git add . && git commit -qm four`)
		if c.before != "" {
			sh(c.before)
		}
		r := Reader{Environ: environ}
		var got []string
		for _, m := range r.Moves(c.line, dir, "/home/me") {
			paths, ok := r.Brings(m)
			if !ok {
				t.Errorf("%s: it cannot tell", c.line)
			}
			for _, p := range paths {
				rel, err := filepath.Rel(dir, p)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, rel)
			}
		}
		before := files(t, dir)
		sh(c.line)
		after := files(t, dir)
		slices.Sort(got)
		if have := strings.Join(slices.Compact(got), " "); have != c.want {
			t.Errorf("%s:\n  %q, want %q", c.line, have, c.want)
		}
		for name, text := range after {
			if before[name] != text && !slices.Contains(got, name) {
				t.Errorf("%s wrote %s", c.line, name)
			}
		}
		for name := range before {
			if _, there := after[name]; !there && !slices.Contains(got, name) {
				t.Errorf("%s removed %s", c.line, name)
			}
		}
	}
}

// files returns the files of a work tree with their texts.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == ".git" {
				return filepath.SkipDir
			}
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		out[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What the repository does not tell is left to what was known before.
func TestBringsCannotTell(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r := Reader{Environ: os.Environ()}
	for _, line := range []string{"git merge nothing", "git pull", "git checkout other", "git stash", "git reset --hard", "git am missing.patch", "git merge -- --output=x"} {
		moves := r.Moves(line, dir, "/home/me")
		if len(moves) != 1 {
			t.Fatalf("%s: %v", line, moves)
		}
		if paths, ok := r.Brings(moves[0]); ok {
			t.Errorf("%s brings %q", line, paths)
		}
	}
	if moves := r.Moves("git merge $X", dir, "/home/me"); len(moves) != 0 {
		t.Errorf("%v", moves)
	}
}
