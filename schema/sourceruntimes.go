package schema

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/catalog/manifest"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/schema/spec"
)

// inventory lists what a spec may refer to.
type inventory struct {
	catalog.Index
	more bool // a missing source may have further runtimes
}

// runtime reports whether id names a runtime, or may name one.
func (x inventory) runtime(id string) bool {
	_, ok := x.Runtime(id)
	return ok || x.more
}

// unknown reports that id at n names no runtime, with a hint if id is another
// name of one.
func (x inventory) unknown(n node, pos spec.Position, id string) {
	hint := nearest.Hint(id, runtimeIDs(x.Index))
	if r, ok := x.Find(id); ok {
		hint = fmt.Sprintf("did you mean %q?", r.ID)
	}
	n.doc.add(Problem{Pos: pos, Path: pathText(n.path), Message: fmt.Sprintf("unknown runtime %q", id), Hint: hint})
}

// sourceRuntimes returns the runtimes that the sources of h or p add to own, and all that
// may be referred to with them. An entry of the catalog or of the person takes
// precedence over a source's with the same id. A stranger's project adds nothing
// to the home.
func (l *loader) sourceRuntimes(d *document, own spec.Catalog, h *spec.Host, p *spec.Project) ([]spec.Runtime, inventory) {
	if l.Lent == nil {
		return nil, inventory{Index: catalog.With(own)}
	}
	runtimes, more, err := l.Lent(h, p)
	d.addErrors(err)
	index := catalog.With(own)
	runtimes = slices.DeleteFunc(runtimes, func(r spec.Runtime) bool {
		_, taken := index.Runtime(r.ID)
		return taken
	})
	for i := range runtimes {
		runtimes[i].Pos.File = d.at.File(runtimes[i].Pos.File)
		if p != nil {
			runtimes[i].User = spec.Scope{}
		}
	}
	sort.SliceStable(runtimes, func(i, j int) bool { return runtimes[i].ID < runtimes[j].ID })
	own.Runtimes = slices.Concat(own.Runtimes, runtimes)
	return runtimes, inventory{catalog.With(own), more}
}

// addErrors adds the problems in err.
func (d *document) addErrors(err error) {
	var several interface{ Unwrap() []error }
	var one *manifest.Problem
	switch {
	case err == nil:
	case errors.As(err, &several):
		for _, e := range several.Unwrap() {
			d.addErrors(e)
		}
	case errors.As(err, &one):
		pos := one.Pos
		pos.File = d.at.File(pos.File)
		d.add(Problem{Pos: pos, Message: one.Text, Hint: one.Hint})
	default:
		d.add(Problem{Message: err.Error()})
	}
}
