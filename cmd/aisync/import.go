package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/providers/bundle/gather"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/edit"
	"aisync.dev/aisync/schema/spec"
)

// ownSource is what the spec calls the source that import writes.
const ownSource = "own"

func importCommand(a *app) *cobra.Command {
	im := &importing{}
	var from []string
	cmd := &cobra.Command{
		Use:   "import [DIR]",
		Short: "turn what agents already have in a project, or in your home, into a bundle and a spec",
		Long: `Reads rules, skills, commands, agents, hooks, settings, ignore lists, instruction
files and MCP servers that are in DIR (the project, or this folder) already, and
writes them as a bundle below .aisync and as aisync.cue. With --scope host it
reads your home, writes the bundle beside the host's spec, and adds to that spec.

Without --from it reads the sources of rulesync or ruler where there are any, and
else what each program has. Nothing that is there is written to or taken away: a
file of the bundle that is there already stays, and a spec that is there already
gets what it lacks. The table says where each thing went; "kept as is" is what
has no place in a bundle and stays where it is. What looks like a secret is not
copied: the spec names a variable instead.

Then aisync plan shows what is equal already ("=") and what would be written
for the other runtimes.`,
		Example:     "  $ aisync import --dry-run\n  $ aisync import --from claude,cursor ~/code/app\n  $ aisync import --scope host",
		Annotations: map[string]string{"effect": "writes"},
		Args:        maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range from {
				if !slices.Contains(gather.Origins, gather.Origin(name)) {
					return usagef("--from %q: want some of %s", safe(name), joinOrigins(gather.Origins, ", "))
				}
				im.options.From = append(im.options.From, gather.Origin(name))
			}
			im.app = a
			return im.run(cmd.Context(), args)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&from, "from", nil, "read only what `WHOSE` it is: "+joinOrigins(gather.Origins, ", "))
	flags.StringVar(&im.scope, "scope", string(scopeProject), "`WHICH` spec: project, or host for your home")
	flags.StringVar(&im.bundle, "bundle", "", "write the bundle into `FOLDER` (default: .aisync in the project, bundle beside the host's spec)")
	flags.BoolVar(&im.dryRun, "dry-run", false, "show what would be written, and write nothing")
	return cmd
}

func joinOrigins(all []gather.Origin, sep string) string {
	names := make([]string, len(all))
	for i, o := range all {
		names[i] = string(o)
	}
	return strings.Join(names, sep)
}

// importing is one import.
type importing struct {
	app     *app
	options gather.Options
	scope   string
	bundle  string
	dryRun  bool

	places  places
	dir     string // that is read
	found   *gather.Result
	edit    *editing // of a spec that is there already
	written []string

	superfluous []string // that was taken over, once it is applied
}

func (im *importing) run(ctx context.Context, args []string) (err error) {
	if im.places, err = im.app.places(); err != nil {
		return err
	}
	if err := im.locate(args); err != nil {
		return err
	}
	if im.found, err = gather.From(im.dir, im.options); err != nil {
		return err
	}
	if len(im.found.Files) == 0 && len(im.found.Servers) == 0 {
		im.show(nil)
		return advise(fmt.Errorf("nothing to take over in %s", im.dir), "it looks for what "+joinOrigins(gather.Origins, ", ")+" have there; to start anew: aisync init --here")
	}
	texts, err := im.specTexts(ctx)
	if err != nil {
		return err
	}
	if !im.dryRun {
		if err := im.write(texts); err != nil {
			return err
		}
		im.superfluous = im.over(ctx)
	}
	return im.show(texts)
}

// over is what was taken over and is in none of the places that an apply will
// keep: programs would read it beside what is made from it.
func (im *importing) over(ctx context.Context) []string {
	a := *im.app
	a.g.quiet = true
	where := scopeHost
	if !im.options.Home {
		where, a.g.project = scopeProject, im.dir
	}
	w, err := a.setup(ctx, where)
	if err != nil {
		return nil // aisync plan says why
	}
	var targets []string
	for _, d := range w.declared.Declarations {
		targets = append(targets, string(d.Target.Path(w.places.home)))
	}
	var out []string
	for _, t := range im.found.Taken {
		at := t.From
		if im.options.Home {
			at = string(im.places.home.Join(t.From))
		}
		kept := slices.ContainsFunc(targets, func(p string) bool { return p == at || strings.HasPrefix(p, at+"/") })
		if !kept && !strings.HasPrefix(t.From, ".rule") && made(t, targets) {
			out = append(out, im.short(filepath.Join(im.dir, t.From)))
		}
	}
	return out
}

// made reports whether some target holds what t became. The text of a rule is
// in an instruction file where it is in no folder.
func made(t gather.Taken, targets []string) bool {
	name := strings.TrimSuffix(path.Base(t.To), ".md")
	switch t.What {
	case "rule":
		return true
	case "skill":
		return slices.ContainsFunc(targets, func(p string) bool { return strings.Contains(p, "/"+name+"/") })
	case "command", "agent":
		return slices.ContainsFunc(targets, func(p string) bool { return strings.HasPrefix(path.Base(p), name+".") })
	}
	return false
}

// locate finds the folder that is read and the one that is written.
func (im *importing) locate(args []string) error {
	cwd, err := im.app.cwd()
	if err != nil {
		return err
	}
	home, err := filepath.EvalSymlinks(im.places.physical(im.places.home))
	if err != nil && im.scope == string(scopeHost) {
		return err
	}
	switch im.scope {
	case string(scopeHost):
		im.dir, im.options.Home = home, true
		im.bundle = cmp.Or(im.bundle, filepath.Join(im.places.config, "bundle"))
	case string(scopeProject):
		im.dir = cmp.Or(im.places.project, cwd)
		if len(args) > 0 {
			if im.dir, err = existingFolder(cwd, args[0]); err != nil {
				return err
			}
		}
		if im.dir == home {
			return withHint(fmt.Errorf("%s is your home, not a project", im.dir), "aisync import --scope host")
		}
		im.places.project = im.dir
		im.bundle = cmp.Or(im.bundle, filepath.Join(im.dir, ".aisync"))
		im.options.Name = nameOf(filepath.Base(im.dir), "project")
	default:
		return usagef("--scope %q: want project or host", im.scope)
	}
	if len(args) > 0 && im.options.Home {
		return usagef("import --scope host reads your home, %s, and no other folder", im.dir)
	}
	im.bundle = absolute(cwd, im.bundle)
	return nil
}

// specTexts is the spec as it would be, by path, found right.
func (im *importing) specTexts(ctx context.Context) (map[string][]byte, error) {
	file := filepath.Join(im.dir, projectFile)
	if _, err := os.Stat(file); !im.options.Home && errors.Is(err, fs.ErrNotExist) {
		texts := map[string][]byte{file: im.newSpec()}
		_, err := schema.Load(ctx, schema.Options{ProjectDir: im.dir, Texts: texts, Scope: schema.ProjectOnly})
		return texts, err
	}
	e := &editing{app: im.app, places: im.places, flags: editFlags{scope: im.scope, dryRun: im.dryRun}}
	if err := e.open(ctx, kindOf("bundle")); err != nil {
		return nil, err
	}
	im.edit = e
	if err := im.addTo(e); err != nil {
		return nil, err
	}
	return e.check(ctx, kindOf("bundle"))
}

// source is the bundle as the spec names it: relative where it lies below it.
func (im *importing) source(specDir string) string {
	rel, err := filepath.Rel(specDir, im.bundle)
	if err != nil || strings.HasPrefix(rel, "..") {
		return im.bundle
	}
	return "./" + filepath.ToSlash(rel)
}

// addTo adds what the spec lacks.
func (im *importing) addTo(e *editing) error {
	if e.scope == scopeHost {
		if err := e.put("bundle "+ownSource, true, edit.Struct(edit.Text("source", im.source(im.places.config))), "bundles", ownSource); err != nil {
			return err
		}
	} else if len(im.found.Files) > 0 {
		if err := e.put("source "+ownSource, true, edit.String(im.source(im.dir)), "sources", ownSource); err != nil {
			return err
		}
		ref := ownSource + "//" + im.options.Name
		if !slices.Contains(e.names(kindOf("bundle")), ref) {
			if err := e.files.Append(edit.String(ref), "bundles"); err != nil {
				return err
			}
		}
	}
	for _, id := range im.found.Runtimes {
		if err := e.addRuntime(id, false, "{}"); err != nil {
			return err
		}
	}
	for _, s := range im.found.Servers {
		if slices.Contains(e.names(kindOf("mcp")), s.Name) {
			continue // the spec's own word
		}
		if err := e.files.Add(serverText(s.MCPServer), "mcp", s.Name); err != nil {
			return err
		}
	}
	e.said = nil
	return nil
}

// newSpec is a first spec of the project.
func (im *importing) newSpec() []byte {
	ids := make([]string, len(im.found.Runtimes))
	for i, id := range im.found.Runtimes {
		ids[i] = strconv.Quote(id)
	}
	note := ""
	if len(ids) == 0 {
		note = " // name the agent programs that people use here"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "package aisync\n\n// What agents have in this project, taken over from %s by aisync import.\nproject: {\n", joinOrigins(im.found.From, ", "))
	fmt.Fprintf(&b, "\tname:     %s\n\truntimes: [%s]%s\n", edit.String(im.options.Name), strings.Join(ids, ", "), note)
	if len(im.found.Files) > 0 {
		fmt.Fprintf(&b, "\tsources: %s: %s\n\tbundles: [%s]\n", ownSource, edit.String(im.source(im.dir)), edit.String(ownSource+"//"+im.options.Name))
	}
	if len(im.found.Servers) > 0 {
		b.WriteString("\tmcp: {\n")
		for _, s := range im.found.Servers {
			fmt.Fprintf(&b, "\t\t%s: %s\n", edit.Label(s.Name), serverText(s.MCPServer))
		}
		b.WriteString("\t}\n")
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// serverText is an MCP server as a spec has it.
func serverText(s spec.MCPServer) string {
	vars := func(name string, list []spec.EnvVar) edit.Field {
		var fields []edit.Field
		for _, v := range list {
			value := edit.String(v.Value)
			if v.Secret != nil {
				value = edit.Struct(edit.Text("env", v.Secret.Env), edit.Text("file", v.Secret.File))
			}
			fields = append(fields, edit.Field{Name: v.Name, Value: value})
		}
		if len(fields) == 0 {
			return edit.Field{}
		}
		return edit.Field{Name: name, Value: edit.Struct(fields...)}
	}
	return edit.Struct(edit.Text("command", s.Command), edit.Texts("args", s.Args), edit.Text("url", s.URL), vars("env", s.Env), vars("headers", s.Headers))
}

// write writes the bundle, and then the spec that names it. A file of the
// bundle that is there keeps its bytes, and that is said.
func (im *importing) write(texts map[string][]byte) error {
	p := im.places
	disk, err := fsys.New(fsys.Options{Tag: "import", Home: fsys.LogicalPath(p.physical(p.home)), UID: p.uid, GID: p.gid, Chown: p.chown})
	if err != nil {
		return err
	}
	for _, f := range im.found.Files {
		if err := im.writeNew(disk, fsys.LogicalPath(im.bundle).Join(f.Path), f.Text, f.Mode); err != nil {
			return err
		}
	}
	if im.edit != nil {
		if err := disk.Flush(); err != nil {
			return err
		}
		return im.edit.write(texts)
	}
	for name, text := range texts {
		if err := im.writeNew(disk, fsys.LogicalPath(name), text, 0o644); err != nil {
			return err
		}
	}
	return disk.Flush()
}

func (im *importing) writeNew(disk fsys.FS, name fsys.LogicalPath, text []byte, mode fs.FileMode) error {
	old, err := disk.ReadFile(name)
	switch {
	case err == nil && bytes.Equal(old, text):
		return nil
	case err == nil:
		im.found.Kept = append(im.found.Kept, gather.Kept{Path: im.short(string(name)), Why: "it was there already, and differs from what was read"})
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if _, err := disk.MkdirAll(name.Dir(), 0o755); err != nil {
		return err
	}
	if err := disk.Replace(name, fsys.Content{Bytes: text, Mode: mode}, fsys.Expect{Absent: true}, nil); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	im.written = append(im.written, string(name))
	return nil
}

func (im *importing) short(path string) string {
	cwd, err := im.app.cwd()
	if err != nil {
		return path
	}
	return im.places.short(cwd, path)
}
