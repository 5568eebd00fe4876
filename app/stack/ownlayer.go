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
	"sync"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/atomicfile"
	"aisync.dev/aisync/internal/gitrepo"
	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// carried returns whether git carries a file of the project: in its index, or in
// its HEAD. It asks git when it is first called.
func (v *View) carried(ctx context.Context) func(name string) bool {
	index := sync.OnceValue(func() map[string]bool {
		out, _ := v.Runner().Run(ctx, v.Places.Project, "git", "ls-files", "-z") // without git there is none
		files := map[string]bool{}
		for _, name := range strings.Split(string(out), "\x00") {
			files[name] = true
		}
		return files
	})
	return func(name string) bool {
		_, committed := v.Repository().Head(fsys.LogicalPath(name))
		return committed || index()[name]
	}
}

// checkOwnLayer refuses a person's own layer of a project that git carries, or
// that would change a file that git carries: then it would be everyone's.
func (v *View) checkOwnLayer(p *spec.Project, d adapter.Decls, carried func(string) bool) error {
	if p.Local == nil {
		return nil
	}
	untrack := func(name string) string { return "git rm --cached " + shellquote.Terminal(name) + ", and commit that" }
	if carried(schema.LocalFile) {
		return advice.Command(fmt.Errorf("%s: git carries this file, so it is not one person's", v.Places.Short(v.Cwd, p.Local.File)), untrack(schema.LocalFile))
	}
	var errs []error
	for _, a := range d.Own {
		if a.InProject() && carried(a.Name()) {
			i := slices.IndexFunc(d.Declarations, func(decl reconcile.Declaration) bool { return decl.Target == a })
			errs = append(errs, advice.Command(fmt.Errorf("%s: git carries %s, so what you set for yourself would be everyone's", d.Declarations[i].Leaves[0].Origin[0], a.Name()), untrack(a.Name())))
		}
	}
	return errors.Join(errs...)
}

// isOwn reports whether a file is there for the person's own layer alone.
func (v *View) isOwn(d adapter.Decls, name string) bool {
	a := reconcile.Address("file:" + name)
	return slices.Contains(d.Own, a) || slices.ContainsFunc(v.Store.Records(reconcile.ProjectOwner(v.Places.Project)), func(r reconcile.Record) bool {
		return r.Address == a && r.Local && !slices.ContainsFunc(d.Declarations, func(decl reconcile.Declaration) bool { return decl.Target == a })
	})
}

// made reports whether an apply wrote a file of the project.
func (v *View) made(name string) bool {
	a := reconcile.Address("file:" + name)
	return slices.ContainsFunc(v.Store.Records(reconcile.ProjectOwner(v.Places.Project)), func(r reconcile.Record) bool { return r.Address == a })
}

// excludes returns the patterns that git ignores in this clone, and the files of
// the person's own layer; ok is false where the project lies in no work tree.
func (v *View) excludes() (e gitrepo.Excludes, files []string, ok bool) {
	if v.Places.Project == "" || !v.Has(reconcile.ProjectOwner(v.Places.Project)) {
		return e, nil, false
	}
	if exists(filepath.Join(v.Places.Project, schema.LocalFile)) {
		files = append(files, schema.LocalFile)
	}
	for _, a := range v.Declared.Own {
		if a.InProject() {
			files = append(files, a.Name())
		}
	}
	e, ok = gitrepo.ReadExcludes(v.Places.Project)
	return e, files, ok
}

// ownLayerNote says what an apply adds to git's list of ignored files. It needs
// v.Declare.
func (v *View) ownLayerNote() []reconcile.Note {
	e, files, ok := v.excludes()
	more := e.Missing(files)
	if !ok || len(more) == 0 || v.Spec.Project == nil || v.Spec.Project.Local == nil {
		return nil
	}
	names := strings.Join(more, " and ")
	if len(more) > 4 {
		names = fmt.Sprintf("%d files of your own layer", len(more))
	}
	at := reconcile.Position{File: v.Places.Short(v.Cwd, v.Spec.Project.Local.File), Line: 1, Col: 1}
	return []reconcile.Note{{Text: "apply has git ignore " + names + " in this clone: lines in .git/info/exclude, which git does not carry", Origin: []reconcile.Position{at}}}
}

// IgnoreOwnLayer has git ignore the files of the person's own layer, by lines in
// .git/info/exclude. git carries no such file, so no tracked byte changes, as one
// in .gitignore would. Lines of files that the layer no longer asks for stay until
// an apply is done, and the file gone.
func (s *Session) IgnoreOwnLayer(done bool) error {
	e, files, ok := s.excludes()
	next, changed := e.With(files, done)
	if !ok || !changed {
		return nil
	}
	_, err := regular.Read(e.File, regular.MaxSpec)
	mode := fs.FileMode(0o644)
	if info, statErr := os.Stat(e.File); statErr == nil {
		mode = info.Mode().Perm()
	} else if errors.Is(err, fs.ErrNotExist) {
		err = os.MkdirAll(filepath.Dir(e.File), 0o755)
	}
	if err == nil {
		err = atomicfile.Write(e.File, next, atomicfile.Options{Mode: mode})
	}
	if err == nil && s.Places.Chown {
		err = os.Lchown(e.File, s.Places.UID, s.Places.GID)
	}
	if err != nil {
		return fmt.Errorf("ignore the files of %s: %w", schema.LocalFile, err)
	}
	return nil
}
