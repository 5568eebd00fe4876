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
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"aisync.dev/aisync/internal/frontmatter"
	"aisync.dev/aisync/internal/hostiletext"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile/fsys"
)

// File is one file of a part. Digest is that of its bytes when they were read;
// only a rule's text is kept.
type File struct {
	Rel      string // slash-separated, relative to the folder that it is installed from: "commits.md"
	Src      string // slash-separated, relative to the tree: "agent-rules/commits.md"
	Path     string // on disk
	Embedded []byte // its bytes, if it lies only in aisync itself
	Digest   string // "sha256:" and the hex digest of its bytes
	Mode     fs.FileMode
	Text     []byte           // of a rule: its bytes or, if it is scoped by prose, these with its scope in their front matter
	About    frontmatter.Rule // of a rule: its metadata
	Fault    error            // of a rule: the error in its front matter
	ByProse  bool             // of a rule: its line "Applies to:" is its scope
	Past     func() [][]byte  // its contents in the versions of its source in git, newest first
	Bridges  []string         // of a skill's Markdown: the folders of rules that it refers to as siblings
}

// ErrCase means that two files of a folder are one on many file systems.
var ErrCase = errors.New("differ only in case")

// use says what is read from a file besides its digest.
type use int

const (
	plain     use = iota
	rule          // its metadata
	proseRule     // its metadata, and its line "Applies to:", which is its scope
	skill         // references to the rules
	program       // *.sh is always executable
	gitHook       // always executable
	whole         // names that start with a dot count too, but git's own
)

type job struct {
	rel, src string
	use      use
}

// list finds the files below dir, a slash path within the tree, sorted within
// each folder. It leaves out names that start with a dot, __pycache__, folders
// that enter refuses and files that keep refuses; nil refuses nothing. A
// missing folder has no files.
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
			if name[0] == '.' && (u != whole || name == ".git") || name == "__pycache__" {
				continue
			}
			if err := t.plainName(path.Join(dir, rel, name)); err != nil {
				return err
			}
			low := strings.ToLower(name)
			if had, twice := folded[low]; twice {
				return fmt.Errorf("%s and %s %w; many file systems treat them as one: rename one", t.at(dir, rel, had), t.at(dir, rel, name), ErrCase)
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
				return fmt.Errorf("%s links to a folder: a bundle's folders must be real, so that nothing is read twice; copy it, or link its files", t.at(dir, sub))
			case typ.IsDir():
				err = walk(sub)
			case !typ.IsRegular():
				err = fmt.Errorf("%s is neither a file nor a folder", t.at(dir, sub))
			case keep == nil || keep(sub):
				if jobs = append(jobs, job{rel: sub, src: src, use: u}); len(jobs) > maxFiles {
					err = t.tooMany(dir)
				}
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

// maxFiles bounds what is taken of a source, and with it the memory of a plan: 10 kB
// a file. Archives have the same limit.
const maxFiles = 50_000

func (t *Tree) tooMany(dir string) error {
	return fmt.Errorf("%s has more than %d files for agents; name a folder of it, as in //skills/pdf", t.at(dir), maxFiles)
}

// plainName refuses a path whose last name no person could tell from another one, or
// that is a path for another system. The plan refuses one that is not UTF-8, for its
// file alone.
func (t *Tree) plainName(src string) error {
	if name := path.Base(src); utf8.ValidString(name) && (termtext.Safe(name) != name || unseen(name)) || strings.Contains(name, `\`) {
		return fmt.Errorf("%s/%q has a backslash, or a character that cannot be seen, in its name; rename it", t.at(path.Dir(src)), name)
	}
	return nil
}

// unseen reports whether name has a character that cannot be seen, other than those
// that a script or an emoji needs.
func unseen(name string) bool {
	return !isASCII(name) && slices.ContainsFunc(hostiletext.Scan("name.md", []byte(name)), func(f hostiletext.Finding) bool { return f.Rule == hostiletext.HiddenText })
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
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

// inside refuses a path whose links lead out of the tree. A missing path is
// inside.
func (t *Tree) inside(src string) error {
	real, inside, err := t.leadsTo(src)
	if err == nil && !inside {
		return fmt.Errorf("%s links out of the source, to %s; a bundle must contain its files: copy the file", t.at(src), real)
	}
	return err
}

// read reads and hashes many files in parallel and returns them in order.
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

// readOne reads and hashes one file into buf, which it returns.
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
	case rule, proseRule:
		out.Text = slices.Clone(buf)
		if out.ByProse = j.use == proseRule; out.ByProse {
			out.Text = frontmatter.ScopeByProse(out.Text)
		}
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
