package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/hosts/facts"
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
	return l, a.equip(l, s.Host)
}

// defaultRuntime is what is started where nobody names a runtime, and who says so.
func defaultRuntime(root string, p place.Places, s *spec.Spec) (word, where string, err error) {
	for _, file := range []string{filepath.Join(root, ".ai", "runtime.toml"), p.Physical(p.Home.Join(".config/rulesets/runtime.toml"))} {
		if word, err = launch.Default(file); word != "" || err != nil {
			return word, file, err
		}
		switch { // the project's word, then the host's, then the old file
		case strings.HasPrefix(file, root+"/.ai/") && s.Project != nil && s.Project.Default != "":
			return s.Project.Default, s.Project.File, nil
		case s.Host != nil && !s.Host.Builtin && s.Host.Default != "":
			return s.Host.Default, "host " + s.Host.Name, nil
		}
	}
	if s.Host != nil && s.Host.Default != "" {
		return s.Host.Default, "the programs that are installed", nil
	}
	return "claude", "the default", nil
}

// equip finds out how the program of the chosen runtime is started on this host.
func (a *app) equip(l *launcher, h *spec.Host) error {
	if h == nil {
		h = &spec.Host{}
	}
	programs := map[string]string{}
	for _, rt := range l.catalog.Runtimes() {
		if at, err := launch.LookPath(rt.Command, a.env.Get("PATH")); rt.Command != "" && err == nil {
			programs[rt.Command] = at
		}
	}
	host := adapter.Host{Spec: h, Runtimes: l.catalog.Runtimes(), Models: l.catalog.Models(), Facts: &facts.Facts{Programs: programs}, Absent: a.unserved(l.places, h)}
	how, err := host.Launch(l.choice.Runtime.ID, l.choice.Service, l.choice.Model)
	if err != nil {
		return err
	}
	if how.Config != "" {
		config := l.places.Physical(l.places.Home.Join(strings.TrimPrefix(how.Config, "~/")))
		if _, err := os.Stat(config); err == nil {
			how.Point(config)
		}
	}
	l.program = launch.Program{Runtime: how.Driver, Args: how.Args, Environment: how.Environment, Model: how.Model}
	if how.Driver.ID == "aider" {
		if _, err := os.Stat(filepath.Join(l.root, "AGENTS.md")); err == nil {
			l.program.Args = append(l.program.Args, "--read", "AGENTS.md") // it reads none by itself
		}
	}
	rt := l.choice.Runtime
	if a.g.offline {
		if rt.Network && how.Service.Name == "" {
			return fmt.Errorf("%s needs a network: %w", rt.ID, reconcile.ErrOffline)
		}
		maps.Copy(l.program.Environment, rt.Launch.Offline)
	}
	return nil
}

// installed reports whether the program can be started.
func (a *app) installed(rt spec.Runtime) error {
	if _, err := launch.LookPath(rt.Command, a.env.Get("PATH")); !errors.Is(err, launch.ErrMissing) {
		return err
	}
	how := "name it in the host's spec: runtimes: " + rt.ID + ": {install: {via: …}}, and run: aisync apply"
	if name := rt.Packages["npm"]; name != "" {
		how = "npm install -g " + name + ", or " + how
	}
	return advice.New(fmt.Errorf("%s is %w: there is no program %s in PATH", rt.ID, launch.ErrMissing, rt.Command), how)
}

// runtimeRow is one line of --list-runtimes.
type runtimeRow struct {
	Name      string `json:"name"`
	Is        string `json:"is"` // what it is, in words
	Installed bool   `json:"installed"`
	Default   bool   `json:"default"`
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
	rows := []runtimeRow{}
	for _, rt := range index.Runtimes() {
		row := runtimeRow{Name: rt.ID, Is: rt.DisplayName, Default: rt.ID == standard}
		_, missing := launch.LookPath(rt.Command, a.env.Get("PATH"))
		row.Installed = rt.Command != "" && missing == nil
		if rt.Local {
			row.Installed = a.equip(&launcher{root: root, places: p, catalog: index, choice: launch.Choice{Runtime: rt}}, s.Host) == nil
		}
		rows = append(rows, row)
	}
	for _, m := range launch.Models(s.Host) {
		rows = append(rows, runtimeRow{Name: m.Name, Is: m.Is, Installed: true, Default: m.Name == standard})
	}
	if a.g.json {
		return a.writeJSON(struct {
			FormatVersion string       `json:"format_version"`
			Runtimes      []runtimeRow `json:"runtimes"`
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
