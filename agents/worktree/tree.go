package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/agents/task/policy"
)

// Tree is the work tree of one task.
type Tree struct {
	Dir    string
	Branch string
	Base   string // the commit that it began from
	repo   Repo
	admin  string            // git's folder of this work tree
	link   string            // the content of .git
	index  map[string]string // tracked paths and their modes
	first  snapshot          // as checked out
	last   snapshot          // as of the last Mark
}

// gitlink is the mode of a submodule in an index.
const gitlink = "160000"

// Add creates a work tree at dir, which must not exist, on a new branch from a
// commit. Its submodules are empty. Content that a filter provides (large files)
// is there if the filter is in the person's configuration.
func (r Repo) Add(ctx context.Context, dir, branch, commit string) (*Tree, error) {
	if _, err := os.Lstat(dir); err == nil {
		return nil, fmt.Errorf("make a work tree: %s already exists", dir)
	}
	err := r.exclusive(ctx, func(r Repo) error {
		_, err := r.git(ctx, call{}, "worktree", "add", "--quiet", "--no-track", "-b", branch, "--", dir, commit)
		return err
	})
	if err != nil {
		_, _ = r.git(context.WithoutCancel(ctx), call{}, "update-ref", "-d", "refs/heads/"+branch, commit)
		return nil, fmt.Errorf("make a work tree: %w", err)
	}
	link, err := os.ReadFile(filepath.Join(dir, ".git"))
	if err != nil {
		return nil, err
	}
	t := &Tree{Dir: dir, Branch: branch, Base: commit, repo: r, link: string(link), admin: strings.TrimSuffix(strings.TrimPrefix(string(link), "gitdir: "), "\n")}
	if t.admin, err = filepath.EvalSymlinks(t.admin); err != nil {
		return nil, err
	}
	listed, err := t.git(ctx, call{}, "ls-files", "-s", "-z")
	if err != nil {
		return nil, err
	}
	t.index = map[string]string{}
	for entry := range strings.SplitSeq(listed, "\x00") {
		if about, path, ok := strings.Cut(entry, "\t"); ok {
			t.index[path], _, _ = strings.Cut(about, " ")
		}
	}
	if t.first, err = t.walk(); err != nil {
		return nil, err
	}
	t.last = t.first
	return t, nil
}

// git runs git on this work tree, whatever its .git contains.
func (t *Tree) git(ctx context.Context, c call, args ...string) (string, error) {
	c.gitDir, c.tree = t.admin, t.Dir
	return t.repo.git(ctx, c, args...)
}

// Shield returns the paths that no step may write: git's link to its folder.
func (t *Tree) Shield() []string { return []string{filepath.Join(t.Dir, ".git")} }

// Paths returns the regular files now in the tree, sorted, without git's.
func (t *Tree) Paths() ([]string, error) {
	now, err := t.walk()
	if err != nil {
		return nil, err
	}
	var out []string
	for path, s := range now {
		if s.mode.IsRegular() && !policy.GitsOwn(path) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Staged is what Commit would commit.
type Staged struct {
	Bytes int64           // of the diff, in git's format with binary files
	Diff  string          // its beginning
	Files []policy.Change // as git reports them
	index string
}

// diffKept is how much of a diff a report keeps.
const diffKept = 64 << 10

// Stage adds the changes to a separate index: all but the ignored ones, and of
// these the named. It returns a *policy.Violation if git reports them
// differently.
func (t *Tree) Stage(ctx context.Context, changes []policy.Change, named []string) (Staged, error) {
	s := Staged{index: filepath.Join(t.admin, "aisync-index")}
	if err := t.copyIndex(s.index); err != nil {
		return s, err
	}
	var paths bytes.Buffer
	wanted := map[string]bool{}
	for _, c := range changes {
		if !c.Ignored || slices.Contains(named, c.Path) {
			wanted[c.Path] = true
			paths.WriteString(c.Path + "\x00")
		}
	}
	if _, err := t.git(ctx, call{index: s.index, in: paths.Bytes()}, "update-index", "--add", "--remove", "--replace", "-z", "--stdin"); err != nil {
		return s, err
	}
	raw, err := t.git(ctx, call{index: s.index}, "diff-index", "--cached", "--raw", "--no-renames", "-z", t.Base)
	if err != nil {
		return s, err
	}
	fields := strings.Split(strings.TrimSuffix(raw, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		about := strings.Fields(strings.TrimPrefix(fields[i], ":")) // mode mode sha sha status
		if len(about) < 5 {
			return s, fmt.Errorf("git diff-index said %q", fields[i])
		}
		c := policy.Change{Path: fields[i+1], Kind: kinds[about[4][:1]]}
		if !wanted[c.Path] || about[0] == gitlink || about[1] == gitlink || c.Kind == "" {
			return s, &policy.Violation{Path: c.Path, Text: "git reports it differently (" + fields[i] + ")"}
		}
		s.Files = append(s.Files, c)
	}
	var diff countingWriter
	_, err = t.git(ctx, call{index: s.index, out: &diff}, "diff-index", "--cached", "--patch", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color",
		"--unified=3", "--submodule=short", t.Base)
	s.Bytes, s.Diff = diff.n, strings.ToValidUTF8(diff.text.String(), "\uFFFD")
	return s, err
}

var kinds = map[string]policy.Kind{"A": policy.Added, "M": policy.Modified, "T": policy.Modified, "D": policy.Deleted}

// countingWriter counts bytes and keeps the first ones.
type countingWriter struct {
	n    int64
	text bytes.Buffer
}

func (m *countingWriter) Write(b []byte) (int, error) {
	m.n += int64(len(b))
	if room := diffKept - m.text.Len(); room > 0 {
		m.text.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}

// copyIndex copies the index with its time, by which git recognises entries that
// are too recent to trust.
func (t *Tree) copyIndex(to string) error {
	from, err := os.Open(filepath.Join(t.admin, "index"))
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	if err2 := out.Close(); err == nil {
		err = err2
	}
	if err != nil {
		return err
	}
	return os.Chtimes(to, time.Time{}, info.ModTime())
}

// Commit commits the staged changes as the one commit of the branch and returns
// its hash. It runs no hook. It signs the commit if the person's configuration
// says so.
func (t *Tree) Commit(ctx context.Context, s Staged, message string) (string, error) {
	tree, err := t.git(ctx, call{index: s.index}, "write-tree")
	if err != nil {
		return "", fmt.Errorf("commit: %w", err)
	}
	args := []string{"commit-tree", strings.TrimSpace(tree), "-p", t.Base, "-F", "-"}
	if t.repo.signs {
		args = append(args, "-S")
	}
	hash, err := t.git(ctx, call{in: []byte(message), env: t.repo.identity}, args...)
	if err != nil {
		if t.repo.signs {
			return "", fmt.Errorf("commit: %w; your configuration signs commits (commit.gpgSign): unlock the key, and run the task again", err)
		}
		return "", fmt.Errorf("commit: %w", err)
	}
	hash = strings.TrimSpace(hash)
	if _, err := t.git(ctx, call{env: t.repo.identity}, "update-ref", "-m", "commit: "+firstLine(message), "refs/heads/"+t.Branch, hash, t.Base); err != nil {
		return "", fmt.Errorf("commit: %w", err)
	}
	return hash, os.Rename(s.index, filepath.Join(t.admin, "index"))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// Remove removes the work tree. The branch stays, unless it has no commit.
func (t *Tree) Remove(ctx context.Context) error { return t.repo.Remove(ctx, t.Dir, t.Branch, t.Base) }

// Remove removes a work tree that Add made, perhaps in another process. It may
// be gone already. The branch stays, unless it is still at base.
func (r Repo) Remove(ctx context.Context, dir, branch, base string) error {
	err := r.exclusive(ctx, func(r Repo) error {
		args := []string{"worktree", "remove", "--force", "--", dir}
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			args = []string{"worktree", "prune", "--expire=now"}
		}
		_, err := r.git(ctx, call{}, args...)
		return err
	})
	if err != nil {
		return fmt.Errorf("remove the work tree: %w", err)
	}
	if head, err := r.commit(ctx, "refs/heads/"+branch); err != nil || head != base {
		return nil // it is gone, or has a commit
	}
	_, err = r.git(ctx, call{}, "update-ref", "-d", "refs/heads/"+branch, base)
	return err
}
