package schema

import (
	"fmt"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/token"

	"aisync.dev/aisync/schema/spec"
)

// EmbeddedCatalog evaluates the catalog's CUE. Only its generator and the test
// that compares both need it; everybody else reads package catalog. Entries
// have no positions.
func EmbeddedCatalog() (spec.Catalog, error) {
	e, err := newEvaluator()
	if err != nil {
		return spec.Catalog{}, err
	}
	d := &document{at: newPlaces(nil, ""), root: e.ctx.BuildInstance(e.load(token.NoPos, catalogPackage))}
	if err := d.root.Validate(cue.Concrete(true)); err != nil {
		return spec.Catalog{}, fmt.Errorf("embedded catalog: %w", err)
	}
	d.compare(nil, d.root, e.schema.LookupPath(cue.ParsePath("#Catalog")), "")
	c := d.node().catalog()
	if err := d.problems.sorted(); err != nil {
		return spec.Catalog{}, fmt.Errorf("embedded catalog: %w", err)
	}
	return c, nil
}
