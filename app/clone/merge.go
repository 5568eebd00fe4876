package clone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// scratchName begins the names of the folders beside the clone in which merges are
// made. They lie there so that relative sources are found from them.
const scratchName = ".aisync-update-"

// Both is a place that was changed here and in the branch.
type Both struct {
	File  string `json:"file"`
	Line  int    `json:"line,omitempty"` // here
	Here  string `json:"here"`           // the first line of the text here, or what happened to the file
	There string `json:"there"`
}

// Result is what the clone would be with the commits that it lacks.
type Result struct {
	Commit string // "": see Both
	Merge  bool   // both sides have commits
	Both   []Both
	Dir    string // a work tree with the result and the edits that are not committed

	clone *Clone
	head  string
	files []string // that differ from head
	lock  []byte   // what the lock becomes whose edits are not committed; nil: untouched

	carried bool // head has a lock
}

// sweep removes the scratch folders of processes that were killed. The caller holds
// the lock of the state.
func sweep(dir string) {
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), scratchName+"*"))
	for _, d := range left {
		_ = os.RemoveAll(d)
	}
}

// Tidy removes what a process that was killed in Merge or Make left.
func (c *Clone) Tidy(ctx context.Context) error {
	sweep(c.Dir)
	_, err := c.run(ctx, c.Dir, "worktree", "prune")
	return err
}

// Merge merges the branch into a copy beside the clone. The clone's files and
// branches stay as they are. The caller calls Close.
func (c *Clone) Merge(ctx context.Context, u Upstream, s *Standing) (_ *Result, err error) {
	temp, err := os.MkdirTemp(filepath.Dir(c.Dir), scratchName)
	if err != nil {
		return nil, err
	}
	r := &Result{Dir: temp, Merge: len(s.Ahead) > 0, clone: c, head: s.Head, Both: []Both{}}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	from := s.Upstream
	if r.Merge {
		from = s.Head
	}
	if _, err := c.run(ctx, c.Dir, "worktree", "add", "--quiet", "--force", "--detach", temp, from); err != nil {
		return nil, err
	}
	if r.Merge {
		if err := r.merge(ctx, u, s); err != nil || len(r.Both) > 0 {
			return r, err
		}
	}
	if r.Commit, err = r.line(ctx, "rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	out, err := r.run(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", r.head, r.Commit)
	if err != nil {
		return nil, err
	}
	r.files = strings.FieldsFunc(out, func(c rune) bool { return c == 0 })
	return r, r.overlay(ctx, s)
}

func (r *Result) run(ctx context.Context, args ...string) (string, error) {
	return r.clone.run(ctx, r.Dir, args...)
}

func (r *Result) line(ctx context.Context, args ...string) (string, error) {
	out, err := r.run(ctx, args...)
	return strings.TrimSpace(out), err
}

// merge merges the branch in the work tree, or lists what both sides changed.
func (r *Result) merge(ctx context.Context, u Upstream, s *Standing) error {
	_, err := r.run(ctx, "merge", "--quiet", "--no-edit", "--no-ff", "-m", "Merge "+u.Name(), s.Upstream)
	if err == nil {
		return nil
	}
	out, uerr := r.run(ctx, "ls-files", "-u", "-z")
	if uerr != nil {
		return uerr
	}
	stages := map[string][]string{} // of a file: those that there are
	for _, entry := range strings.Split(out, "\x00") {
		info, file, ok := strings.Cut(entry, "\t")
		if f := strings.Fields(info); ok && len(f) == 3 {
			stages[file] = append(stages[file], f[2])
		}
	}
	if len(stages) == 0 {
		return err
	}
	var files []string
	for file := range stages {
		files = append(files, file)
	}
	slices.Sort(files)
	for _, file := range files {
		has := func(stage string) bool { return slices.Contains(stages[file], stage) }
		switch {
		case file == lockName && has("2") && has("3"):
			err = r.mergeLock(ctx)
		case !has("2"):
			r.Both = append(r.Both, Both{File: file, Here: "deleted", There: "changed"})
		case !has("3"):
			r.Both = append(r.Both, Both{File: file, Here: "changed", There: "deleted"})
		default:
			err = r.conflicts(file)
		}
		if err != nil {
			return err
		}
	}
	if len(r.Both) > 0 {
		return nil
	}
	_, err = r.run(ctx, "commit", "--quiet", "--no-edit", "--no-verify")
	return err
}

// conflicts adds the hunks of file that git could not merge.
func (r *Result) conflicts(file string) error {
	text, err := os.ReadFile(filepath.Join(r.Dir, file))
	if err != nil {
		return err
	}
	n := len(r.Both)
	line, side := 1, 0 // of the file here; 0: both, 1: here, 2: the base, 3: there
	var b Both
	for l := range strings.Lines(string(text)) {
		l = strings.TrimRight(l, "\r\n")
		switch {
		case strings.HasPrefix(l, "<<<<<<<"):
			b, side = Both{File: file, Line: line}, 1
			continue
		case side > 0 && strings.HasPrefix(l, "|||||||"):
			side = 2
			continue
		case side > 0 && strings.HasPrefix(l, "======="):
			side = 3
			continue
		case side > 0 && strings.HasPrefix(l, ">>>>>>>"):
			r.Both, side = append(r.Both, b), 0
			continue
		}
		switch side {
		case 0:
			line++
		case 1:
			line++
			if b.Here == "" {
				b.Here = strings.TrimSpace(l)
			}
		case 3:
			if b.There == "" {
				b.There = strings.TrimSpace(l)
			}
		}
	}
	if len(r.Both) == n { // such as two binary files
		r.Both = append(r.Both, Both{File: file, Here: "changed", There: "changed"})
	}
	return nil
}

// overlay brings the edits that are not committed into the work tree, so that it has
// what the clone's folder would have, or lists those that the commits change too. It
// writes through no link out of the work tree, which the commits may hold.
func (r *Result) overlay(ctx context.Context, s *Standing) error {
	tree, err := os.OpenRoot(r.Dir)
	if err != nil {
		return err
	}
	defer tree.Close()
	for _, e := range s.Edits {
		switch {
		case e.File == lockName && (e.State == "changed" || e.State == "new") && slices.Contains(r.files, lockName):
			r.carried = e.State == "changed"
			err = r.editedLock(ctx, tree)
		case slices.Contains(r.files, e.File):
			r.Both = append(r.Both, Both{File: e.File, Here: e.State + ", not committed", There: "changed"})
		default:
			if err = tree.RemoveAll(e.File); err == nil && e.State != "deleted" {
				err = copyInto(tree, e.File, filepath.Join(r.clone.Dir, e.File))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyInto copies a file or a link. What is neither, such as a socket, is left out.
func copyInto(tree *os.Root, name, from string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := tree.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return tree.Symlink(target, name)
	case info.Mode().IsRegular():
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return tree.WriteFile(name, text, info.Mode().Perm())
	}
	return nil
}

// FileDiff is a file that differs.
type FileDiff struct {
	File   string `json:"file"`
	Action string `json:"action"` // "+", "-", "~", as in a plan
	Diff   string `json:"diff"`   // unified, without its header; "" for the lock and for what is no text
}

// Diff returns how the result differs from the last commit here.
func (r *Result) Diff(ctx context.Context) ([]FileDiff, error) {
	out, err := r.run(ctx, "diff-tree", "-r", "-z", "--name-status", "--no-renames", r.head, r.Commit)
	if err != nil {
		return nil, err
	}
	text, err := r.run(ctx, "diff-tree", "-r", "-p", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", r.head, r.Commit)
	if err != nil {
		return nil, err
	}
	// Both lists have the files in the same order. No line of a text begins like a header.
	diffs := strings.Split("\n"+text, "\ndiff --git ")[1:]
	f := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if len(f) != 2*len(diffs) && (len(f) != 1 || len(diffs) > 0) {
		return nil, fmt.Errorf("git diff-tree lists %d files and shows %d", len(f)/2, len(diffs))
	}
	list := []FileDiff{}
	for i, diff := range diffs {
		d := FileDiff{File: f[2*i+1], Action: map[string]string{"A": "+", "D": "-"}[f[2*i]]}
		if d.Action == "" {
			d.Action = "~"
		}
		if at := strings.Index(diff, "\n@@ "); at >= 0 && d.File != lockName {
			d.Diff = strings.TrimSuffix(diff[at+1:], "\n") + "\n"
		}
		list = append(list, d)
	}
	return list, nil
}

// Take makes the result the clone's. git refuses it, and changes nothing, if the clone
// has changed since.
func (r *Result) Take(ctx context.Context) error {
	if len(r.Both) > 0 || r.Commit == "" {
		return errors.New("both sides changed the same")
	}
	c := r.clone
	if head, err := c.line(ctx, "rev-parse", "HEAD"); err != nil || head != r.head {
		return fmt.Errorf("the clone has changed meanwhile: %w", errors.Join(err, errors.New("run it again")))
	}
	lock := filepath.Join(c.Dir, lockName)
	var edited []byte
	if r.lock != nil {
		var err error
		if edited, err = os.ReadFile(lock); err != nil {
			return err
		}
		if r.carried {
			err = c.whole(ctx, "checkout", "--quiet", r.head, "--", lockName)
		} else {
			_, err = c.run(ctx, c.Dir, "rm", "--cached", "--quiet", "--force", "--ignore-unmatch", "--", lockName)
			err = errors.Join(err, os.Remove(lock))
		}
		if err != nil {
			return err
		}
	}
	err := c.whole(ctx, "merge", "--quiet", "--ff-only", r.Commit)
	if r.lock != nil {
		if err == nil {
			edited = r.lock
		}
		err = errors.Join(err, writeLock(c.Dir, edited))
	}
	return errors.Join(err, c.give(c.Dir))
}

// Close removes the work tree.
func (r *Result) Close() {
	ctx := context.Background() // also after an interrupt
	_, _ = r.clone.run(ctx, r.clone.Dir, "worktree", "remove", "--force", r.Dir)
	_ = os.RemoveAll(r.Dir)
	_, _ = r.clone.run(ctx, r.clone.Dir, "worktree", "prune")
}
