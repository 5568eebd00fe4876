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

// fileStamp identifies one version of a file. A change of content changes at least
// the ctime, which cannot be set.
type fileStamp struct {
	mode   fs.FileMode
	size   int64
	links  uint64
	ids    [2]uint64 // device and inode
	mtime  int64
	ctime  int64
	target string // of a link
}

// snapshot is the content of a work tree by slash-separated path, folders too,
// without the link to git's folder.
type snapshot map[string]fileStamp

// walk reads the whole tree: git does not see inside submodules and nested
// repositories, and ignores special files.
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
		f := fileStamp{mode: info.Mode(), size: info.Size(), mtime: info.ModTime().UnixNano()}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			f.links, f.ids, f.ctime = uint64(st.Nlink), [2]uint64{uint64(st.Dev), st.Ino}, changed(st)
		}
		switch {
		case f.mode.IsDir():
			f = fileStamp{mode: fs.ModeDir} // its content counts
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

// linked checks that .git is unchanged.
func (t *Tree) linked(s snapshot) error {
	link, err := os.ReadFile(filepath.Join(t.Dir, ".git"))
	if err != nil || string(link) != t.link || !s[".git"].mode.IsRegular() {
		return &policy.Violation{Path: ".git", Text: "was changed"}
	}
	return nil
}

// Changes compares the work tree with its base, sorted by path. A rename is a
// deletion and an addition. A file rewritten with the same content is no change.
// An undecidable change is an error.
func (t *Tree) Changes(ctx context.Context) ([]policy.Change, error) {
	return t.since(ctx, t.first, filepath.Join(t.admin, "index"))
}

// Since compares the work tree with the last Mark.
func (t *Tree) Since(ctx context.Context) ([]policy.Change, error) {
	return t.since(ctx, t.last, t.marked())
}

func (t *Tree) since(ctx context.Context, then snapshot, index string) ([]policy.Change, error) {
	now, err := t.walk()
	if err != nil {
		return nil, err
	}
	// This refresh removes files that were rewritten with the same content.
	if _, err := t.git(ctx, call{index: index}, "update-index", "-q", "--really-refresh"); err != nil {
		return nil, err
	}
	// With none, git runs git status in a submodule, and the filters that its settings
	// name, outside of the sandbox. The walk has seen what is in it.
	differs, err := t.git(ctx, call{index: index}, "diff-files", "--name-only", "--no-renames", "--ignore-submodules=dirty", "-z")
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
			continue // only a folder
		}
		switch {
		case t.inSubmodule(path):
			c.Wrong = "belongs to a submodule"
		case c.Kind != policy.Deleted:
			c.Wrong = t.violation(path, is)
		}
		if c.Wrong == "" && c.Kind == policy.Modified && !content[path] {
			continue // rewritten with the same content
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
			out[i].Wrong = "has more than one hard link"
		}
	}
	return out, nil
}

func union(a, b snapshot) snapshot {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// inSubmodule reports whether a path is a submodule, or inside one.
func (t *Tree) inSubmodule(path string) bool {
	for at := path; at != "."; at = filepath.Dir(at) {
		if t.index[at] == gitlink {
			return true
		}
	}
	return false
}

// maxRead is the size from which on a file's content is not read: no task may
// write such a file.
const maxRead = 64 << 20

// violation returns why a file can never be allowed.
func (t *Tree) violation(path string, f fileStamp) string {
	switch {
	case f.mode&fs.ModeSymlink != 0:
		if !t.inside(path, f.target) {
			return fmt.Sprintf("is a link out of the work tree (to %q)", f.target)
		}
	case !f.mode.IsRegular():
		return "is neither a file nor a link (" + f.mode.String() + ")"
	case f.mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0:
		return "has special permissions (" + f.mode.String() + ")"
	case f.size > maxRead:
		return fmt.Sprintf("is larger (%d bytes) than a task may write", f.size)
	}
	return ""
}

// inside reports whether a link's target is in the work tree, outside git's
// folder.
func (t *Tree) inside(path, target string) bool {
	if filepath.IsAbs(target) {
		return false
	}
	root, err := filepath.EvalSymlinks(t.Dir)
	if err != nil {
		return false
	}
	to := filepath.Join(filepath.Dir(path), target) // lexically
	if to == ".." || strings.HasPrefix(to, "../") || policy.GitsOwn(to) {
		return false
	}
	for at := filepath.Join(root, filepath.Dir(path)) + "/" + target; ; at = filepath.Dir(at) { // physically: links among its elements are followed
		real, err := filepath.EvalSymlinks(at)
		if errors.Is(err, fs.ErrNotExist) && filepath.Clean(at) != root {
			at = filepath.Clean(at)
			if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 && at != filepath.Join(root, path) {
				return false // dangling
			}
			continue
		}
		rel, err2 := filepath.Rel(root, real)
		return err == nil && err2 == nil && rel != ".." && !strings.HasPrefix(rel, "../") && !policy.GitsOwn(rel)
	}
}

// ignored returns those of the paths that git ignores.
func (t *Tree) ignored(ctx context.Context, paths []string) (map[string]bool, error) {
	out := map[string]bool{}
	if len(paths) == 0 {
		return out, nil
	}
	var in strings.Builder
	for _, path := range paths {
		in.WriteString("./" + path + "\x00") // a leading colon would have a meaning
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
