package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/trust"
	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/start"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	sessioncmd "aisync.dev/aisync/cmd/aisync/internal/command/session"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// Launcher is one launch: the project, the chosen runtime and its program.
type Launcher struct {
	root    string
	places  place.Places
	catalog catalog.Index
	word    string // as the runtime was named
	Choice  launch.Choice
	Program launch.Program
	project *spec.Project // nil without a spec
	host    *spec.Host    // nil if no host describes this machine
}

// SpecFor loads the host's spec, if a host matches this machine, and the spec of the
// project in root, if it has one.
func SpecFor(ctx context.Context, a *cli.App, root string) (*spec.Spec, catalog.Index, place.Places, error) {
	p, err := a.PlacesFor(root)
	if err != nil {
		return nil, catalog.Index{}, p, err
	}
	s, err := a.Machine(p).LoadSpec(ctx, schema.Options{NoHost: func(schema.Problem) {}})
	if err != nil {
		return nil, catalog.Index{}, p, err
	}
	return s, catalog.With(s.Catalog), p, nil
}

// Prepare chooses the runtime for an agent in root: the one called word or, for "",
// the default of the project and the host. For a runtime of the catalog an invalid
// spec is only a warning.
func Prepare(ctx context.Context, a *cli.App, root, word string) (*Launcher, error) {
	s, index, p, err := SpecFor(ctx, a, root)
	if err != nil {
		own := catalog.With(spec.Catalog{})
		if rt, ok := own.Find(word); !ok || rt.Local {
			return nil, err
		}
		a.Say("aisync: continuing without the specs, which cannot be read:")
		a.Report(err)
		s, index = &spec.Spec{}, own
	} else {
		a.Remember(p, s)
	}
	l := &Launcher{root: root, places: p, catalog: index, word: word, project: s.Project, host: s.Host}
	where := "--runtime"
	if word == "" {
		if l.word, where, err = defaultRuntime(root, p, s); err != nil {
			return nil, err
		}
	}
	if l.Choice, err = launch.Resolve(l.word, index, s.Host); err != nil {
		if where != "--runtime" {
			err = fmt.Errorf("%s: %w", where, err)
		}
		return nil, advice.Command(err, "ai --list-runtimes")
	}
	l.Program, err = Programs(a, p).Program(root, l.Choice, s.Host, index)
	l.Program.Hooked = hooked(s.Project, l.Program.Runtime.ID)
	return l, err
}

// use returns what the host's spec says of l's runtime.
func (l *Launcher) use() (use spec.RuntimeUse) {
	if l.host != nil {
		for _, u := range l.host.Runtimes {
			if u.ID == l.Choice.Runtime.ID {
				return u
			}
		}
	}
	return use
}

// sayLoosened tells the person what the host's spec lets l's program do without asking.
func (l *Launcher) sayLoosened(a *cli.App) {
	use := l.use()
	if words := use.Loosening(&l.Program.Runtime); len(words) > 0 {
		a.Say("aisync: %s starts with %s, as %s says: it may do more without asking you", l.Choice.Runtime.ID, termtext.Safe(strings.Join(words, ", ")), use.Pos)
	}
}

// hooked reports whether the project's spec gives a program the hooks of the ledger.
func hooked(p *spec.Project, id string) bool {
	return p != nil && p.Agents.Ledger.On && slices.ContainsFunc(p.Runtimes, func(r spec.Named) bool { return r.Value == id })
}

// defaultRuntime returns the runtime to start without --runtime, and its source.
func defaultRuntime(root string, p place.Places, s *spec.Spec) (word, where string, err error) {
	return start.Default(s, filepath.Join(root, ".ai", "runtime.toml"), p.Physical(p.Home.Join(".config/rulesets/runtime.toml")), launch.Default)
}

// Programs returns what package start needs to know about this machine.
func Programs(a *cli.App, p place.Places) *start.Machine {
	m := &start.Machine{
		Look: func(program string) (string, error) { return launch.LookPath(program, a.Env.Get("PATH")) },
		Exists: func(path string) bool {
			_, err := os.Stat(path)
			return err == nil
		},
		Expand: func(path string) string { return p.Physical(p.Home.Join(strings.TrimPrefix(path, "~/"))) },
		Absent: func(h *spec.Host, s spec.Service) string { return unserved(a, p, h, s) },
		Home:   string(p.Home), State: string(p.State),
		Secret: func(s spec.Secret) (string, error) { return stack.ReadSecret(a.Env.Get, p, s) },
	}
	if a.Flags.Offline {
		m.Offline = reconcile.ErrOffline
	}
	return m
}

// Installed returns an error if the program of rt is not installed.
func Installed(a *cli.App, rt spec.Runtime) error {
	hint, err := Programs(a, place.Places{}).Installed(rt)
	if hint == "" {
		return err
	}
	return advice.New(err, hint)
}

// Distrust returns what a person runs so that l's program trusts the project; "" if
// the program's record says that it does, or the program keeps none.
func (l *Launcher) Distrust() (string, error) {
	reader, err := l.places.Reader("none")
	if err != nil {
		return "", err
	}
	do, _ := trust.Folder(reconcile.ReadEnv{FS: reader, Home: l.places.Home}, l.Program.Runtime, l.root)
	return do, nil
}

// listRuntimes lists the values of --runtime: runtimes, then services and models.
func listRuntimes(ctx context.Context, a *cli.App, words []string) error {
	root := ""
	if len(words) > 0 {
		var err error
		if root, err = launchRoot(ctx, a, words); err != nil {
			return err
		}
	}
	s, index, p, err := SpecFor(ctx, a, root)
	if err != nil {
		return err
	}
	standard, _, err := defaultRuntime(root, p, s)
	if err != nil {
		return err
	}
	rows := Programs(a, p).Rows(s.Host, index, standard)
	if a.Flags.JSON {
		return a.WriteJSON(struct {
			FormatVersion string      `json:"format_version"`
			Runtimes      []start.Row `json:"runtimes"`
		}{cli.ViewVersion, rows})
	}
	for _, r := range rows {
		notes := ""
		if !r.Installed {
			notes = ", not installed"
		}
		if r.Default {
			notes += ", the default"
		}
		a.Printf("%s%s%s\n", sessioncmd.Pad(r.Name, 24), r.Is, notes)
	}
	return nil
}
