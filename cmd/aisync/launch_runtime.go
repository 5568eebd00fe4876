package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/start"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// launcher is one launch: where, and with what.
type launcher struct {
	root    string
	places  place.Places
	catalog catalog.Index
	word    string // as the runtime was named
	choice  launch.Choice
	program launch.Program
	project *spec.Project // nil: it has no spec
	host    *spec.Host    // nil: none describes this machine
}

// specFor loads the host's spec, and that of the project in root if it has one;
// a machine that no host describes is none of its concern.
func (a *app) specFor(ctx context.Context, root string) (*spec.Spec, catalog.Index, place.Places, error) {
	p, err := a.placesFor(root)
	if err != nil {
		return nil, catalog.Index{}, p, err
	}
	s, err := a.machine(p).LoadSpec(ctx, schema.Options{NoHost: func(schema.Problem) {}})
	if err != nil {
		return nil, catalog.Index{}, p, err
	}
	return s, catalog.With(s.Catalog), p, nil
}

// launcher chooses the runtime for an agent in root, by the word of somebody or
// by what the project and the host say. A spec that is wrong is in nobody's way
// who names a runtime of the catalog.
func (a *app) launcher(ctx context.Context, root, word string) (*launcher, error) {
	s, index, p, err := a.specFor(ctx, root)
	if err != nil {
		own := catalog.With(spec.Catalog{})
		if rt, ok := own.Find(word); !ok || rt.Local {
			return nil, err
		}
		a.say("aisync: the specs are not used, because they cannot be read:")
		a.report(err)
		s, index = &spec.Spec{}, own
	} else {
		a.remember(p, s)
	}
	l := &launcher{root: root, places: p, catalog: index, word: word, project: s.Project, host: s.Host}
	where := "--runtime"
	if word == "" {
		if l.word, where, err = defaultRuntime(root, p, s); err != nil {
			return nil, err
		}
	}
	if l.choice, err = launch.Resolve(l.word, index, s.Host); err != nil {
		if where != "--runtime" {
			err = fmt.Errorf("%s: %w", where, err)
		}
		return nil, advice.Command(err, "ai --list-runtimes")
	}
	l.program, err = a.programs(p).Program(root, l.choice, s.Host, index)
	return l, err
}

// defaultRuntime is what is started where no person names a runtime, and what
// says so.
func defaultRuntime(root string, p place.Places, s *spec.Spec) (word, where string, err error) {
	return start.Default(s, filepath.Join(root, ".ai", "runtime.toml"), p.Physical(p.Home.Join(".config/rulesets/runtime.toml")), launch.Default)
}

// machine is what starting a program needs to know of this machine.
func (a *app) programs(p place.Places) *start.Machine {
	m := &start.Machine{
		Look: func(program string) (string, error) { return launch.LookPath(program, a.env.Get("PATH")) },
		Exists: func(path string) bool {
			_, err := os.Stat(path)
			return err == nil
		},
		Expand: func(path string) string { return p.Physical(p.Home.Join(strings.TrimPrefix(path, "~/"))) },
		Absent: func(h *spec.Host, s spec.Service) string { return a.unserved(p, h, s) },
	}
	if a.g.offline {
		m.Offline = reconcile.ErrOffline
	}
	return m
}

// installed reports whether the program can be started.
func (a *app) installed(rt spec.Runtime) error {
	hint, err := a.programs(place.Places{}).Installed(rt)
	if hint == "" {
		return err
	}
	return advice.New(err, hint)
}

// listRuntimes lists what --runtime may name: runtimes, then services and models.
func (a *app) listRuntimes(ctx context.Context, words []string) error {
	root := ""
	if len(words) > 0 {
		var err error
		if root, err = a.launchRoot(ctx, words); err != nil {
			return err
		}
	}
	s, index, p, err := a.specFor(ctx, root)
	if err != nil {
		return err
	}
	standard, _, err := defaultRuntime(root, p, s)
	if err != nil {
		return err
	}
	rows := a.programs(p).Rows(s.Host, index, standard)
	if a.g.json {
		return a.writeJSON(struct {
			FormatVersion string      `json:"format_version"`
			Runtimes      []start.Row `json:"runtimes"`
		}{viewVersion, rows})
	}
	for _, r := range rows {
		notes := ""
		if !r.Installed {
			notes = ", not installed"
		}
		if r.Default {
			notes += ", the default"
		}
		a.printf("%s%s%s\n", pad(r.Name, 24), r.Is, notes)
	}
	return nil
}
