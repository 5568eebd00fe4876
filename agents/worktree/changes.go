package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"aisync.dev/aisync/agents/task/policy"
)

// seen is what tells a file from the one that was there before. A change of
// content cannot keep all of it: nobody sets a ctime.
type seen struct {
	mode   fs.FileMode
	size   int64
	links  uint64
	ids    [2]uint64 // device and inode
	mtime  int64
	ctime  int64
	target string // of a link
}

// snapshot is all that lies below a work tree by its slash-separated path,
// folders too, without the link to git's own folder.
type snapshot map[string]seen

// walk looks at everything: git does not see what lies in a submodule or in a
// repository within, nor what is neither file nor link.
func (t *Tree) walk() (snapshot, error) {
	s := snapshot{}
	err := filepath.WalkDir(t.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == t.Dir {
			return nil
		}
		name, err := filepath.Rel(t.Dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := seen{mode: info.Mode(), size: info.Size(), mtime: info.ModTime().UnixNano()}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			f.links, f.ids, f.ctime = uint64(st.Nlink), [2]uint64{uint64(st.Dev), st.Ino}, changed(st)
		}
		switch {
		case f.mode.IsDir():
			f = seen{mode: fs.ModeDir} // what is in it tells
		case f.mode&fs.ModeSymlink != 0:
			if f.target, err = os.Readlink(path); err != nil {
				return err
			}
		}
		s[filepath.ToSlash(name)] = f
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look at the work tree: %w", err)
	}
	if err := t.linked(s); err != nil {
		return nil, err
	}
	delete(s, ".git")
	return s, nil
}

// linked checks that .git is what git made.
func (t *Tree) linked(s snapshot) error {
	link, err := os.ReadFile(filepath.Join(t.Dir, ".git"))
	if err != nil || string(link) != t.link || !s[".git"].mode.IsRegular() {
		return &policy.Violation{Path: ".git", Text: "is no longer what git made"}
	}
	return nil
}

// Changes compares the work tree with its base, sorted by path. A rename is a
// deletion and an addition. A file that was written with what was in it before
// is none. What cannot be told is an error.
func (t *Tree) Changes(ctx context.Context) ([]policy.Change, error) {
	return t.since(ctx, t.first, filepath.Join(t.admin, "index"))
}

// Since compares the work tree with what it was at the last Mark.
func (t *Tree) Since(ctx context.Context) ([]policy.Change, error) {
	return t.since(ctx, t.last, t.marked())
}

func (t *Tree) since(ctx context.Context, then snapshot, index string) ([]policy.Change, error) {
	now, err := t.walk()
	if err != nil {
		return nil, err
	}
	// Only then are files that were written with the same not among those that differ.
	if _, err := t.git(ctx, call{index: index}, "update-index", "-q", "--really-refresh"); err != nil {
		return nil, err
	}
	differs, err := t.git(ctx, call{index: index}, "diff-files", "--name-only", "--no-renames", "--ignore-submodules=none", "-z")
	if err != nil {
		return nil, err
	}
	content := map[string]bool{}
	for path := range strings.SplitSeq(differs, "\x00") {
		content[path] = true
	}
	var out []policy.Change
	var fresh []string
	for _, path := range slices.Sorted(maps.Keys(union(then, now))) {
		was, before := then[path]
		is, there := now[path]
		if before == there && was == is {
			continue
		}
		c := policy.Change{Path: path}
		switch file, wasFile := there && !is.mode.IsDir(), before && !was.mode.IsDir(); {
		case file && wasFile:
			c.Kind = policy.Modified
		case file:
			c.Kind = policy.Added
		case wasFile, before && t.index[path] == gitlink:
			c.Kind = policy.Deleted
		default:
			continue // nothing but a folder
		}
		switch {
		case t.within(path):
			c.Wrong = "belongs to a submodule"
		case c.Kind != policy.Deleted:
			c.Wrong = t.wrong(path, is)
		}
		if c.Wrong == "" && c.Kind == policy.Modified && !content[path] {
			continue // written, and the same
		}
		if t.index[path] == "" && c.Wrong == "" && !policy.GitsOwn(path) {
			fresh = append(fresh, path)
		}
		out = append(out, c)
	}
	ignored, err := t.ignored(ctx, fresh)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Ignored = ignored[out[i].Path]
		if info := now[out[i].Path]; out[i].Wrong == "" && !out[i].Ignored && info.mode.IsRegular() && info.links > 1 {
			out[i].Wrong = "has another name somewhere (a hard link)"
		}
	}
	return out, nil
}

func union(a, b snapshot) snapshot {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// within reports whether a path is a submodule, or lies in one.
func (t *Tree) within(path string) bool {
	for at := path; at != "."; at = filepath.Dir(at) {
		if t.index[at] == gitlink {
			return true
		}
	}
	return false
}

// largest is the size from which on a file is not looked at: none that a task
// should write is.
const largest = 64 << 20

// wrong says why a file can never be right.
func (t *Tree) wrong(path string, f seen) string {
	switch {
	case f.mode&fs.ModeSymlink != 0:
		if !t.inside(path, f.target) {
			return fmt.Sprintf("is a link that leads out (to %q)", f.target)
		}
	case !f.mode.IsRegular():
		return "is neither a file nor a link (" + f.mode.String() + ")"
	case f.mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0:
		return "has powers of its own (" + f.mode.String() + ")"
	case f.size > largest:
		return fmt.Sprintf("is larger (%d bytes) than a task may write", f.size)
	}
	return ""
}

// inside reports whether what a link leads to lies in the work tree, and not
// in git's part of it.
func (t *Tree) inside(path, target string) bool {
	if filepath.IsAbs(target) {
		return false
	}
	root, err := filepath.EvalSymlinks(t.Dir)
	if err != nil {
		return false
	}
	to := filepath.Join(filepath.Dir(path), target) // as it is written
	if to == ".." || strings.HasPrefix(to, "../") || policy.GitsOwn(to) {
		return false
	}
	for at := filepath.Join(root, filepath.Dir(path)) + "/" + target; ; at = filepath.Dir(at) { // as it is: links among its elements are followed
		real, err := filepath.EvalSymlinks(at)
		if errors.Is(err, fs.ErrNotExist) && filepath.Clean(at) != root {
			at = filepath.Clean(at)
			if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 && at != filepath.Join(root, path) {
				return false // leads nowhere that could be told
			}
			continue
		}
		rel, err2 := filepath.Rel(root, real)
		return err == nil && err2 == nil && rel != ".." && !strings.HasPrefix(rel, "../") && !policy.GitsOwn(rel)
	}
}

// ignored are those of the paths that git would not take of itself.
func (t *Tree) ignored(ctx context.Context, paths []string) (map[string]bool, error) {
	out := map[string]bool{}
	if len(paths) == 0 {
		return out, nil
	}
	var in strings.Builder
	for _, path := range paths {
		in.WriteString("./" + path + "\x00") // a colon in front would have a meaning
	}
	said, err := t.git(ctx, call{in: []byte(in.String())}, "check-ignore", "-z", "--stdin")
	var e *Error
	if errors.As(err, &e) && e.Said == "" { // exit code 1: none
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for path := range strings.SplitSeq(said, "\x00") {
		out[strings.TrimPrefix(path, "./")] = true
	}
	return out, nil
}
