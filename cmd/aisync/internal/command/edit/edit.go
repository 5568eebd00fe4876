// Package edit provides the commands that edit a spec or check a bundle: add, remove
// and lint. Other commands edit a spec through Editing.
package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/view"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/bundle/yield"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/internal/secret"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/edit"
	"aisync.dev/aisync/schema/spec"
)

// Editing is one change of the spec of a host or a project. Open reads the spec,
// Put and Files change the texts, Check validates the result, Write writes it.
type Editing struct {
	App    *cli.App
	Flags  EditFlags
	Places place.Places
	Scope  stack.Scope
	spec   *spec.Spec
	index  catalog.Index
	Files  *edit.Files
	paths  map[string]string // by the displayed name of a file
	old    map[string][]byte // by path
	Notes  []string          // what needed no change, and advice
	gone   []listed          // what was removed
	move   *adapter.Move     // of the project's notes; nil: none
	server effects.Server    // the MCP server that was typed; no name: none

	checked map[string][]byte // the changed texts that Check last found valid
	after   *spec.Spec        // the spec with these

	written func(fsys.FS) // what is done after the spec was written; nil: nothing
}

// EditFlags holds the flags of every command that edits a spec.
type EditFlags struct {
	Scope  string
	DryRun bool
}

func (f *EditFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Scope, "scope", "", "edit `WHICH` spec: host, project (default: the project's inside a project that can hold this, else the host's)")
	OneScope(cmd)
	cmd.Flags().BoolVarP(&f.DryRun, "dry-run", "n", false, "show the changes without writing them")
}

// OneScope restricts the completions of --scope to host and project.
func OneScope(cmd *cobra.Command) {
	_ = cmd.Flags().SetAnnotation("scope", cli.Choices, []string{string(stack.ScopeHost), string(stack.ScopeProject)}) // cannot fail: the flag exists
}

// changeSpec reads the spec that holds things of kind k, changes it with do, checks
// the result, writes it and shows the difference.
func changeSpec(ctx context.Context, a *cli.App, k Kind, f EditFlags, do func(*Editing) error) error {
	e := &Editing{App: a, Flags: f}
	if err := e.Open(ctx, k); err != nil {
		return err
	}
	if err := do(e); err != nil {
		return err
	}
	agree := func() error { return nil }
	if e.server.Name != "" && e.Scope == stack.ScopeProject && !f.DryRun {
		agree = approveTyped(ctx, e.App, e.server)
	}
	if err := e.finish(ctx, k); err != nil {
		return err
	}
	return agree()
}

// Open finds and reads the spec, which must be valid.
func (e *Editing) Open(ctx context.Context, k Kind) (err error) {
	if e.Places.Home == "" {
		if e.Places, err = e.App.Places(); err != nil {
			return err
		}
	}
	if e.Scope, err = k.scope(e.Flags.Scope, e.Places.Project != ""); err != nil {
		return err
	}
	if _, err := e.Scope.Owners(e.Places); err != nil {
		return cli.InputHint(err)
	}
	if e.spec, err = e.load(ctx, nil); err != nil {
		return advice.Command(fmt.Errorf("the spec is invalid, so nothing was changed: %w", err), "aisync validate")
	}
	e.index = catalog.With(e.spec.Catalog)
	root := []string{"project"}
	if e.Scope == stack.ScopeHost {
		h := e.spec.Host
		if h == nil || h.Builtin {
			return advice.Command(fmt.Errorf("no spec describes this machine in %s", e.Places.Short("", e.Places.Config)), "aisync init")
		}
		root = []string{"hosts", h.Name}
	}
	return e.read(root)
}

// load reads the specs with texts in place of their files. A project needs no host.
func (e *Editing) load(ctx context.Context, texts map[string][]byte) (*spec.Spec, error) {
	o := schema.Options{Texts: texts}
	if e.Scope == stack.ScopeHost {
		o.Scope = schema.HostOnly
	} else {
		o.NoHost = func(schema.Problem) {}
	}
	return e.App.Machine(e.Places).LoadSpec(ctx, o)
}

// read reads the files of the spec in which root is written.
func (e *Editing) read(root []string) error {
	cwd, err := e.App.Cwd()
	if err != nil {
		return err
	}
	e.paths, e.old = map[string]string{}, map[string][]byte{}
	var files []edit.File
	for _, path := range e.spec.Files {
		if inProject := e.spec.Project != nil && path == e.spec.Project.File; inProject != (e.Scope == stack.ScopeProject) {
			continue
		}
		if e.Scope == stack.ScopeHost && filepath.Dir(path) != filepath.Clean(e.Places.Config) {
			continue // of a base
		}
		text, err := regular.Read(path, regular.MaxSpec)
		if err != nil {
			return fmt.Errorf("read spec: %w", err)
		}
		name := e.Places.Short(cwd, path)
		e.paths[name], e.old[path] = path, text
		files = append(files, edit.File{Name: name, Text: text})
	}
	e.Files, err = edit.Parse(files, root...)
	return err
}

// Put adds the field path with value. If the field exists it adds a note, or returns
// an error if given is true and its value differs.
func (e *Editing) Put(what string, given bool, value string, path ...string) error {
	at := e.Files.Find(path...)
	switch {
	case len(at) == 0:
		return e.Files.Add(value, path...)
	case !given || e.Files.Same(value, path...):
		e.there(what, at[0])
		return nil
	}
	hint := "change it there, or remove it first: aisync remove " + what
	if strings.HasPrefix(what, "source ") { // which no command removes
		hint = "change it there, and the bundles that name it"
	}
	return advice.New(fmt.Errorf("%s exists with other values: %s", what, at[0]), hint)
}

func (e *Editing) there(what string, at spec.Position) {
	e.Notes = append(e.Notes, fmt.Sprintf("%s exists already: %s", what, at))
}

// editDoc is add --json and remove --json; see docs/json.md.
type editDoc struct {
	FormatVersion string      `json:"format_version"`
	Scope         stack.Scope `json:"scope"`
	DryRun        bool        `json:"dry_run"`
	Files         []EditFile  `json:"files"` // that changed
	Notes         []string    `json:"notes"`
}

// EditFile is a changed file as a unified diff.
type EditFile struct {
	File string `json:"file"`
	Diff string `json:"diff"`
}

// Diffs returns the files that differ from what was read.
func (e *Editing) Diffs() []EditFile {
	out := []EditFile{}
	for _, f := range e.Files.Changed() {
		out = append(out, EditFile{f.Name, secret.MaskText(merge.Unified(f.Name, f.Name, e.old[e.paths[f.Name]], f.Text))})
	}
	return out
}

// Check returns the changed texts by path, or an error if they make the spec invalid.
// The second time it says of the same texts what it said before.
func (e *Editing) Check(ctx context.Context, k Kind) (map[string][]byte, error) {
	texts := map[string][]byte{}
	for _, f := range e.Files.Changed() {
		if err := newSecret(f.Name, string(e.old[e.paths[f.Name]]), string(f.Text)); err != nil {
			return nil, err
		}
		texts[e.paths[f.Name]] = f.Text
	}
	if e.after != nil && maps.EqualFunc(texts, e.checked, bytes.Equal) {
		return texts, nil
	}
	after, err := e.load(ctx, texts)
	if err != nil {
		var all []error
		for _, part := range advice.Split(err) {
			all = append(all, fmt.Errorf("the change would make the spec invalid, so nothing was written: %w", part))
		}
		return nil, errors.Join(all...)
	}
	if len(e.gone) > 0 {
		if err := e.yields(ctx, after); err != nil && e.yields(ctx, e.spec) == nil {
			return nil, fmt.Errorf("nothing was written: %w", err)
		}
	}
	for _, l := range e.gone {
		if slices.ContainsFunc(k.listed(after, e.Scope), func(o listed) bool { return o.name == l.name }) {
			return nil, byHand(l)
		}
	}
	e.checked, e.after = texts, after
	return texts, nil
}

// yields returns an error if a bundle of s would give its runtimes nothing, as far as
// the sources on this machine tell. No plan can be made of such a spec.
func (e *Editing) yields(ctx context.Context, s *spec.Spec) error {
	return yield.Check(ctx, yield.Spec{Host: s.Host, Project: s.Project, Runtimes: catalog.With(s.Catalog).Runtimes(), Sources: e.App.Machine(e.Places).OwnSources()})
}

// finish checks the changed spec, writes it unless --dry-run and shows the difference.
func (e *Editing) finish(ctx context.Context, k Kind) error {
	texts, err := e.Check(ctx, k)
	if err != nil {
		return err
	}
	if !e.Flags.DryRun {
		if err := e.Write(texts); err != nil {
			return err
		}
	}
	if e.move != nil {
		if err := e.moveNotes(e.move); err != nil {
			return err
		}
	}
	doc := editDoc{cli.ViewVersion, e.Scope, e.Flags.DryRun, e.Diffs(), cli.OrEmpty(e.Notes)}
	if e.App.Flags.JSON {
		return e.App.WriteJSON(doc)
	}
	for _, f := range doc.Files {
		view.PrintDiff(e.App, f.Diff)
	}
	for _, line := range doc.Notes {
		e.App.Printf("%s\n", termtext.Safe(line))
	}
	switch {
	case len(doc.Files) == 0:
	case e.Flags.DryRun:
		e.App.Hint("nothing was written (--dry-run)")
	default:
		e.App.Hint("next: aisync plan")
	}
	return nil
}

// finishPinned is finish, and keeps what r pinned for the spec.
func (e *Editing) finishPinned(ctx context.Context, k Kind, s *stack.Session, r *pin.Resolver) error {
	if err := e.finish(ctx, k); err != nil || e.Flags.DryRun {
		return err
	}
	res, err := r.Result()
	if err != nil {
		return err
	}
	for lock, pins := range res.Pins {
		lock.Set(pins)
	}
	return s.SaveLocks(ctx)
}

// Write replaces the files that were read by texts. A spec that is a link, as dotfile
// managers make them, is written at its target.
func (e *Editing) Write(texts map[string][]byte) error {
	p := e.Places
	disk, err := fsys.New(fsys.Options{Tag: "edit", Home: fsys.LogicalPath(p.Physical(p.Home)), UID: p.UID, GID: p.GID, Chown: p.Chown})
	if err != nil {
		return err
	}
	for path, text := range texts {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return err
		}
		if rel, err := filepath.Rel(p.Project, real); e.Scope == stack.ScopeProject && (err != nil || strings.HasPrefix(rel, "..")) {
			return fmt.Errorf("%s links to %s, outside of the project; edit it there", path, real)
		}
		if err := disk.Replace(fsys.LogicalPath(real), fsys.Content{Bytes: text}, fsys.Expect{Digest: fsys.Digest(e.old[path])}, nil); err != nil {
			return fmt.Errorf("write %s: %w", real, err)
		}
	}
	if e.written != nil {
		e.written(disk)
	}
	return disk.Flush()
}
