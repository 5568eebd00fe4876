package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/atomicfile"
	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// checkOwnLayer refuses a person's own layer of a project that git carries, or
// that would change a file that git carries: then it would be everyone's.
func (v *View) checkOwnLayer(p *spec.Project, d adapter.Decls) error {
	if p.Local.File == "" {
		return nil
	}
	untrack := func(name string) string { return "git rm --cached " + shellquote.Terminal(name) + ", and commit that" }
	if _, carried := v.Repository().Head(schema.LocalFile); carried {
		return advice.Command(fmt.Errorf("%s: git carries this file, so it is not one person's", v.Places.Short(v.Cwd, p.Local.File)), untrack(schema.LocalFile))
	}
	var errs []error
	for _, a := range ownTargets(p, d) {
		if _, carried := v.Repository().Head(fsys.LogicalPath(a.Name())); carried {
			errs = append(errs, advice.Command(fmt.Errorf("%s: git carries %s, so what you set for yourself would be everyone's", ownOrigin(d, a), a.Name()), untrack(a.Name())))
		}
	}
	return errors.Join(errs...)
}

// ownTargets returns the files that the person's own layer asks for.
func ownTargets(p *spec.Project, d adapter.Decls) []reconcile.Address {
	var out []reconcile.Address
	for _, decl := range d.Declarations {
		own := slices.ContainsFunc(p.Local.Settings, func(s spec.Settings) bool {
			return slices.ContainsFunc(decl.Leaves, func(l reconcile.Leaf) bool {
				return slices.ContainsFunc(l.Origin, func(at reconcile.Position) bool { return at.File == s.Pos.File })
			})
		})
		if own && !slices.Contains(out, decl.Target) {
			out = append(out, decl.Target)
		}
	}
	return out
}

// ownOrigin returns the first place that asks for a.
func ownOrigin(d adapter.Decls, a reconcile.Address) reconcile.Position {
	for _, decl := range d.Declarations {
		if decl.Target == a && len(decl.Leaves) > 0 && len(decl.Leaves[0].Origin) > 0 {
			return decl.Leaves[0].Origin[0]
		}
	}
	return reconcile.Position{}
}

// NotIgnored returns the files of the person's own layer that git does not ignore
// yet. It needs v.Declare.
func (v *View) NotIgnored(ctx context.Context) []fsys.LogicalPath {
	p := v.Spec.Project
	if p == nil || p.Local.File == "" {
		return nil
	}
	files := []fsys.LogicalPath{schema.LocalFile}
	for _, a := range ownTargets(p, v.Declared) {
		files = append(files, fsys.LogicalPath(a.Name()))
	}
	ignored := v.Ignored(ctx, files)
	if ignored == nil {
		return nil // no repository, or no git
	}
	return slices.DeleteFunc(files, func(f fsys.LogicalPath) bool { return ignored[f] })
}

// ownLayerNote says what an apply adds to git's list of ignored files.
func (v *View) ownLayerNote(ctx context.Context) []reconcile.Note {
	files := v.NotIgnored(ctx)
	if len(files) == 0 {
		return nil
	}
	at := reconcile.Position{File: v.Places.Short(v.Cwd, v.Spec.Project.Local.File), Line: 1, Col: 1}
	return []reconcile.Note{{Text: "apply has git ignore " + joinPaths(files) + " in this clone: lines in .git/info/exclude, which git does not carry", Origin: []reconcile.Position{at}}}
}

func joinPaths(files []fsys.LogicalPath) string {
	var names []string
	for _, f := range files {
		names = append(names, string(f))
	}
	return strings.Join(names, " and ")
}

// IgnoreOwnLayer adds the files of the person's own layer to .git/info/exclude of
// the project's repository. git carries no such file, so no tracked byte changes,
// as one in .gitignore would.
func (s *Session) IgnoreOwnLayer(ctx context.Context) error {
	files := s.NotIgnored(ctx)
	if len(files) == 0 {
		return nil
	}
	out, err := s.Runner().Run(ctx, s.Places.Project, "git", "rev-parse", "--git-path", "info/exclude")
	if err != nil {
		return fmt.Errorf("ignore %s: %w", joinPaths(files), err)
	}
	path := strings.TrimSuffix(string(out), "\n")
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Places.Project, path)
	}
	text, err := regular.Read(path, regular.MaxSpec)
	mode := fs.FileMode(0o644)
	switch info, statErr := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	case err == nil && statErr == nil:
		mode = info.Mode().Perm()
	}
	if err != nil {
		return fmt.Errorf("ignore %s: %w", joinPaths(files), err)
	}
	if n := len(text); n > 0 && text[n-1] != '\n' {
		text = append(text, '\n')
	}
	for _, f := range files {
		text = append(text, "/"+ignorePattern(s.Repository().Prefix()+string(f))+"\n"...)
	}
	if err := atomicfile.Write(path, text, atomicfile.Options{Mode: mode}); err != nil {
		return fmt.Errorf("ignore %s: %w", joinPaths(files), err)
	}
	if s.Places.Chown {
		return os.Lchown(path, s.Places.UID, s.Places.GID)
	}
	return nil
}

// ignorePattern is a path as a pattern that matches it alone.
// https://git-scm.com/docs/gitignore, "Pattern format"
func ignorePattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `).Replace(path)
}
