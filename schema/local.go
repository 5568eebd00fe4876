package schema

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/schema/layers"
	"aisync.dev/aisync/schema/spec"
)

// LocalFile is the name of the person's own layer of a project, beside its spec.
const LocalFile = "aisync.local.cue"

// localSources reads the person's own layer, if there is one.
func localSources(o Options) ([]source, error) {
	f := source{Path: filepath.Join(o.ProjectDir, LocalFile), Name: "project/" + LocalFile}
	text, ok := o.Texts[f.Path]
	if f.Text = text; ok {
		return []source{f}, nil
	}
	f, err := layers.Read(f.Path, f.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return []source{f}, err
}

// local sets s.Project.Local from files, the person's own layer. It may hold what
// has a place that git does not carry; every other field of a project is refused
// with what to do instead. Its sources are folders: a pin of one would stand in
// the project's lock, which everyone has.
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
		if !slices.Contains(localFields, f.name()) {
			f.notLocal()
		}
	}
	if s.Project == nil {
		return
	}
	own := n.project(l.ProjectDir, files[0].Path)
	for _, src := range own.Sources {
		at := n.get("sources").get(src.Name)
		if spec.Remote(src.URL) {
			at.problem("a source in "+LocalFile+" is a folder: a fetched one would be pinned in the project's lock", "clone it, and name the folder here")
		}
		if slices.ContainsFunc(s.Project.Sources, func(o spec.Source) bool { return o.Name == src.Name }) {
			at.problem(fmt.Sprintf("%s has a source %q", ProjectFile, src.Name), "give this one another name")
		}
	}
	own.Name, own.Sources = s.Project.Name, append(own.Sources, s.Project.Sources...)
	s.Project.Local = own
	checkProject(n, own, s.Host, inventory{Index: catalog.With(s.Catalog)})
}

// localFields are the fields of a project that the person's own layer may hold.
var localFields = []string{"bundles", "mcp", "runtimes", "settings", "sources", "teams"}

// notLocal reports a field that the person's own layer cannot hold.
func (n node) notLocal() {
	hints := map[string]string{
		"name":     "leave it out: it is in " + ProjectFile,
		"default":  "choose it with ai --runtime ID, or set default of your host",
		"places":   "name the bundle under bundles, for the whole project",
		"agents":   "lay it out for everyone in " + ProjectFile,
		"policy":   "state it for everyone in " + ProjectFile,
		"githooks": "set it for everyone in " + ProjectFile,
	}
	message := "field not allowed in " + LocalFile
	hint, known := hints[n.name()]
	if known {
		message += ": what it makes lies in files that git carries for everyone"
	} else if hint = "allowed: " + strings.Join(localFields, ", "); nearest.Name(n.name(), localFields) != "" {
		hint = fmt.Sprintf("did you mean %q?", nearest.Name(n.name(), localFields))
	}
	n.doc.add(Problem{Pos: n.labelPos(), Path: pathText(n.path), Message: message, Hint: hint})
}
