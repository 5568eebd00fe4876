// Package projects finds the projects below folders, and the repositories there
// that hold files of agent programs and have no spec. It reads the disk and writes
// nothing. Call Find.
package projects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/app/gather"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema"
)

// depth is how many folders below a root a project may lie.
const depth = 5

// Project is a folder with a spec.
type Project struct {
	Dir      string // physical, with links resolved
	Worktree string // the main work tree of its repository, if this is a linked one
	below    string // its path below the root; "" for the root itself
}

// Unmanaged is a repository with files of agent programs and no spec.
type Unmanaged struct {
	Dir string
	Has []string // whose files, by the names that import --from takes; or aisync.lock
}

// Found is what Find found, in lexical order of the folders.
type Found struct {
	Roots     []string // that were searched
	Projects  []Project
	Unmanaged []Unmanaged
	Unread    []string // folders that could not be read, each with the reason
}

// Find returns what lies below roots, or where there are none below those that the
// host's spec names, down to a depth of 5 folders. It follows no link below a root,
// and skips hidden folders, node_modules and vendor. A project that two roots reach
// counts once. A folder of roots that cannot be read is an error, and so is a host
// without roots.
func Find(ctx context.Context, m *stack.Machine, roots []string) (*Found, error) {
	named := len(roots) > 0
	if !named {
		var err error
		if roots, err = ofHost(ctx, m); err != nil {
			return nil, err
		}
	}
	s := search{ctx: ctx, seen: map[string]bool{}}
	for _, root := range roots {
		dir, err := place.ExistingFolder(m.Cwd, root)
		switch {
		case !named && errors.Is(err, fs.ErrNotExist):
			continue // a spec may name folders that other machines have
		case err != nil:
			return nil, fmt.Errorf("look for projects: %w", err)
		}
		s.found.Roots = append(s.found.Roots, dir)
		switch err := s.walk(dir, "", 0, false); {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && named:
			return nil, fmt.Errorf("look for projects: %w", err)
		case err != nil:
			s.found.Unread = append(s.found.Unread, err.Error())
		}
	}
	sort.Slice(s.found.Projects, func(i, j int) bool { return s.found.Projects[i].Dir < s.found.Projects[j].Dir })
	sort.Slice(s.found.Unmanaged, func(i, j int) bool { return s.found.Unmanaged[i].Dir < s.found.Unmanaged[j].Dir })
	return &s.found, nil
}

// ofHost returns the roots that the host's spec names.
func ofHost(ctx context.Context, m *stack.Machine) ([]string, error) {
	at := *m
	at.Places.Project = "" // the project of the working folder counts like the others
	s, err := at.LoadSpec(ctx, schema.Options{})
	if err != nil {
		return nil, err
	}
	if s.Host == nil || len(s.Host.Roots) == 0 {
		return nil, advice.New(errors.New("no roots are known in which projects lie"), `name them in the spec of the host: roots: ["~/code"], or here: --below DIR`)
	}
	var dirs []string
	for _, root := range s.Host.Roots {
		dirs = append(dirs, at.Places.Physical(reconcile.Address("dir:"+root).Path(at.Places.Home)))
	}
	return dirs, nil
}

// search is one Find.
type search struct {
	ctx   context.Context
	seen  map[string]bool // folders that are in found
	found Found
}

// walk searches dir, which lies level folders below a root at the path below.
// inside means that a folder above is a project.
func (s *search) walk(dir, below string, level int, inside bool) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil && level == 0:
		return err
	case errors.Is(err, fs.ErrNotExist): // deleted meanwhile
		return nil
	case err != nil:
		s.found.Unread = append(s.found.Unread, err.Error())
		return nil
	}
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
	}
	isProject := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == place.SpecFile && e.Type().IsRegular() }) && !place.Nested(dir)
	switch {
	case s.seen[dir]:
	case isProject:
		s.seen[dir] = true
		s.found.Projects = append(s.found.Projects, Project{dir, mainTree(dir), below})
	case !inside && has(".git") && !has(place.SpecFile):
		s.seen[dir] = true
		s.unmanaged(dir, has(place.LockFile))
	}
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || name[0] == '.' || name == "node_modules" || name == "vendor" || level+1 > depth {
			continue
		}
		if err := s.walk(filepath.Join(dir, name), filepath.Join(below, name), level+1, inside || isProject); err != nil {
			return err
		}
	}
	return nil
}

// unmanaged adds dir to what was found if agent programs have files in it.
func (s *search) unmanaged(dir string, lock bool) {
	origins, err := gather.Present(dir)
	if err != nil {
		s.found.Unread = append(s.found.Unread, err.Error())
		return
	}
	u := Unmanaged{Dir: dir}
	for _, o := range origins {
		u.Has = append(u.Has, string(o))
	}
	if lock {
		u.Has = append(u.Has, place.LockFile)
	}
	if len(u.Has) > 0 {
		s.found.Unmanaged = append(s.found.Unmanaged, u)
	}
}

// mainTree returns the main work tree of the repository of dir, if dir is the top of
// a linked one; "" otherwise.
// https://git-scm.com/docs/gitrepository-layout, "gitfile" and "worktrees"
func mainTree(dir string) string {
	file := filepath.Join(dir, ".git")
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<16 {
		return ""
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	to, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	main, _, linked := strings.Cut(filepath.ToSlash(to), "/.git/worktrees/")
	if !ok || !linked {
		return ""
	}
	return filepath.FromSlash(main)
}
