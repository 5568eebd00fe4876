package schema

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"aisync.dev/aisync/internal/limit"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/schema/costly"
	"aisync.dev/aisync/schema/layers"
	"aisync.dev/aisync/schema/nested"
	"aisync.dev/aisync/schema/position"
	"aisync.dev/aisync/schema/spec"
)

// nestedSource is a spec that extends the project's.
type nestedSource struct {
	source
	folder string // below the project's root
}

// nested reads the specs that extend the project's, from the folders that it
// lists, and joins them with it.
func (l *loader) nested(ctx context.Context, h *spec.Host, p *spec.Project) ([]source, error) {
	if p == nil || len(l.problem) > 0 {
		return nil, nil
	}
	found, err := l.nestedSources(p)
	if err != nil {
		return nil, err
	}
	var files []source
	for _, f := range found {
		files = append(files, f.source)
	}
	if len(files) > 0 && l.Rehearse != nil && (limit.Tight() || slices.ContainsFunc(files, func(f source) bool { return costly.AllocatesAtOnce(f.Text, schemaPackage, catalogPackage) })) {
		if err := l.Rehearse(ctx, l.Options); err != nil {
			return nil, l.costlyError(err.Error())
		}
	}
	for _, f := range found {
		d := l.eval.read([]source{f.source}, l.Cwd)
		if d.root.Exists() {
			d.check(l.eval.schema.LookupPath(cue.ParsePath("#NestedSpec")))
			d.node().get("project").extend(p, f.folder, hostSourceNames(h))
		}
		l.problem = append(l.problem, d.problems...)
	}
	sort.Slice(p.Places, func(i, j int) bool { return p.Places[i].Folder < p.Places[j].Folder })
	return files, l.unlisted(p, found)
}

// nestedSources finds the nested specs. It looks into the listed folders alone,
// and follows no link.
func (l *loader) nestedSources(p *spec.Project) ([]nestedSource, error) {
	var out []nestedSource
	for i := range p.Nested {
		folders, err := nested.Folders(p.Dir, p.Nested[i].Pattern)
		if err != nil {
			return nil, fmt.Errorf("%s: look for nested specs: %w", p.Nested[i].Pos, err)
		}
		for _, folder := range folders {
			rel := path.Join(folder, ProjectFile)
			f := source{Path: filepath.Join(p.Dir, filepath.FromSlash(rel)), Name: "project/" + rel}
			text, given := l.Texts[f.Path]
			if f.Text = text; !given {
				if _, err := os.Lstat(f.Path); errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if l.Owned != nil {
					if err := l.Owned(p.Dir, rel); err != nil {
						return nil, err
					}
				}
				if f, err = layers.Read(f.Path, f.Name); err != nil {
					return nil, err
				}
			}
			to, line, err := nested.Extends(f.Text)
			switch {
			case err != nil && line > 0:
				l.problem = append(l.problem, Problem{Pos: spec.Position{File: position.New(nil, l.Cwd).File(f.Path), Line: line, Col: 1}, Path: "project.extends", Message: err.Error(), Hint: "write the path of the root, such as extends: \"../..\""})
			case err == nil && to == "":
				continue // a project in its own right
			}
			p.Nested[i].Found++
			if !slices.ContainsFunc(out, func(o nestedSource) bool { return o.folder == folder }) {
				out = append(out, nestedSource{f, folder})
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].folder < out[j].folder })
	return out, nil
}

// unlisted reports the nested spec that the caller works in, where the project
// does not list its folder.
func (l *loader) unlisted(p *spec.Project, found []nestedSource) error {
	rel, err := filepath.Rel(p.Dir, l.From)
	if folder := filepath.ToSlash(rel); l.From != "" && err == nil && filepath.IsLocal(rel) && !slices.ContainsFunc(found, func(f nestedSource) bool { return f.folder == folder }) {
		file := filepath.Join(l.From, ProjectFile)
		f, err := layers.Read(file, "")
		if err != nil {
			return err
		}
		_, line, _ := nested.Extends(f.Text)
		at := position.New(nil, l.Cwd)
		var listed []string
		for _, n := range p.Nested {
			listed = append(listed, strconv.Quote(n.Pattern))
		}
		root := at.File(p.File)
		if p.Pos.File != "" {
			root = p.Pos.File
		}
		l.problem = append(l.problem, Problem{
			Pos: spec.Position{File: at.File(file), Line: line, Col: 1}, Path: "project.extends",
			Message: "the spec of the root does not list this folder under nested",
			Hint:    fmt.Sprintf("write into project of %s: nested: [%s]", root, strings.Join(append(listed, strconv.Quote(folder)), ", ")),
		})
	}
	return nil
}

// nestedFields are what a nested spec may hold.
var nestedFields = []string{"name", "extends", "sources", "bundles", "teams"}

// extend adds what a nested spec in folder asks for to p. known are sources
// besides those of p and of the spec.
func (n node) extend(p *spec.Project, folder string, known []string) {
	for _, f := range n.fields() {
		if !slices.Contains(nestedFields, f.name()) {
			f.notNested(p)
		}
	}
	n.get("extends").checkExtends(p, folder)
	if why := nested.Unfit(folder); why != "" {
		n.get("extends").problem(fmt.Sprintf("folder %q %s", folder, why), "give the folder another name")
	}
	for _, src := range n.sources(p.Dir, filepath.Join(p.Dir, folder)) {
		src.Place = folder
		if (!spec.Remote(src.URL) || spec.LocalArchive(src.URL)) && !filepath.IsAbs(src.URL) && src.URL != "~" && !strings.HasPrefix(src.URL, "~/") {
			src.URL = filepath.ToSlash(spec.LocalPath(src.URL, folder, "")) // one lock and one folder for all sources of a project
		}
		same := slices.IndexFunc(p.Sources, func(o spec.Source) bool { return o.Name == src.Name })
		switch {
		case same < 0:
			p.Sources = append(p.Sources, src)
		case p.Sources[same].URL != src.URL || p.Sources[same].Scope != src.Scope || !p.Sources[same].Pick.Equal(src.Pick):
			at := n.get("sources").get(src.Name)
			n.doc.add(Problem{Pos: src.Pos, Path: pathText(at.path), Message: fmt.Sprintf("source %q is another one at %s", src.Name, p.Sources[same].Pos), Hint: "give this one another name"})
		case p.Sources[same].Place != "":
			p.Sources = append(p.Sources, src)
		}
	}
	place := spec.Place{Folder: folder, Bundles: n.get("bundles").bundleRefs(), Teams: n.get("teams").bundleRefs(), Pos: n.labelPos()}
	for _, list := range [][]spec.BundleRef{place.Bundles, place.Teams} {
		for i := range list {
			list[i].Place = folder
		}
	}
	for _, src := range p.SourcesOf(spec.BundleRef{Place: folder}) {
		known = append(known, src.Name)
	}
	n.checkRefs(append(known, spec.OwnSource))
	if i := slices.IndexFunc(p.Places, func(o spec.Place) bool { return o.Folder == folder }); i >= 0 {
		p.Places[i].Bundles = append(p.Places[i].Bundles, place.Bundles...)
		p.Places[i].Teams = append(p.Places[i].Teams, place.Teams...)
		return
	}
	p.Places = append(p.Places, place)
}

// checkExtends refuses a nested spec that extends another folder than the
// project's root, or from another git work tree.
func (n node) checkExtends(p *spec.Project, folder string) {
	up := strings.TrimSuffix(strings.Repeat("../", strings.Count(folder, "/")+1), "/")
	if to := n.str(); path.IsAbs(to) || path.Join(folder, to) != "." {
		n.problem(fmt.Sprintf("want the root of the project that lists this folder, got %q", to), fmt.Sprintf("write extends: %q", up))
	}
	for at := folder; at != "."; at = path.Dir(at) {
		if _, err := os.Lstat(filepath.Join(p.Dir, filepath.FromSlash(at), ".git")); err == nil {
			n.problem(at+" is another git work tree, whose files the project does not have", "leave out extends: the folder is a project in its own right then")
			return
		}
	}
}

// notNested reports a field that a nested spec cannot hold.
func (n node) notNested(p *spec.Project) {
	message := "field not allowed in a spec that extends another"
	hint := "allowed: " + strings.Join(nestedFields, ", ")
	if slices.Contains([]string{"runtimes", "default", "places", "nested", "mcp", "agents", "settings", "context", "policy", "githooks"}, n.name()) {
		message = "field not allowed here: it belongs into the root's spec"
		hint = "move it to " + cmp.Or(p.Pos.File, p.File)
	} else if near := nearest.Name(n.name(), nestedFields); near != "" {
		hint = "did you mean " + strconv.Quote(near) + "? " + hint
	}
	n.doc.add(Problem{Pos: n.labelPos(), Path: pathText(n.path), Message: message, Hint: hint})
}

// places reads what folders of a project have for themselves.
func (n node) places() []spec.Place {
	var out []spec.Place
	for _, f := range n.fields() {
		if why := nested.Unfit(f.name()); why != "" {
			n.doc.add(Problem{Pos: f.labelPos(), Path: pathText(f.path), Message: fmt.Sprintf("folder %q %s", f.name(), why)})
			continue
		}
		out = append(out, spec.Place{Folder: f.name(), Bundles: f.get("bundles").bundleRefs(), Teams: f.get("teams").bundleRefs(), Pos: f.labelPos()})
	}
	return out
}

// nestings reads where nested specs may lie.
func (n node) nestings() []spec.Nesting {
	var out []spec.Nesting
	for _, e := range n.elements() {
		pattern := e.str()
		_, err := path.Match(pattern, "")
		switch {
		case pattern == "":
		case path.IsAbs(pattern) || path.Clean(pattern) != pattern || pattern == "." || slices.Contains(strings.Split(pattern, "/"), ".."):
			e.problem(fmt.Sprintf("want folders below this spec's, got %q", pattern), "write one such as \"packages/*\"")
		case strings.Contains(pattern, "**"):
			e.problem("** would have every folder read", "write one * for each folder on the way, such as \"packages/*\"")
		case err != nil:
			e.problem(fmt.Sprintf("bad pattern %q", pattern), "write one such as \"packages/*\"")
		default:
			out = append(out, spec.Nesting{Pattern: pattern, Pos: e.valuePos()})
		}
	}
	return out
}
