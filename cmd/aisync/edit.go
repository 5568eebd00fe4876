package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/internal/regular"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/edit"
	"aisync.dev/aisync/schema/spec"
)

// editing is one change of the spec of a host or a project. Nothing is written
// before the spec that would come of it has been read and found right.
type editing struct {
	app    *app
	flags  editFlags
	places place.Places
	scope  Scope
	spec   *spec.Spec
	index  catalog.Index
	files  *edit.Files
	paths  map[string]string // by the name of a file as it is shown
	old    map[string][]byte // by path
	said   []string          // what there was nothing to do about
	gone   []listed          // what was taken out
	server effects.Server    // the MCP server that was typed; no name: none
}

// editFlags are the flags of every command that edits a spec.
type editFlags struct {
	scope  string
	dryRun bool
}

func (f *editFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.scope, "scope", "", "`WHICH` spec: host, project (default: the project inside one where it can say this, else the host)")
	oneScope(cmd)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be written, and write nothing")
}

// oneScope completes --scope of a command that is about one spec.
func oneScope(cmd *cobra.Command) {
	_ = cmd.Flags().SetAnnotation("scope", choices, []string{string(ScopeHost), string(ScopeProject)}) // the flag is there
}

// edit reads the spec that k is about, lets do change it, checks what came of
// it, shows it and writes it.
func (a *app) edit(ctx context.Context, k kind, f editFlags, do func(*editing) error) error {
	e := &editing{app: a, flags: f}
	if err := e.open(ctx, k); err != nil {
		return err
	}
	if err := do(e); err != nil {
		return err
	}
	typed := func() error { return nil }
	if e.server.Name != "" && e.scope == ScopeProject && !f.dryRun {
		typed = e.app.typed(ctx, e.server)
	}
	if err := e.finish(ctx, k); err != nil {
		return err
	}
	return typed()
}

// open finds and reads the spec, which must be right.
func (e *editing) open(ctx context.Context, k kind) (err error) {
	if e.places.Home == "" {
		if e.places, err = e.app.places(); err != nil {
			return err
		}
	}
	if e.scope, err = k.scope(e.flags.scope, e.places.Project != ""); err != nil {
		return err
	}
	if _, err := e.scope.owners(e.places); err != nil {
		return inputHint(err)
	}
	if e.spec, err = e.load(ctx, nil); err != nil {
		return advice.Command(fmt.Errorf("the spec is not right as it is, so nothing is changed in it: %w", err), "aisync validate")
	}
	e.index = catalog.With(e.spec.Catalog)
	root := []string{"project"}
	if e.scope == ScopeHost {
		h := e.spec.Host
		if h == nil || h.Builtin {
			return advice.Command(fmt.Errorf("no spec of this machine in %s yet", e.places.Short("", e.places.Config)), "aisync init")
		}
		root = []string{"hosts", h.Name}
	}
	return e.read(root)
}

// load reads the specs, with texts in place of files. A project needs no host.
func (e *editing) load(ctx context.Context, texts map[string][]byte) (*spec.Spec, error) {
	o := schema.Options{Texts: texts}
	if e.scope == ScopeHost {
		o.Scope = schema.HostOnly
	} else {
		o.NoHost = func(schema.Problem) {}
	}
	return e.app.machine(e.places).LoadSpec(ctx, o)
}

// read takes the text of the files in which root is written.
func (e *editing) read(root []string) error {
	cwd, err := e.app.cwd()
	if err != nil {
		return err
	}
	e.paths, e.old = map[string]string{}, map[string][]byte{}
	var files []edit.File
	for _, path := range e.spec.Files {
		if inProject := e.spec.Project != nil && path == e.spec.Project.File; inProject != (e.scope == ScopeProject) {
			continue
		}
		text, err := regular.Read(path, regular.MaxSpec)
		if err != nil {
			return fmt.Errorf("read spec: %w", err)
		}
		name := e.places.Short(cwd, path)
		e.paths[name], e.old[path] = path, text
		files = append(files, edit.File{Name: name, Text: text})
	}
	e.files, err = edit.Parse(files, root...)
	return err
}

// put writes the field path unless it is there. given says whether more was
// asked for than that it be there.
func (e *editing) put(what string, given bool, value string, path ...string) error {
	at := e.files.Find(path...)
	switch {
	case len(at) == 0:
		return e.files.Add(value, path...)
	case !given || e.files.Same(value, path...):
		e.there(what, at[0])
		return nil
	}
	return advice.New(fmt.Errorf("%s is there already, and otherwise: %s", what, at[0]), "change it there, or take it out first: aisync remove "+what)
}

func (e *editing) there(what string, at spec.Position) {
	e.said = append(e.said, fmt.Sprintf("%s is there already: %s", what, at))
}

// editDoc is the JSON of add and remove.
type editDoc struct {
	FormatVersion string     `json:"format_version"`
	Scope         Scope      `json:"scope"`
	DryRun        bool       `json:"dry_run"`
	Files         []editFile `json:"files"` // that changed
	Notes         []string   `json:"notes"`
}

type editFile struct {
	File string `json:"file"`
	Diff string `json:"diff"`
}

// diffs are the files that differ from what was read.
func (e *editing) diffs() []editFile {
	out := []editFile{}
	for _, f := range e.files.Changed() {
		out = append(out, editFile{f.Name, merge.Unified(f.Name, f.Name, e.old[e.paths[f.Name]], f.Text)})
	}
	return out
}

// check returns the texts that changed, by path, if the spec would be right.
func (e *editing) check(ctx context.Context, k kind) (map[string][]byte, error) {
	texts := map[string][]byte{}
	for _, f := range e.files.Changed() {
		texts[e.paths[f.Name]] = f.Text
	}
	after, err := e.load(ctx, texts)
	if err != nil {
		var all []error
		for _, part := range advice.Split(err) {
			all = append(all, fmt.Errorf("the spec would not be right, so nothing is written: %w", part))
		}
		return nil, errors.Join(all...)
	}
	for _, l := range e.gone {
		if slices.ContainsFunc(k.listed(after, e.scope), func(o listed) bool { return o.name == l.name }) {
			return nil, byHand(l)
		}
	}
	return texts, nil
}

// finish checks the spec as it would be, writes it and shows the difference.
func (e *editing) finish(ctx context.Context, k kind) error {
	texts, err := e.check(ctx, k)
	if err != nil {
		return err
	}
	if !e.flags.dryRun {
		if err := e.write(texts); err != nil {
			return err
		}
	}
	doc := editDoc{viewVersion, e.scope, e.flags.dryRun, e.diffs(), orEmpty(e.said)}
	if e.app.g.json {
		return e.app.writeJSON(doc)
	}
	for _, f := range doc.Files {
		e.app.printDiff(f.Diff)
	}
	for _, line := range doc.Notes {
		e.app.printf("%s\n", termtext.Safe(line))
	}
	switch {
	case len(doc.Files) == 0:
	case e.flags.dryRun:
		e.app.hint("nothing is written: --dry-run")
	default:
		e.app.hint("next: aisync plan")
	}
	return nil
}

// printDiff prints a unified diff.
func (a *app) printDiff(diff string) {
	p := a.paint()
	for line := range strings.Lines(diff) {
		text := termtext.Safe(strings.TrimRight(line, "\r\n"))
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			text = p.bold(text)
		case strings.HasPrefix(line, "@@"):
			text = p.cyan(text)
		case strings.HasPrefix(line, "+"):
			text = p.green(text)
		case strings.HasPrefix(line, "-"):
			text = p.red(text)
		}
		a.printf("%s\n", text)
	}
}

// write puts texts in place of the files that were read. A spec that is a link,
// as a dotfile manager makes it, is written where it lies.
func (e *editing) write(texts map[string][]byte) error {
	p := e.places
	disk, err := fsys.New(fsys.Options{Tag: "edit", Home: fsys.LogicalPath(p.Physical(p.Home)), UID: p.UID, GID: p.GID, Chown: p.Chown})
	if err != nil {
		return err
	}
	for path, text := range texts {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return err
		}
		if rel, err := filepath.Rel(p.Project, real); e.scope == ScopeProject && (err != nil || strings.HasPrefix(rel, "..")) {
			return fmt.Errorf("%s is a link to %s, outside of the project; edit it there", path, real)
		}
		if err := disk.Replace(fsys.LogicalPath(real), fsys.Content{Bytes: text}, fsys.Expect{Digest: fsys.Digest(e.old[path])}, nil); err != nil {
			return fmt.Errorf("write %s: %w", real, err)
		}
	}
	return disk.Flush()
}
