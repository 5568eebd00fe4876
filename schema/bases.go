package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"aisync.dev/aisync/schema/layers"
	"aisync.dev/aisync/schema/spec"
)

// readLayers evaluates specs that extend each other as one. Each says for itself what
// layers.Fields are.
func (l *loader) readLayers(list []layers.Layer) *document {
	d := l.eval.readStripped(filesOf(list), l.Cwd, len(list) > 1)
	d.bases = map[string]layers.Layer{}
	for _, b := range list[1:] {
		for _, f := range b.Files {
			d.bases[f.Parsed()] = b
		}
	}
	return d
}

// limits reads the policies of list, whose specs are d together: each for itself,
// because together they would have to be equal.
func (l *loader) limits(d *document, list []layers.Layer) []spec.Limits {
	var out []spec.Limits
	for i, one := range list {
		if !one.Has("policy") {
			continue
		}
		of := d
		if len(list) > 1 {
			if of = l.eval.read(one.Files, l.Cwd); of.root.Exists() {
				if at := of.node().get("policy"); at.exists() {
					of.compare(at.path, at.v, l.eval.schema.LookupPath(cue.ParsePath("#Limits")), "")
				}
			}
		}
		by := "the spec"
		if i > 0 {
			by = "base " + one.Name
		}
		if of.root.Exists() {
			out = append(out, of.node().get("policy").allows(by))
		}
		if of != d {
			l.problem = append(l.problem, of.problems...)
		}
	}
	return out
}

// allows reads a policy.
func (n node) allows(by string) spec.Limits {
	list := func(field string) *spec.Allowed {
		at := n.get(field)
		if !at.exists() {
			return nil
		}
		return &spec.Allowed{List: at.nameds(), Pos: at.labelPos()}
	}
	return spec.Limits{By: by, Sources: list("sources"), MCP: list("mcp"), Hooks: list("hooks"), Runtimes: list("runtimes")}
}

// filesOf returns the files of all layers.
func filesOf(list []layers.Layer) (all []source) {
	for _, l := range list {
		all = append(all, l.Files...)
	}
	return all
}

// folder returns where the relative path at n starts: dir, or the folder of the base
// that says it.
func (n node) folder(dir string) string {
	b, ok := n.doc.bases[n.v.Pos().Filename()]
	if !ok {
		return dir
	}
	if at := n.str(); !strings.HasPrefix(at, "/") && !strings.HasPrefix(at, "~") && b.Leaves(at) {
		n.problem(fmt.Sprintf("%q leaves the base that names it", at), "move it into "+b.Name)
	}
	return b.Folder
}

// fingerprint returns the files' paths, and a digest that does not depend on
// their folder.
func fingerprint(files []source) ([]string, string) {
	h := sha256.New()
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
		fmt.Fprintf(h, "%s %d\n%s", f.Name, len(f.Text), f.Text)
	}
	slices.Sort(paths)
	return paths, "sha256:" + hex.EncodeToString(h.Sum(nil))
}
