package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/providers/model"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// ErrNoHost says that no host is described, where one is needed.
var ErrNoHost = errors.New("no host is described here, so there is no store")

// Inventory is the model files of a host: those that its spec asks for, and
// those that any owner has on record.
type Inventory struct {
	View     *View
	Folder   fsys.LogicalPath // of the store
	Files    []store.Held
	Pins     *pin.Resolver // which chose the files that the spec asks for
	Declared adapter.Decls // what the spec asks for of models; View.Declared does not hold it
}

// Inventory asks the host's spec for its models alone, and joins them with the
// records. A bundle that is not on this machine does not matter. It returns an
// error that wraps ErrNoHost where no host is described.
func (v *View) Inventory(ctx context.Context) (*Inventory, error) {
	if v.Spec.Host == nil {
		return nil, advice.Command(ErrNoHost, "aisync init")
	}
	r := v.Resolver(pin.Look)
	d, err := v.ModelDecls(ctx, r)
	if err != nil {
		return nil, err
	}
	files, err := v.ModelFiles(d.Declarations)
	return &Inventory{v, v.ModelStore(), files, r, d}, err
}

// ModelFiles returns the model files that declared asks for, and those that any
// owner has on record.
func (v *View) ModelFiles(declared []reconcile.Declaration) ([]store.Held, error) {
	records, err := v.Store.OfKinds("model", "view")
	if err != nil {
		return nil, err
	}
	return model.Held(declared, records), nil
}

// Wanted returns the files that the spec asks for.
func (i *Inventory) Wanted() []store.Held { return Wanted(i.Files) }

// Wanted returns those of files that a spec asks for.
func Wanted(files []store.Held) []store.Held {
	return slices.DeleteFunc(slices.Clone(files), func(h store.Held) bool { return !h.Wanted })
}

// Of returns the files of the models ids, or all where ids is empty. An unknown
// id is an error.
func (i *Inventory) Of(ids []string) ([]store.Held, error) {
	if len(ids) == 0 {
		return i.Files, nil
	}
	for _, id := range ids {
		if !i.Has(id) {
			return nil, i.Unknown(id)
		}
	}
	return slices.DeleteFunc(slices.Clone(i.Files), func(h store.Held) bool { return !slices.Contains(ids, h.ID) }), nil
}

// Has reports whether any file belongs to the model id.
func (i *Inventory) Has(id string) bool {
	return slices.ContainsFunc(i.Files, func(h store.Held) bool { return h.ID == id })
}

// Unknown returns the error for a model that no spec asks for and no record has.
// It names those that there are.
func (i *Inventory) Unknown(id string) error {
	var names []string
	for _, h := range i.Files {
		names = append(names, h.ID)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	known := "there are none"
	if len(names) > 0 {
		known = "there are " + strings.Join(names, ", ")
	}
	next := "add it to models in the host's spec"
	if _, ok := i.View.Catalog.Model(id); !ok {
		next += "; the catalog has no model of that name"
	}
	return advice.New(fmt.Errorf("unknown model %q: neither specs nor records have it (%s)", id, known), next)
}
