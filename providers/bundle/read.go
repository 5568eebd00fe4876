package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"aisync.dev/aisync/reconcile/fsys"
)

// File is one file of a part. Its bytes are not kept: Digest says what they
// were when they were read.
type File struct {
	Rel         string // slash-separated, within the folder that it is installed from: "commits.md"
	Src         string // slash-separated, within the tree: "agent-rules/commits.md"
	Path        string // where it lies on this machine
	Digest      string // "sha256:" and the hex digest of its bytes
	Mode        fs.FileMode
	Title       string   // of a rule: its first heading, "" without one
	Globs       []string // of a rule: what its "Applies to:" line names
	FrontMatter bool     // starts with a block between --- lines
	Paths       string   // of a rule that is for some files only: front matter that says so
	PathsDigest string   // of its bytes with Paths in front
	Bridges     []string // of a skill's Markdown: the folders of rules that it refers to as its neighbours
}

// use says what is read out of a file besides its digest.
type use int

const (
	plain   use = iota
	rule        // title, globs, front matter
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
		entries, err := os.ReadDir(t.at(dir, rel))
		if err != nil {
			if rel == "" && errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		for _, e := range entries {
			name := e.Name()
			if name[0] == '.' || name == "__pycache__" {
				continue
			}
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
	info, err := os.Stat(t.at(src))
	if err != nil {
		return 0, err
	}
	return info.Mode().Type(), nil
}

// inside refuses a path that a link leads out of the tree. What is not there
// is inside.
func (t *Tree) inside(src string) error {
	real, err := filepath.EvalSymlinks(t.at(src))
	if err != nil {
		if _, lerr := os.Lstat(t.at(src)); errors.Is(lerr, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	rel, err := filepath.Rel(t.real, real)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return fmt.Errorf("%s leads out of the source, to %s; a bundle may only hold what lies in it: copy the file", t.at(src), real)
	}
	return nil
}

// read reads and hashes many files side by side and returns them in order.
func (t *Tree) read(jobs []job) ([]File, error) {
	files := make([]File, len(jobs))
	const chunk = 16
	var g errgroup.Group
	g.SetLimit(2 * runtime.GOMAXPROCS(0))
	for start := 0; start < len(jobs); start += chunk {
		g.Go(func() error {
			buf := buffers.Get().(*[]byte)
			defer buffers.Put(buf)
			for i := start; i < min(start+chunk, len(jobs)); i++ {
				var err error
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
	buf, mode, err := fsys.ReadSource(name, buf)
	if err != nil {
		return buf, err
	}
	sum := sha256.Sum256(buf)
	*out = File{Rel: j.rel, Src: j.src, Path: name, Digest: "sha256:" + hex.EncodeToString(sum[:]), Mode: 0o644}
	if mode&0o100 != 0 || j.use == gitHook || j.use == program && strings.HasSuffix(j.rel, ".sh") {
		out.Mode = 0o755
	}
	switch j.use {
	case rule:
		out.Title, out.Globs, out.FrontMatter = header(buf)
		if out.Paths = paths(out.Globs); out.Paths != "" && !out.FrontMatter {
			h := sha256.New()
			io.WriteString(h, out.Paths)
			h.Write(buf)
			out.PathsDigest = "sha256:" + hex.EncodeToString(h.Sum(nil))
		} else {
			out.Paths = ""
		}
	case skill:
		out.FrontMatter = bytes.HasPrefix(buf, []byte("---\n"))
		for _, dir := range ruleFolders {
			if strings.HasSuffix(j.rel, ".md") && bytes.Contains(buf, []byte("../"+dir+"/")) {
				out.Bridges = append(out.Bridges, dir)
			}
		}
	}
	return buf, nil
}

// header reads what a rule says about itself: its first heading, the globs of
// its first "Applies to:" line, and whether front matter stands before them.
func header(text []byte) (title string, globs []string, front bool) {
	found := false
	for n := 0; len(text) > 0 && (title == "" || !found); n++ {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		line = bytes.TrimRight(line, "\r \t")
		switch {
		case n == 0 && string(line) == "---":
			if end := bytes.Index(text, []byte("\n---")); end >= 0 {
				front, text = true, text[end+1:]
				_, text, _ = bytes.Cut(text, []byte("\n"))
			}
		case title == "" && bytes.HasPrefix(line, []byte("# ")):
			title = strings.TrimSpace(string(line[2:]))
		case !found && bytes.HasPrefix(line, []byte("Applies to:")):
			found, globs = true, globsOf(string(line[len("Applies to:"):]))
		}
	}
	return title, globs, front
}

// paths is the front matter that limits a rule to globs: "" where one of them
// is every file.
func paths(globs []string) string {
	if len(globs) == 0 || slices.Contains(globs, "**/*") || slices.Contains(globs, "**") {
		return ""
	}
	var b strings.Builder
	b.WriteString("---\npaths:\n")
	for _, g := range globs {
		quoted, _ := json.Marshal(g) // a JSON string is a YAML string
		fmt.Fprintf(&b, "  - %s\n", quoted)
	}
	b.WriteString("---\n")
	return b.String()
}

// globsOf takes the globs between backquotes, or, where there are none, those
// between commas.
func globsOf(s string) []string {
	var out []string
	add := func(g string) {
		if g = strings.TrimSpace(g); g != "" && !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	if parts := strings.Split(s, "`"); len(parts) > 2 {
		for i := 1; i < len(parts); i += 2 {
			add(parts[i])
		}
		return out
	}
	for _, g := range strings.Split(s, ",") {
		add(g)
	}
	return out
}
