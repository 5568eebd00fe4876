package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"aisync.dev/aisync/internal/bundle/plugin"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// Tree is one opened source. Each part is read once, on demand; all methods are
// safe for concurrent use.
type Tree struct {
	Name   string // of the source
	Dir    string // absolute folder
	URL    string // of the source, as in the spec
	Pinned string // pin of a git or archive source; "" for a folder
	Pos    spec.Position

	pick      *spec.Pick // what the spec takes of the top; nil: all
	scope     string     // of its rules, as the spec declares it: "" or ByProse
	real      string     // Dir with links resolved
	embedded  fs.FS      // the tree, if it lies in aisync itself; Dir is only its name then
	versions  *versions
	bits      fsys.Bits
	languages []string
	teams     []string
	folder    []string // folders at the top that may be skills

	mu    sync.Mutex
	parts map[string]func() (*Part, error)

	manifest func() (Manifest, error)

	core   func() (*Part, error)
	shared func() (*Part, error)
	top    func() (*Part, error)
	plugin func() (plugin.Manifest, error)
	dirs   func() ([]string, error) // of all skills, whatever the spec takes
	skills func() ([]Skill, error)
	hooks  func() (*Hooks, error)
	digest func() (string, error)
}

// Problem is a harmless fault in a bundle that its author should fix.
type Problem struct {
	Path string
	Text string
}

// problem is a Problem of the file at path. In a source that was fetched it is named by
// the source's address, not by its place in the cache.
func (t *Tree) problem(path, text string) Problem {
	if rel, err := filepath.Rel(t.Dir, path); err == nil && filepath.IsLocal(rel) && Remote(t.URL) {
		path = ShortAddress(Below(t.URL, filepath.ToSlash(rel)))
	}
	return Problem{path, text}
}

// known are the folders at the top of a tree that are not skills.
var known = []string{"agent-rules", "claude-rules", "ai-templates", "claude-templates", "skills", "hooks", "languages", "teams", "runtimes", "scripts", "docs"}

// ruleFolders are the new and the old name of the folder of generic rules.
var ruleFolders = []string{"agent-rules", "claude-rules"}

// templateFolders are the new and the old name of the folder whose .ai/ is for
// projects; ofTheProject are folders in it that a project fills itself.
var (
	templateFolders = []string{"ai-templates", "claude-templates"}
	ofTheProject    = []string{"project-workflows", "project-scripts", "sessions", "session-context.d", "inbox"}
)

func openTree(dir string) (*Tree, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	t := &Tree{Dir: dir, real: real, versions: newVersions(real)}
	return t, t.open()
}

// open lists the contents of t without reading files.
func (t *Tree) open() error {
	t.parts = map[string]func() (*Part, error){}
	entries, err := t.readDir()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() && !slices.Contains(known, e.Name()) && e.Name()[0] != '.' {
			t.folder = append(t.folder, e.Name())
		}
	}
	if t.languages, err = t.folders("languages"); err != nil {
		return err
	}
	if t.teams, err = t.folders("teams"); err != nil {
		return err
	}
	t.manifest = sync.OnceValues(t.readManifest)
	t.core = sync.OnceValues(t.readCore)
	t.shared = sync.OnceValues(t.readShared)
	t.top = sync.OnceValues(t.readTop)
	t.plugin = sync.OnceValues(t.readPlugin)
	t.dirs = sync.OnceValues(t.skillDirs)
	t.skills = sync.OnceValues(t.readSkills)
	t.hooks = sync.OnceValues(t.readHooks)
	t.digest = sync.OnceValues(t.hash)
	return nil
}

// Languages returns the names of the language bundles, sorted.
func (t *Tree) Languages() []string { return t.languages }

// Teams returns the names of the team overlays, sorted.
func (t *Tree) Teams() []string { return t.teams }

// Core returns the generic part: rules for every language.
func (t *Tree) Core() (*Part, error) { return t.core() }

// Shared returns the commands, subagents, hooks, permissions and ignored files
// at the top of the tree, for user scope.
func (t *Tree) Shared() (*Part, error) { return t.shared() }

// Top returns what lies at the top of the tree and is neither a rule nor for one
// runtime: skills, commands, subagents, hooks, servers, permissions, ignored files.
func (t *Tree) Top() (*Part, error) { return t.top() }

// Skills returns the global skills that the spec takes, sorted by name.
func (t *Tree) Skills() ([]Skill, error) { return t.skills() }

// Inside returns an error for a slash path of t whose links lead out of it.
func (t *Tree) Inside(src string) error { return t.inside(src) }

// Hooks returns the global hook programs and the settings that call them.
func (t *Tree) Hooks() (*Hooks, error) { return t.hooks() }

// Language returns a language bundle; the error is ErrUnknown if the tree does
// not have it.
func (t *Tree) Language(name string) (*Part, error) { return t.part(Language, name, t.languages) }

// Team returns a team overlay, as Language does.
func (t *Tree) Team(name string) (*Part, error) { return t.part(Team, name, t.teams) }

// Digest identifies everything that the tree could install: "sha256:…" over the
// names, modes and digests of the files of all its parts. Other files in the
// folder do not count.
func (t *Tree) Digest() (string, error) { return t.digest() }

func (t *Tree) part(kind Kind, name string, names []string) (*Part, error) {
	if !slices.Contains(names, name) {
		return nil, fmt.Errorf("%s %q in %s: %w", kind, name, t.Dir, ErrUnknown)
	}
	key := string(kind) + "/" + name
	t.mu.Lock()
	read := t.parts[key]
	if read == nil {
		read = sync.OnceValues(func() (*Part, error) { return t.readPart(kind, name) })
		t.parts[key] = read
	}
	t.mu.Unlock()
	return read()
}

// folders lists the real folders in dir, sorted.
func (t *Tree) folders(dir string) ([]string, error) {
	if err := t.inside(dir); err != nil {
		return nil, err
	}
	entries, err := t.readDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, e.Name())
		}
	}
	return out, err
}

// isFile reports whether src is a file, or a link to one.
func (t *Tree) isFile(src string) bool {
	info, err := t.stat(src)
	return err == nil && info.Mode().IsRegular()
}

// Files returns every file that the tree could install, sorted by Src.
func (t *Tree) Files() ([]File, error) {
	var files []File
	add := func(p *Part, err error) error {
		if err == nil {
			files = append(files, p.Files()...)
		}
		return err
	}
	errs := []error{add(t.Core()), add(t.Shared())}
	for _, name := range t.languages {
		errs = append(errs, add(t.Language(name)))
	}
	for _, name := range t.teams {
		errs = append(errs, add(t.Team(name)))
	}
	skills, err := t.allSkills()
	errs = append(errs, err)
	for _, s := range skills {
		files = append(files, s.Files...)
	}
	hooks, err := t.Hooks()
	if errs = append(errs, err); err == nil {
		files = append(files, hooks.Programs...)
		if hooks.Snippet != nil {
			files = append(files, hooks.Snippet.File)
		}
	}
	manifests, err := t.manifestFiles()
	errs, files = append(errs, err), append(files, manifests...)
	files = slices.DeleteFunc(files, func(f File) bool { return f.Src == "" }) // aisync's own, such as a plugin's runner
	sort.Slice(files, func(i, j int) bool { return files[i].Src < files[j].Src })
	return files, errors.Join(errs...)
}

func (t *Tree) hash() (string, error) {
	files, err := t.Files()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%q %o %s\n", f.Src, f.Mode, f.Digest)
	}
	io.WriteString(h, "aisync tree 1\n")
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}
