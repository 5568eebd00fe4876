package schema

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"cuelang.org/go/cue"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/schema/spec"
)

// LocalFile is the name of the person's own layer of a project, beside its spec.
const LocalFile = "aisync.local.cue"

// localSources reads the person's own layer, if there is one.
func localSources(o Options) ([]source, error) {
	f := source{path: filepath.Join(o.ProjectDir, LocalFile), name: "project/" + LocalFile}
	text, ok := o.Texts[f.path]
	if f.text = text; ok {
		return []source{f}, nil
	}
	f, err := readSource(f.path, f.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return []source{f}, err
}

// local sets s.Project.Local from files, the person's own layer. Only settings
// have a file that git does not carry; every other field of a project is refused
// with what to do instead.
func (l *loader) local(s *spec.Spec, files []source) {
	if len(files) == 0 {
		return
	}
	d := l.eval.read(files, l.Cwd)
	defer func() { l.problem = append(l.problem, d.problems...) }()
	if !d.root.Exists() {
		return
	}
	d.check(l.eval.schema.LookupPath(cue.ParsePath("#LocalSpec")))
	n := d.node().get("project")
	for _, f := range n.fields() {
		if f.name() != "settings" {
			f.notLocal()
		}
	}
	if s.Project == nil {
		return
	}
	s.Project.Local = spec.Local{File: files[0].path, Settings: n.get("settings").settings()}
	x := inventory{Index: catalog.With(s.Catalog)}
	for _, own := range s.Project.Local.Settings {
		at := n.get("settings").get(own.Runtime)
		if !x.runtime(own.Runtime) {
			x.unknown(at, at.labelPos(), own.Runtime)
			continue
		}
		if rt, ok := x.Runtime(own.Runtime); ok && rt.Project.SettingsOwn == nil {
			at.problem(fmt.Sprintf("%s has no settings file in a project that is one person's", own.Runtime),
				fmt.Sprintf("set it for all your projects under settings: %s of your host, or for everyone here in %s", own.Runtime, ProjectFile))
		}
	}
}

// notLocal reports a field that the person's own layer cannot hold.
func (n node) notLocal() {
	hints := map[string]string{
		"name":     "leave it out: it is in " + ProjectFile,
		"runtimes": "name programs that you alone use under runtimes of your host",
		"default":  "choose it with ai --runtime ID, or set default of your host",
		"sources":  "name the source under bundles of your host, whose parts each project gets",
		"bundles":  "name the bundle under bundles of your host, whose parts each project gets, or for everyone in " + ProjectFile,
		"teams":    "name the team for everyone in " + ProjectFile,
		"mcp":      "name the server under mcp of your host, or for everyone in " + ProjectFile,
		"agents":   "lay it out for everyone in " + ProjectFile,
		"githooks": "set it for everyone in " + ProjectFile,
	}
	hint, known := hints[n.name()]
	message := "field not allowed in " + LocalFile + ": what it makes lies in files that git carries for everyone"
	if !known {
		message = "field not allowed in " + LocalFile
		hint = "allowed: settings"
		if near := nearest.Name(n.name(), []string{"settings"}); near != "" {
			hint = "did you mean \"settings\"?"
		}
	}
	n.doc.add(Problem{Pos: n.labelPos(), Path: pathText(n.path), Message: message, Hint: hint})
}
