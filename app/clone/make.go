package clone

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Source is a repository to clone.
type Source struct {
	URL string // as git reads it
	Ref string // a branch or a tag; "": the remote's choice
}

// ErrEmpty means that a repository has no commit.
var ErrEmpty = errors.New("the repository has no commit yet")

// OtherError means that a folder holds something else than a clone of the source.
type OtherError struct {
	Dir    string
	Origin string   // of the clone that is there; "": it is none
	Files  []string // of the spec that is there
}

// Error names the clone or the files.
func (e *OtherError) Error() string {
	if e.Origin != "" {
		return fmt.Sprintf("%s is a clone of %s", e.Dir, Shown(e.Origin))
	}
	return fmt.Sprintf("%s has another spec, %s, and is no clone", e.Dir, strings.Join(e.Files, ", "))
}

// Made is what Make found or made.
type Made struct {
	Clone *Clone
	New   bool     // false: dir was a clone of the source
	Kept  []string // files that were there and are other than in the repository
}

// Make makes dir a clone of s, or returns the clone of s that is there. check sees the
// new clone's folder before it becomes dir; on an error nothing is left of it. Specs
// that are in dir stay; if the repository lacks one of them, or has another text for
// it, the error is an OtherError. The folder around dir must exist.
func Make(ctx context.Context, s Source, dir string, o Options, check func(dir string) error) (*Made, error) {
	if c, err := Open(ctx, dir, o); err == nil {
		origin, err := c.line(ctx, "config", "--get", "remote.origin.url")
		if err != nil {
			origin = "no remote"
		}
		if !same(origin, s.URL) {
			return nil, &OtherError{Dir: dir, Origin: origin}
		}
		return &Made{Clone: c}, nil
	} else if !errors.Is(err, ErrNone) {
		return nil, err
	}
	sweep(dir)
	temp, err := os.MkdirTemp(filepath.Dir(dir), scratchName)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	fresh := filepath.Join(temp, filepath.Base(dir))
	args := []string{"clone", "--quiet", "--no-recurse-submodules"}
	if s.Ref != "" {
		args = append(args, "--branch", s.Ref)
	}
	if err := dial(ctx, o, temp, nil, append(args, "--", s.URL, fresh)...); err != nil {
		return nil, err
	}
	c := &Clone{Dir: fresh, Options: o}
	if _, err := c.line(ctx, "rev-parse", "--verify", "--quiet", "HEAD"); err != nil {
		if err := c.first(ctx); err != nil {
			return nil, err
		}
	}
	if err := check(fresh); err != nil {
		return nil, err
	}
	kept, err := into(fresh, dir)
	if err != nil {
		return nil, err
	}
	if err := o.give(dir); err != nil {
		return nil, err
	}
	c, err = Open(ctx, dir, o)
	return &Made{c, true, kept}, err
}

// first checks out the branch of a remote whose HEAD names none that there is, as that
// of a bare repository may whose first push was of another branch.
func (c *Clone) first(ctx context.Context) error {
	out, err := c.line(ctx, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/remotes/origin")
	if err != nil {
		return err
	}
	switch branches := strings.Fields(out); len(branches) {
	case 0:
		return ErrEmpty
	case 1:
		_, err = c.run(ctx, c.Dir, "checkout", "--quiet", "-B", branches[0], "--track", "origin/"+branches[0])
		return err
	default:
		return &BranchError{branches}
	}
}

// BranchError means that a repository does not say which of its branches to take.
type BranchError struct{ Branches []string }

// Error names the branches.
func (e *BranchError) Error() string {
	return "the repository does not say which of its branches to take: " + strings.Join(e.Branches, ", ")
}

// into makes dir the clone in fresh: by one rename where there is no dir, and else by
// taking what dir lacks, and the repository last.
func into(fresh, dir string) (kept []string, err error) {
	err = os.Rename(fresh, dir)
	if err == nil {
		return nil, nil
	}
	entries, lerr := os.ReadDir(dir)
	if lerr != nil {
		return nil, err
	}
	var foreign []string
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".cue") {
			continue
		}
		ours, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if theirs, err := os.ReadFile(filepath.Join(fresh, name)); err != nil || !bytes.Equal(ours, theirs) {
			foreign = append(foreign, name)
		}
	}
	if len(foreign) > 0 {
		return nil, &OtherError{Dir: dir, Files: foreign}
	}
	err = filepath.WalkDir(fresh, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(fresh, p)
		to := filepath.Join(dir, rel)
		switch {
		case rel == ".":
			return nil
		case rel == ".git":
			return fs.SkipDir
		}
		if info, err := os.Lstat(to); err == nil {
			switch {
			case d.IsDir() && info.IsDir():
			case d.IsDir(): // such as a link of the person's
				kept = append(kept, rel)
				return fs.SkipDir
			case !sameFile(p, to):
				kept = append(kept, rel)
			}
			return nil
		}
		if err := os.Rename(p, to); err != nil {
			return err
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return kept, os.Rename(filepath.Join(fresh, ".git"), filepath.Join(dir, ".git"))
}

func sameFile(a, b string) bool {
	x, err1 := os.ReadFile(a)
	y, err2 := os.ReadFile(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// same reports whether two addresses name one repository, as far as their spelling
// tells.
func same(a, b string) bool {
	plain := func(url string) string {
		url = strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git")
		url = strings.TrimPrefix(url, "file://")
		scheme, rest, ok := strings.Cut(url, "://")
		if !ok { // git@host:path
			if host, path, ok := strings.Cut(url, ":"); ok && !strings.HasPrefix(url, "/") {
				scheme, rest = "ssh", host+"/"+strings.TrimPrefix(path, "/")
			} else {
				return url
			}
		}
		if _, host, ok := strings.Cut(rest, "@"); ok {
			rest = host
		}
		return scheme + "://" + rest
	}
	return plain(a) == plain(b)
}

// HideSchema has git ignore, in this clone alone, the schema that init writes beside
// the specs. It reports false if the repository carries one.
func (c *Clone) HideSchema(ctx context.Context) (bool, error) {
	out, err := c.run(ctx, c.Dir, "ls-files", "--", "cue.mod")
	if err != nil || strings.TrimSpace(out) != "" {
		return false, err
	}
	if _, err := c.line(ctx, "check-ignore", "-q", "cue.mod/module.cue"); err == nil {
		return true, nil
	}
	file, err := c.line(ctx, "rev-parse", "--git-path", "info/exclude")
	if err != nil {
		return false, err
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(c.Dir, file)
	}
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return false, err
	}
	if err := os.WriteFile(file, append(text, "/cue.mod/\n"...), 0o644); err != nil {
		return false, err
	}
	return true, c.give(filepath.Dir(file))
}
