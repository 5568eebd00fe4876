package schema

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/catalog/manifest"
	"aisync.dev/aisync/schema/spec"
)

// inventory is what a spec may refer to.
type inventory struct {
	catalog.Index
	more bool // a source that is not on this machine may have further runtimes
}

// runtime reports whether id names a runtime, or may do so.
func (x inventory) runtime(id string) bool {
	_, ok := x.Runtime(id)
	return ok || x.more
}

// unknown reports that id, which stands at n, names no runtime. A name that
// people also call one by is a hint.
func (x inventory) unknown(n node, pos spec.Position, id string) {
	hint := didYouMean(id, runtimeIDs(x.Index))
	if r, ok := x.Find(id); ok {
		hint = fmt.Sprintf("did you mean %q?", r.ID)
	}
	n.doc.add(Problem{Pos: pos, Path: pathText(n.path), Message: fmt.Sprintf("unknown runtime %q", id), Hint: hint})
}

// lend is what the sources of h or of p bring along beside own, and all that
// may be referred to with it. An entry of the catalog or of a person's own
// stands before one that is lent under its id. What a stranger's project lends
// says nothing of a home.
func (l *loader) lend(d *document, own spec.Catalog, h *spec.Host, p *spec.Project) ([]spec.Runtime, inventory) {
	if l.Lent == nil {
		return nil, inventory{Index: catalog.With(own)}
	}
	runtimes, more, err := l.Lent(h, p)
	d.blame(err)
	index := catalog.With(own)
	runtimes = slices.DeleteFunc(runtimes, func(r spec.Runtime) bool {
		_, taken := index.Runtime(r.ID)
		return taken
	})
	for i := range runtimes {
		runtimes[i].Pos.File = d.at.file(runtimes[i].Pos.File)
		if p != nil {
			runtimes[i].User = spec.Scope{}
		}
	}
	sort.SliceStable(runtimes, func(i, j int) bool { return runtimes[i].ID < runtimes[j].ID })
	own.Runtimes = slices.Concat(own.Runtimes, runtimes)
	return runtimes, inventory{catalog.With(own), more}
}

// blame adds what err joins.
func (d *document) blame(err error) {
	var several interface{ Unwrap() []error }
	var one *manifest.Problem
	switch {
	case err == nil:
	case errors.As(err, &several):
		for _, e := range several.Unwrap() {
			d.blame(e)
		}
	case errors.As(err, &one):
		pos := one.Pos
		pos.File = d.at.file(pos.File)
		d.add(Problem{Pos: pos, Message: one.Text, Hint: one.Hint})
	default:
		d.add(Problem{Message: err.Error()})
	}
}
