package start

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"aisync.dev/aisync/app/gather"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// gather reads the folder, and names the programs in use.
func (im *importing) gather(ctx context.Context) (err error) {
	for _, id := range im.options.Runtimes {
		if _, ok := catalog.With(spec.Catalog{}).Runtime(id); !ok {
			return nearest.Unknown("runtime", id, catalog.RuntimeIDs(catalog.Runtimes()))
		}
	}
	asked := len(im.options.Runtimes) > 0
	im.options.Ours = im.recorded(ctx)
	im.options.Runtimes = append(im.options.Runtimes, im.ofTheSpec(ctx)...)
	if im.found, err = gather.From(im.dir, im.options); err != nil || asked {
		return err
	}
	shared := "AGENTS.md"
	switch unclaimed := len(im.found.Unclaimed) > 0; {
	case unclaimed:
		shared = im.found.Unclaimed[0]
	case im.options.Home || len(im.found.Files)+len(im.found.Servers) == 0:
		return nil
	}
	if len(im.runtimes()) > 0 && !im.options.Home {
		return nil
	}
	f, err := im.app.Machine(im.places).Facts()
	if err != nil {
		return err
	}
	var installed, readers []string
	for _, id := range gather.Readers(shared) {
		readers = append(readers, id)
		if rt, _ := catalog.With(spec.Catalog{}).Runtime(id); f.Programs[rt.Command] != "" && !rt.Experimental {
			installed = append(installed, id)
		}
	}
	switch {
	case len(installed) > 0:
		im.options.Runtimes = append(im.options.Runtimes, installed...)
		im.found, err = gather.From(im.dir, im.options)
		return err
	case im.options.Home:
		return nil
	}
	err = fmt.Errorf("nothing in %s shows which program is in use", im.dir)
	if len(im.found.Unclaimed) > 0 {
		err = fmt.Errorf("%s can be for %s, and nothing shows which of them is in use", strings.Join(im.found.Unclaimed, " and "), strings.Join(readers, ", "))
	}
	return advice.New(err, "name yours, such as: aisync import --runtime "+readers[0])
}

// ofTheSpec returns the runtimes that the spec has already.
func (im *importing) ofTheSpec(ctx context.Context) (ids []string) {
	s, err := im.app.Machine(im.places).LoadSpec(ctx, schema.Options{})
	if err != nil {
		return nil // specTexts reports the error
	}
	if im.options.Home && s.Host != nil && !s.Host.Builtin {
		for _, u := range s.Host.Runtimes {
			ids = append(ids, u.ID)
		}
	}
	if !im.options.Home && s.Project != nil {
		for _, r := range s.Project.Runtimes {
			ids = append(ids, r.Value)
		}
	}
	return ids
}

// runtimes are those that the spec gets.
func (im *importing) runtimes() []string {
	ids := slices.Concat(im.found.Runtimes, im.options.Runtimes)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// recorded reports what aisync itself made of the files that are read; nil where
// no spec is there.
func (im *importing) recorded(ctx context.Context) func(name, pointer string) bool {
	owner := reconcile.HostOwner
	if !im.options.Home {
		if _, err := os.Stat(im.specFile()); err != nil {
			return nil
		}
		owner = reconcile.ProjectOwner(im.dir)
	}
	v, err := stack.LookAtRecords(ctx, im.app.Machine(im.places), im.where())
	if err != nil {
		return nil
	}
	made := map[string][]string{}
	for _, r := range v.Store.Records(owner) {
		if r.Address.Kind() != "file" && r.Address.Kind() != "link" {
			continue
		}
		name := strings.TrimPrefix(r.Address.Name(), "~/")
		for _, l := range r.Leaves {
			if l.Provenance == reconcile.Created || l.Provenance == reconcile.Replaced {
				made[name] = append(made[name], string(l.Key))
			}
		}
	}
	return func(name, pointer string) bool {
		return slices.ContainsFunc(made[name], func(key string) bool {
			return key == pointer || key != "" && strings.HasPrefix(pointer, key+"/")
		})
	}
}
