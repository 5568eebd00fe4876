package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Work is what a lasting work tree holds beyond a commit.
type Work struct {
	Tip         string // the branch's commit
	Commits     int    // of the branch, beyond the commit
	Uncommitted int    // files that differ from Tip and are not ignored
	Saved       int    // files that this call committed
	tree        string // with them
	admin       string
	index       string
}

// Branch returns the commit of a branch.
func (r Repo) Branch(ctx context.Context, branch string) (string, error) {
	return r.commit(ctx, "refs/heads/"+branch)
}

// Work looks at the work tree that Lasting made at dir on branch: what it has
// beyond the commit base. No program of the repository runs. It fails if the
// work tree is on another branch. With a message it commits the uncommitted files
// on the branch, without hooks, signed as the person's configuration says.
// Concurrent calls take turns.
func (r Repo) Work(ctx context.Context, dir, branch, base, message string) (w Work, err error) {
	err = r.exclusive(ctx, func(r Repo) error {
		if w, err = r.look(ctx, dir, branch, base); err != nil {
			return fmt.Errorf("look at the work in %s: %w", dir, err)
		}
		defer os.Remove(w.index) // where it was not taken over
		if w.Uncommitted == 0 || message == "" {
			return nil
		}
		return r.save(ctx, &w, branch, message)
	})
	return w, err
}

func (r Repo) look(ctx context.Context, dir, branch, base string) (w Work, err error) {
	if w.admin, err = r.adminOf(dir); err != nil {
		return w, err
	}
	at := call{gitDir: w.admin, tree: dir}
	head, err := r.git(ctx, at, "rev-parse", "--symbolic-full-name", "HEAD")
	if err != nil {
		return w, err
	}
	if head = strings.TrimSpace(head); head != "refs/heads/"+branch {
		return w, fmt.Errorf("it is on %s, not on branch %s", head, branch)
	}
	if w.Tip, err = r.Branch(ctx, branch); err != nil {
		return w, err
	}
	count, err := r.git(ctx, call{}, "rev-list", "--count", base+".."+w.Tip)
	if err != nil {
		return w, err
	}
	if _, err := fmt.Sscan(count, &w.Commits); err != nil {
		return w, err
	}
	// A separate index: git's is the worker's, with what it has staged.
	w.index = filepath.Join(w.admin, "aisync-index")
	if err := os.Remove(w.index + ".lock"); err != nil && !errors.Is(err, fs.ErrNotExist) { // a dead git's: we hold the repository's lock
		return w, err
	}
	t := Tree{admin: w.admin}
	if err := t.copyIndex(w.index); err != nil {
		return w, err
	}
	at.index = w.index
	if _, err := r.git(ctx, at, "add", "--all", "--ignore-errors", "--", "."); err != nil {
		return w, err
	}
	differs, err := r.git(ctx, at, "diff-index", "--cached", "--name-only", "--no-renames", "-z", w.Tip)
	if err != nil {
		return w, err
	}
	w.Uncommitted = strings.Count(differs, "\x00")
	w.tree, err = r.git(ctx, at, "write-tree")
	w.tree = strings.TrimSpace(w.tree)
	return w, err
}

// save commits the uncommitted files of w. It fails, having changed nothing, if
// the branch has moved since.
func (r Repo) save(ctx context.Context, w *Work, branch, message string) error {
	args := []string{"commit-tree", w.tree, "-p", w.Tip, "-F", "-"}
	if r.signs {
		args = append(args, "-S")
	}
	hash, err := r.git(ctx, call{in: []byte(message), env: r.identity}, args...)
	if err == nil {
		hash = strings.TrimSpace(hash)
		_, err = r.git(ctx, call{env: r.identity}, "update-ref", "-m", "commit: "+firstLine(message), "refs/heads/"+branch, hash, w.Tip)
	}
	if err == nil {
		err = os.Rename(w.index, filepath.Join(w.admin, "index"))
	}
	if err != nil {
		return fmt.Errorf("commit what was left uncommitted: %w", err)
	}
	w.Tip, w.Commits, w.Uncommitted, w.Saved = hash, w.Commits+1, 0, w.Uncommitted
	return nil
}

// Diff writes the changes between two commits, in git's format.
func (r Repo) Diff(ctx context.Context, from, to string, out io.Writer) error {
	_, err := r.git(ctx, call{out: out}, "diff-tree", "-r", "--patch", "--stat", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", from, to)
	return err
}

// Stamp identifies the present content of a folder that is worked in: for a
// repository its commit and the files that differ from it and are not ignored,
// else all files. Files below skip, slash-separated names, do not count. fresh are
// those that were modified after since.
func Stamp(ctx context.Context, dir string, since time.Time, skip ...string) (sum string, fresh []string, err error) {
	h := sha256.New()
	stamp := func(name string) {
		if info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			if info.ModTime().After(since) {
				fresh = append(fresh, name)
			}
			fmt.Fprintf(h, "%q %d %d %s\n", name, info.Size(), info.ModTime().UnixNano(), info.Mode())
		} else {
			fmt.Fprintf(h, "%q missing\n", name)
		}
	}
	skipped := func(name string) bool {
		return slices.ContainsFunc(skip, func(s string) bool { return name == s || strings.HasPrefix(name, s+"/") })
	}
	if r, err := Open(ctx, dir); err == nil {
		head, err := r.Head(ctx)
		if err != nil {
			return "", nil, err
		}
		admin, err := r.personsGit(ctx, "rev-parse", "--absolute-git-dir")
		if err != nil {
			return "", nil, err
		}
		fmt.Fprintln(h, head)
		at := call{gitDir: admin, tree: r.Dir}
		for _, list := range [][]string{
			{"diff-index", "--name-only", "--no-renames", "--ignore-submodules=none", "-z", head},
			{"ls-files", "--others", "--exclude-standard", "-z"},
		} {
			names, err := r.git(ctx, at, list...)
			if err != nil {
				return "", nil, err
			}
			for name := range strings.SplitSeq(names, "\x00") {
				if name != "" && !skipped(name) {
					stamp(name)
				}
			}
		}
		return hex.EncodeToString(h.Sum(nil)), fresh, nil
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		name = filepath.ToSlash(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // removed meanwhile
		case err != nil:
			return err
		case d.IsDir() && (name == ".git" || skipped(name)):
			return fs.SkipDir
		case !d.IsDir() && !skipped(name):
			stamp(name)
		}
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), fresh, err
}
