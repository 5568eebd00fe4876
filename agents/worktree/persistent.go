package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Head returns the commit of the person's work tree.
func (r Repo) Head(ctx context.Context) (string, error) {
	return r.personsGit(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
}

// Lasting creates a work tree at dir that stays until a person removes it, on a
// new branch from commit. With again, an earlier call for the same may have been
// killed: Lasting then finds its tree, or completes it. The tree must be unused.
// Nothing is deleted, even on failure.
func (r Repo) Lasting(ctx context.Context, dir, branch, commit string, again bool) error {
	err := r.exclusive(ctx, func(r Repo) error {
		if again {
			_ = os.Remove(dir) // only if it is empty: a killed git had just made it
		}
		_, err := os.Lstat(dir)
		switch {
		case err == nil && again:
			return r.completeTree(ctx, dir, branch)
		case err == nil:
			return fmt.Errorf("%s already exists", dir)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		args := []string{"worktree", "add", "--quiet", "--no-track", "-b", branch, "--", dir, commit}
		if _, err := r.commit(ctx, "refs/heads/"+branch); err == nil && again {
			args = []string{"worktree", "add", "--quiet", "--", dir, branch}
		}
		if again { // git may have registered it, and locked it until it is whole
			args = slices.Insert(args, 2, "--force", "--force")
		}
		_, err = r.git(ctx, call{}, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("make a work tree: %w", err)
	}
	return nil
}

// adminOf returns git's folder of the work tree at dir. What works there can
// change its .git: only a folder of this repository is accepted.
func (r Repo) adminOf(dir string) (string, error) {
	link, err := os.ReadFile(filepath.Join(dir, ".git"))
	if err != nil {
		return "", fmt.Errorf("%s exists, but is not a work tree: %w", dir, err)
	}
	admin, ok := strings.CutPrefix(strings.TrimSpace(string(link)), "gitdir: ")
	if rel, err := filepath.Rel(filepath.Join(r.common, "worktrees"), admin); !ok || err != nil || !filepath.IsLocal(rel) || rel == "." {
		return "", fmt.Errorf("%s exists, but is not a work tree of %s", dir, r.Dir)
	}
	return admin, nil
}

// completeTree checks that the work tree at dir is on branch. A killed git leaves its
// lock file; no other process uses it, because we hold the lock.
func (r Repo) completeTree(ctx context.Context, dir, branch string) error {
	admin, err := r.adminOf(dir)
	if err != nil {
		return err
	}
	locked, err := os.ReadFile(filepath.Join(admin, "locked"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ref := "refs/heads/" + branch
	if strings.TrimSpace(string(locked)) == "initializing" {
		for _, name := range []string{"HEAD.lock", "index.lock"} { // a dead git's
			if err := os.Remove(filepath.Join(admin, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if _, err := r.git(ctx, call{gitDir: admin}, "symbolic-ref", "HEAD", ref); err != nil {
			return err
		}
		if _, err := r.git(ctx, call{gitDir: admin, tree: dir}, "reset", "--quiet", "--hard", "--no-recurse-submodules"); err != nil {
			return err
		}
		return os.Remove(filepath.Join(admin, "locked"))
	}
	if head, err := r.git(ctx, call{gitDir: admin}, "symbolic-ref", "HEAD"); err != nil || strings.TrimSpace(head) != ref {
		return errors.Join(fmt.Errorf("%s exists, but is not on branch %s", dir, branch), err)
	}
	return nil
}
