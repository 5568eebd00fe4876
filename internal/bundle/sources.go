// Package bundle reads bundle sources: the rules, skills, hooks, instruction
// files and git hooks of a core, a language or a team, in the old and the new
// layout. It does not decide where they go (package adapter does) and writes
// nothing. Start reading at Sources.Open, then Part.
package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"aisync.dev/aisync/schema/spec"
)

// Sources opens bundle sources and caches them, so that a source named by two
// specs is read once. It is safe for concurrent use. The zero value opens
// folders only.
type Sources struct {
	Home string // the home of ~/ at the start of a folder
	// Resolve fetches a git or archive source to a folder on this machine and
	// returns its pin. nil: such sources are refused.
	Resolve func(ctx context.Context, src spec.Source) (dir, pinned string, err error)
	// Instead are folders, by absolute path, and those that are read in their
	// place: a source as it would be.
	Instead map[string]string

	mu   sync.Mutex
	open map[string]*opening
}

type opening struct {
	once sync.Once
	tree *Tree
	err  error
}

// MissingError means that the folder of a source is not on this machine, as in
// a CI job that checks out only the project.
type MissingError struct{ Dir string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("no such folder: %s; a relative path starts at the spec that names it", e.Dir)
}

// OfHost returns the source of a host's bundle.
func OfHost(b spec.HostBundle, hostDir string) spec.Source {
	return spec.Source{Name: b.Name, URL: b.Source, From: b.From, Dir: cmp.Or(b.Dir, hostDir), Scope: b.Scope, Pick: b.Pick, Pos: b.Pos}
}

// Remote reports whether url must be fetched: a git or archive source.
// Everything else is a folder, read in place.
func Remote(url string) bool { return spec.Remote(url) }

// Fetched is the address where src is fetched: its own, or the absolute path of an
// archive on this machine.
func Fetched(src spec.Source, home string) string {
	if spec.LocalArchive(src.URL) {
		return spec.LocalPath(src.URL, src.Dir, home)
	}
	return src.URL
}

// Open returns the tree of src. It lists folders and reads no file; parts are
// read on demand. A folder is relative to src.Dir.
func (s *Sources) Open(ctx context.Context, src spec.Source) (*Tree, error) {
	key := strings.Join([]string{src.Name, src.URL, src.Dir, src.Scope, src.Pick.String()}, "\x00")
	s.mu.Lock()
	if s.open == nil {
		s.open = map[string]*opening{}
	}
	o := s.open[key]
	if o == nil {
		o = &opening{}
		s.open[key] = o
	}
	s.mu.Unlock()
	o.once.Do(func() { o.tree, o.err = s.read(ctx, src) })
	return o.tree, o.err
}

func (s *Sources) read(ctx context.Context, src spec.Source) (*Tree, error) {
	dir, pinned, err := s.folder(ctx, src)
	if err != nil {
		return nil, at(src.Pos, fmt.Errorf("bundle source %q: %w", src.Name, err))
	}
	t, err := openTree(dir)
	if err != nil {
		return nil, at(src.Pos, fmt.Errorf("bundle source %q (%s): %w", src.Name, src.URL, err))
	}
	t.Name, t.URL, t.Pinned, t.Pos, t.scope, t.pick = src.Name, src.URL, pinned, src.Pos, src.Scope, src.Pick
	_, own := os.Lstat(filepath.Join(dir, ".git")) // none where a mirror served it
	t.versions.none = Remote(src.URL) && (!strings.HasPrefix(src.URL, "git::") || own != nil)
	return t, nil
}

// folder resolves src to an absolute folder that exists.
func (s *Sources) folder(ctx context.Context, src spec.Source) (dir, pinned string, err error) {
	switch {
	case src.URL == "":
		return "", "", errors.New("is empty; name a folder, git::URL?ref=…, or the URL of an archive")
	case Remote(src.URL):
		if s.Resolve == nil {
			return "", "", fmt.Errorf("%s must be fetched, which is not possible here; use a folder", src.URL)
		}
		return s.Resolve(ctx, src)
	case s.Home == "" && (src.URL == "~" || strings.HasPrefix(src.URL, "~/")):
		return "", "", fmt.Errorf("%s starts at the home folder, which is unknown; use an absolute path", src.URL)
	}
	dir = spec.LocalPath(src.URL, src.Dir, s.Home)
	if to := s.Instead[dir]; to != "" {
		dir = to
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "", &MissingError{dir}
	case err != nil:
		return "", "", err
	case !info.IsDir():
		return "", "", fmt.Errorf("%s is not a folder", dir)
	}
	return dir, "", nil
}

// Refusal is an error about what a place of a spec names.
type Refusal struct {
	Pos spec.Position
	Err error
}

func (r *Refusal) Error() string { return r.Pos.String() + ": " + r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

// At is err about the place pos of a spec, if there is one.
func At(pos spec.Position, err error) error {
	if pos.String() == "" {
		return err
	}
	return &Refusal{pos, err}
}

func at(pos spec.Position, err error) error { return At(pos, err) }
