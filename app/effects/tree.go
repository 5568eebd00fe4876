package effects

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
)

// maxFile bounds a file whose settings are read. Real ones are kilobytes.
const maxFile = 4 << 20

// maxSum bounds a file whose bytes a digest covers. For a larger one, size and
// modification time stand instead.
const maxSum = 1 << 30

// errLargeFile means that a file is too large to be read.
var errLargeFile = fmt.Errorf("larger than %d MiB", maxFile>>20)

// errUnreadable means that a file cannot be judged: a program may obey anything
// in it.
var errUnreadable = errors.New("cannot be read")

// tree is a project's folder as it will be after a plan.
type tree struct {
	root    string
	carried func(name string) bool // see Project
	env     reconcile.ReadEnv
	after   map[string]*planned // by path, with slashes
	names   []string            // of after, sorted
	real    map[string]string   // a name in after, by the path with links resolved
	links   map[string]string   // targets of the plan's links, by path
	found   map[string]found    // results of glob, by pattern
}

// planned is a file of a plan, which may change it.
type planned struct {
	change reconcile.Change
	info   fs.FileInfo // of the present file; nil if there is none
	made   *outcome    // nil: not examined yet
}

// outcome is a file after a plan.
type outcome struct {
	doc  []byte
	exec bool
	gone bool
	err  error
}

// newTree is the folder root after p, which may be nil. Of unchanged files it
// reads only those that a program obeys.
func newTree(root string, r reconcile.ReadEnv, p *reconcile.Plan) *tree {
	t := &tree{root: root, env: r, after: map[string]*planned{}, real: map[string]string{}, links: map[string]string{}, found: map[string]found{}}
	if p == nil {
		return t
	}
	for _, c := range p.Changes {
		if a := c.Target.Resource.Address; a.Kind() == "file" && a.InProject() {
			t.after[path.Clean(a.Name())] = &planned{change: c}
		} else if a.Kind() == "link" && a.InProject() && c.Writes() {
			for _, l := range c.Leaves {
				var target string
				if l.Want != nil && json.Unmarshal(l.Want.Body.Redacted(), &target) == nil {
					t.links[path.Clean(a.Name())] = target
				}
			}
		}
	}
	t.names = slices.Sorted(maps.Keys(t.after))
	folders := map[string]holder{}
	for _, name := range t.names {
		a := t.after[name]
		dir, base := path.Split(name)
		in, ok := folders[dir]
		if !ok {
			in = t.holder(path.Clean(dir))
			folders[dir] = in
		}
		if in.there {
			a.info, _ = os.Lstat(t.path(name))
		}
		real := path.Join(in.real, base)
		if in.linked || t.links[name] != "" || a.info != nil && a.info.Mode()&fs.ModeSymlink != 0 {
			real = t.resolve(name)
		}
		t.real[real] = name
	}
	return t
}

// holder is the folder of a planned file.
type holder struct {
	real   string // with links resolved, planned ones included
	linked bool   // a link leads to it
	there  bool   // files may lie in it now
}

func (t *tree) holder(dir string) holder {
	_, err := os.Stat(t.path(dir))
	f := holder{real: t.resolve(dir), there: !errors.Is(err, fs.ErrNotExist)}
	f.linked = path.Clean(f.real) != dir
	return f
}

// outcome returns a after the plan.
func (t *tree) outcome(a *planned) outcome {
	if a.made == nil {
		a.made = &outcome{}
		a.made.doc, a.made.exec, a.made.gone, a.made.err = file.After(t.env, a.change)
	}
	return *a.made
}

// planned returns the planned file name, even if the plan names it by another
// path to the same file.
func (t *tree) planned(name string) (*planned, bool) {
	if a, ok := t.after[name]; ok {
		return a, true
	}
	a, ok := t.after[t.real[t.resolve(name)]]
	return a, ok
}

// read returns the content that name will have, and whether its owner may
// execute it. It follows links, as programs do. The error is fs.ErrNotExist, or
// wraps errUnreadable.
func (t *tree) read(name string) (doc []byte, exec bool, err error) {
	if a, ok := t.planned(name); ok {
		switch will := t.outcome(a); {
		case will.err != nil:
			return nil, false, fmt.Errorf("%w: %w", errUnreadable, will.err)
		case a.change.Writes() && will.gone:
			return nil, false, fs.ErrNotExist
		case a.change.Writes():
			return will.doc, will.exec, nil
		}
	}
	doc, exec, err = t.live(name)
	if errors.Is(err, fs.ErrNotExist) && len(t.links) > 0 {
		return t.live(t.resolve(name))
	}
	return doc, exec, err
}

// live returns the present content of name.
func (t *tree) live(name string) (doc []byte, exec bool, err error) {
	f, err := os.OpenFile(filepath.Join(t.root, filepath.FromSlash(name)), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, false, fs.ErrNotExist
	}
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("%w: %w", errUnreadable, err)
	case info.IsDir():
		return nil, false, fs.ErrNotExist
	case !info.Mode().IsRegular():
		return nil, false, fmt.Errorf("%w: not a regular file", errUnreadable)
	case info.Size() > maxFile:
		return nil, info.Mode()&0o111 != 0, fmt.Errorf("%w: %w", errUnreadable, errLargeFile)
	}
	doc, err = io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return doc, info.Mode()&0o111 != 0, nil
}

// digest identifies the bytes of name, its executable bit and its link target;
// ok is false if it is no file of the project.
func (t *tree) digest(name string) (line string, ok bool) {
	doc, exec, err := t.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false
	}
	target, _ := os.Readlink(filepath.Join(t.root, filepath.FromSlash(name)))
	if errors.Is(err, errLargeFile) {
		return fmt.Sprintf("%s %s %t %s", name, t.largeSum(name), exec, target), true
	}
	if err != nil {
		return fmt.Sprintf("%s %s %v", name, target, err), true
	}
	sum := sha256.Sum256(doc)
	return fmt.Sprintf("%s %s %t %s", name, hex.EncodeToString(sum[:]), exec, target), true
}

// largeSum stands for the bytes of a large file.
func (t *tree) largeSum(name string) string {
	f, err := os.OpenFile(filepath.Join(t.root, filepath.FromSlash(name)), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return err.Error()
	case !info.Mode().IsRegular() || info.Size() > maxSum:
		return fmt.Sprintf("%v %d %d", info.Mode(), info.Size(), info.ModTime().UnixNano())
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxSum)); err != nil {
		return err.Error()
	}
	return hex.EncodeToString(h.Sum(nil))
}
