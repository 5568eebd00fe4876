package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"aisync.dev/aisync/internal/frontmatter"
	"aisync.dev/aisync/reconcile/fsys"
)

// File is one file of a part. Digest says what its bytes were when they were
// read; only those of a rule are kept.
type File struct {
	Rel      string // slash-separated, within the folder that it is installed from: "commits.md"
	Src      string // slash-separated, within the tree: "agent-rules/commits.md"
	Path     string // where it lies on this machine
	Embedded []byte // its bytes, where it lies nowhere but in aisync itself
	Digest   string // "sha256:" and the hex digest of its bytes
	Mode     fs.FileMode
	Text     []byte           // of a rule: its bytes, which several programs read in several forms
	About    frontmatter.Rule // of a rule: what it says about itself
	Fault    error            // of a rule: what is wrong with its front matter
	Past     func() [][]byte  // what it held in the versions of its source that git knows, newest first
	Bridges  []string         // of a skill's Markdown: the folders of rules that it refers to as its neighbours
}

// ErrCase says of two files of a folder that on many machines they are one.
var ErrCase = errors.New("differ only in case")

// use says what is read out of a file besides its digest.
type use int

const (
	plain   use = iota
	rule        // what it says about itself
	skill       // references to the rules
	program     // *.sh is executable whatever its mode says
	gitHook     // executable always
)

type job struct {
	rel, src string
	use      use
}

// list finds the files below dir, a slash path within the tree, sorted within
// each folder. Entries that start with a dot, __pycache__, folders that enter
// refuses and files that keep refuses are left out; nil refuses nothing. A
// folder that is not there has no files.
func (t *Tree) list(dir string, u use, enter, keep func(rel string) bool) ([]job, error) {
	var jobs []job
	var walk func(rel string) error
	walk = func(rel string) error {
		entries, err := t.readDir(dir, rel)
		if err != nil {
			if rel == "" && errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		folded := make(map[string]string, len(entries))
		for _, e := range entries {
			name := e.Name()
			if name[0] == '.' || name == "__pycache__" {
				continue
			}
			low := strings.ToLower(name)
			if had, twice := folded[low]; twice {
				return fmt.Errorf("%s and %s %w; on many machines they are one: rename one", t.at(dir, rel, had), t.at(dir, rel, name), ErrCase)
			}
			folded[low] = name
			sub := path.Join(rel, name)
			src := path.Join(dir, sub)
			typ, err := t.typeOf(src, e)
			if err != nil {
				return err
			}
			switch {
			case typ.IsDir() && enter != nil && !enter(sub):
			case typ.IsDir() && e.Type()&fs.ModeSymlink != 0:
				return fmt.Errorf("%s is a link to a folder: a bundle's folders must be real ones, so that nothing is read twice; copy it, or link its files", t.at(dir, sub))
			case typ.IsDir():
				err = walk(sub)
			case !typ.IsRegular():
				err = fmt.Errorf("%s is neither a file nor a folder", t.at(dir, sub))
			case keep == nil || keep(sub):
				jobs = append(jobs, job{rel: sub, src: src, use: u})
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := t.inside(dir); err != nil {
		return nil, err
	}
	err := walk("")
	return jobs, err
}

// typeOf follows a link and refuses one that leaves the tree.
func (t *Tree) typeOf(src string, e fs.DirEntry) (fs.FileMode, error) {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.Type(), nil
	}
	if err := t.inside(src); err != nil {
		return 0, err
	}
	info, err := t.stat(src)
	if err != nil {
		return 0, err
	}
	return info.Mode().Type(), nil
}

// inside refuses a path that a link leads out of the tree. What is not there
// is inside.
func (t *Tree) inside(src string) error {
	real, inside, err := t.leadsTo(src)
	if err == nil && !inside {
		return fmt.Errorf("%s leads out of the source, to %s; a bundle may only hold what lies in it: copy the file", t.at(src), real)
	}
	return err
}

// read reads and hashes many files side by side and returns them in order.
func (t *Tree) read(jobs []job) ([]File, error) {
	files := make([]File, len(jobs))
	const chunk = 16
	var g errgroup.Group
	g.SetLimit(2 * runtime.GOMAXPROCS(0))
	for start := 0; start < len(jobs); start += chunk {
		g.Go(func() (err error) {
			defer fsys.Caught(&err)
			buf := buffers.Get().(*[]byte)
			defer buffers.Put(buf)
			for i := start; i < min(start+chunk, len(jobs)); i++ {
				if *buf, err = t.readOne(jobs[i], *buf, &files[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return files, nil
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 16<<10); return &b }}

// readOne reads and hashes one file; buf is what it reads into, and returned.
func (t *Tree) readOne(j job, buf []byte, out *File) ([]byte, error) {
	name := t.at(j.src)
	buf, mode, err := t.readInto(j.src, buf)
	if err != nil {
		return buf, err
	}
	sum := sha256.Sum256(buf)
	*out = File{Rel: j.rel, Src: j.src, Path: name, Digest: "sha256:" + hex.EncodeToString(sum[:]), Mode: 0o644}
	v := t.versions
	out.Past = func() [][]byte { return v.past(j.src) }
	if mode&0o100 != 0 || j.use == gitHook || j.use == program && strings.HasSuffix(j.rel, ".sh") {
		out.Mode = 0o755
	}
	if t.embedded != nil {
		out.Embedded = slices.Clone(buf)
	}
	switch j.use {
	case rule:
		out.Text = slices.Clone(buf)
		out.About, out.Fault = frontmatter.ReadRule(out.Text)
	case skill:
		for _, dir := range ruleFolders {
			if strings.HasSuffix(j.rel, ".md") && bytes.Contains(buf, []byte("../"+dir+"/")) {
				out.Bridges = append(out.Bridges, dir)
			}
		}
	}
	return buf, nil
}
