package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/task/policy"
)

// Kept is a work tree that Add or Lasting made and that is still there.
type Kept struct {
	Dir         string    `json:"dir"`
	Repo        string    `json:"repo"`   // the person's work tree of its repository
	Branch      string    `json:"branch"` // "" where its HEAD is on none
	Changed     time.Time `json:"changed"`
	Bytes       int64     `json:"bytes"`
	Uncommitted int       `json:"uncommitted"`      // files and folders whose content only the tree has, ignored ones too
	Commits     int       `json:"commits"`          // on no other branch, tag or remote
	Holds       string    `json:"holds,omitempty"`  // why it is in use, or may not be removed at all
	Action      string    `json:"action,omitempty"` // removed, would remove, kept
	Error       string    `json:"error,omitempty"`
	head        string
	repo        Repo
	admin       string
}

// Safe reports whether nothing is lost with the tree: its commits stay on its branch.
func (k Kept) Safe() bool { return k.Holds == "" && k.Uncommitted == 0 }

// ours are the beginnings of the branches of tasks and of runs' workers.
var ours = []string{"chiffon/", "aisync/"}

// Roots returns the folders below which work trees of tasks and of runs' workers
// are kept, of aisync's state and of a home.
func Roots(state, home string) []string {
	return []string{filepath.Join(state, "work-trees"), filepath.Join(home, ".ilchul", "worktrees")}
}

// Trees returns the folders of work trees below root, without looking into
// them: those with git's link, three levels down at most.
func Trees(root string) (dirs []string) {
	var walk func(dir string, levels int)
	walk = func(dir string, levels int) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		for _, e := range entries {
			at := filepath.Join(dir, e.Name())
			if !e.IsDir() {
				continue
			}
			if info, err := os.Lstat(filepath.Join(at, ".git")); err == nil && info.Mode().IsRegular() {
				dirs = append(dirs, at)
			} else if err != nil && levels > 1 && !strings.HasSuffix(e.Name(), ".scratch") {
				walk(at, levels-1)
			}
		}
	}
	if real, err := filepath.EvalSymlinks(root); err == nil && filepath.IsAbs(root) {
		walk(real, 3)
	}
	return dirs
}

// Inspect returns what is known of the work tree at dir. It changes nothing;
// what cannot be found out is in Holds.
func Inspect(ctx context.Context, dir string) Kept {
	k := Kept{Dir: dir}
	k.Bytes, k.Changed = measure(dir)
	if err := k.inspect(ctx); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		k.Holds = err.Error()
	}
	return k
}

func (k *Kept) inspect(ctx context.Context) error {
	// The person's git decides whether to trust the folder.
	out, err := Repo{Dir: k.Dir}.personsGit(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir", "--absolute-git-dir")
	common, admin, ok := strings.Cut(out, "\n")
	if err != nil || !ok {
		return errors.Join(errors.New("git cannot read it, or its repository is gone"), err)
	}
	r := Repo{Dir: filepath.Dir(common), common: common}
	k.repo, k.admin, k.Repo = r, admin, r.Dir
	if filepath.Base(common) != ".git" {
		return fmt.Errorf("its repository is not beside %s, so that its tasks and runs cannot be asked; to remove it: git worktree remove %s", common, k.Dir)
	}
	back, err := os.ReadFile(filepath.Join(admin, "gitdir"))
	if err != nil || filepath.Dir(admin) != filepath.Join(common, "worktrees") || filepath.Dir(strings.TrimSpace(string(back))) != k.Dir {
		return errors.New("it is not the work tree that git knows by its name: it was moved or copied")
	}
	ref, refErr := k.git(ctx, "", "symbolic-ref", "--quiet", "HEAD")
	k.Branch = strings.TrimPrefix(strings.TrimSpace(ref), "refs/heads/")
	if _, err := os.Lstat(filepath.Join(admin, "locked")); err == nil {
		return fmt.Errorf("git worktree lock keeps it; to end that: git worktree unlock %s", k.Dir)
	}
	if k.repo.excludes, err = r.personsGit(ctx, "config", "--path", "--get", "core.excludesFile"); err != nil {
		if dirs, err := os.UserConfigDir(); err == nil { // git's default
			k.repo.excludes = filepath.Join(dirs, "git", "ignore")
		}
	}
	if k.repo, err = k.repo.Settled(ctx); err != nil {
		return err
	}
	if refErr != nil || k.Branch == "" {
		return fmt.Errorf("its HEAD is on no branch; give it one: git -C %s switch -c NAME", k.Dir)
	}
	if !strings.HasPrefix(k.Branch, ours[0]) && !strings.HasPrefix(k.Branch, ours[1]) {
		return errors.New("its branch is yours, not one of aisync")
	}
	if k.head, err = k.headCommit(ctx); err != nil {
		return err
	}
	if k.Uncommitted, err = k.uncommitted(ctx); err != nil {
		return err
	}
	count, err := k.git(ctx, "", "rev-list", "--count", k.head, "--not", "--exclude="+k.Branch, "--branches", "--remotes", "--tags")
	if err != nil {
		return err
	}
	if k.Commits, err = strconv.Atoi(strings.TrimSpace(count)); err != nil {
		return err
	}
	if pid := standsIn(k.Dir); pid != 0 {
		return fmt.Errorf("process %d works in it", pid)
	}
	return nil
}

func (k *Kept) git(ctx context.Context, index string, args ...string) (string, error) {
	return k.repo.git(ctx, call{gitDir: k.admin, tree: k.Dir, index: index}, args...)
}

func (k *Kept) headCommit(ctx context.Context) (string, error) {
	out, err := k.git(ctx, "", "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	return strings.TrimSpace(out), err
}

// uncommitted counts what the tree has and its HEAD has not: what is staged, and
// by an index made for that (marks in the tree's own can hide changes) what
// differs, is untracked, or is ignored.
func (k *Kept) uncommitted(ctx context.Context) (int, error) {
	staged, err := k.git(ctx, "", "diff-index", "--cached", "--name-only", "-z", "--no-renames", "--ignore-submodules=none", k.head)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "aisync-index")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	index := filepath.Join(dir, "index")
	if _, err := k.git(ctx, index, "read-tree", k.head); err != nil {
		return 0, err
	}
	// It does not look into a submodule, where git runs the filters of its settings.
	status, err := k.git(ctx, index, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal", "--ignored=traditional", "--ignore-submodules=dirty")
	if err != nil {
		return 0, err
	}
	count := max(strings.Count(staged, "\x00"), strings.Count(status, "\x00"))
	if count == 0 && Nested(k.Dir) != nil {
		count = 1 // only the tree has it
	}
	return count, nil
}

// Nested returns an error if a folder of git lies in the work tree at dir besides its
// own. For such a repository git would run what its settings name, and whatever
// worked in the tree wrote these.
func Nested(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir // git reads no more of it
		case err != nil:
			return err
		case policy.GitsOwn(d.Name()) && path != filepath.Join(dir, ".git"):
			return fmt.Errorf("it holds %s, which belongs to git", path)
		}
		return nil
	})
}

// Remove removes the tree, and its branch if all its commits are elsewhere too. It
// looks again at once before; with force uncommitted content goes as well. A
// tree that is in use stays. holds returns why another record holds the tree,
// "" for none.
func (k Kept) Remove(ctx context.Context, force bool, holds func(Kept) string) (Kept, error) {
	if k.repo.common == "" {
		return k, errors.New(k.Holds)
	}
	err := k.repo.exclusive(ctx, func(r Repo) error {
		now := Inspect(ctx, k.Dir)
		if now.Holds == "" {
			now.Holds = holds(now)
		}
		k = now
		switch {
		case k.Holds != "":
			return errors.New(k.Holds)
		case k.Uncommitted > 0 && !force:
			return errors.New("it has content that is not committed")
		}
		args := []string{"worktree", "remove", "--", k.Dir}
		if force {
			args = []string{"worktree", "remove", "--force", "--", k.Dir}
		}
		if _, err := r.git(ctx, call{}, args...); err != nil {
			return err
		}
		if k.Commits == 0 {
			_, err := r.git(ctx, call{}, "update-ref", "-d", "refs/heads/"+k.Branch, k.head)
			return err
		}
		return nil
	})
	return k, err
}

// standsIn returns a process whose working folder lies in dir, 0 for none.
func standsIn(dir string) int {
	table := process.System()
	pids, err := table.PIDs()
	if err != nil {
		return 0
	}
	for _, pid := range pids {
		if cwd, err := table.Cwd(pid); err == nil && (cwd == dir || strings.HasPrefix(cwd, dir+"/")) {
			return pid
		}
	}
	return 0
}

// measure returns the size of a folder's files and the time of the last change.
func measure(dir string) (size int64, changed time.Time) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil {
			if info.Mode().IsRegular() {
				size += info.Size()
			}
			if info.ModTime().After(changed) {
				changed = info.ModTime()
			}
		}
		return nil
	})
	return size, changed
}
