package stack

import (
	"context"
	"maps"
	"path/filepath"
	"sync"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/hosts/graphics"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// Machine is a machine and a project on it before anything is loaded: where
// they lie, and what the invocation says about them.
type Machine struct {
	Places  place.Places
	Env     environ.Env
	Cwd     string // the working folder, "" where it is unknown
	Version string // of this program

	Host        string // the host of the specs that was named
	FactsFile   string // recorded facts that stand for the machine's, "" to look
	User        string // the user that was named
	Offline     bool
	Locked      bool                             // what the lock does not pin is refused
	Notify      func(format string, args ...any) // tells the person a line
	Log         func(message string, args ...any)
	Texts       map[string][]byte                           // spec files as they would be, by path; see schema.Options.Texts
	Instead     map[string]string                           // folders of bundle sources, by path, and those to read in their place
	RehearseCUE func(context.Context, schema.Options) error // see schema.Options.Rehearse
	Abort       func(error)                                 // see schema.Options.Abort

	BasesNow map[string]string // folders of bases, by address, instead of what is pinned
	bases    *pin.Resolver     // fetches and pins bases; nil: only what is here is found

	// Facts looks at the machine once, when first asked.
	Facts func() (facts.Facts, error)
}

// Detect returns the facts of the machine, or the recorded ones that stand for
// them.
func (m *Machine) Detect() (facts.Facts, error) {
	if m.FactsFile != "" {
		return hosts.ReadFacts(m.FactsFile)
	}
	o := hosts.Options{Root: m.Places.Root, Home: string(m.Places.Home), Path: filepath.SplitList(m.Env.Get("PATH"))}
	if o.Run = graphics.Programs(o.Path, m.Env.List()); o.Root == "" && !m.Places.Chown {
		o.Cache = m.Places.Physical(m.Places.Cache.Join("graphics.json"))
	}
	return hosts.Detect(context.Background(), o), nil
}

// LoadSpec reads the specs and chooses the host. It sets in o where the specs lie.
func (m *Machine) LoadSpec(ctx context.Context, o schema.Options) (*spec.Spec, error) {
	if o.Facts == nil {
		o.Facts = m.Facts
	}
	if o.Texts == nil {
		o.Texts = m.Texts
	}
	if m.Host == "" {
		prefetchFacts(o.Facts) // most likely needed to choose the host
	}
	o.HostDir, o.HostName, o.ProjectDir, o.From, o.Cwd = m.Places.Config, m.Host, m.Places.Project, m.Places.From, m.Cwd
	o.Owned = func(project, file string) error {
		if m.Places.Owned == nil {
			return nil
		}
		return m.Places.Owned(project, file)
	}
	return schema.Load(ctx, m.withSourceRuntimes(o))
}

// withSourceRuntimes adds to o how runtimes of bundle sources are found, and the
// hooks of the evaluation of specs.
func (m *Machine) withSourceRuntimes(o schema.Options) schema.Options {
	o.Lent, o.Base, o.Rehearse, o.Abort = m.sourceRuntimes(), m.base, m.RehearseCUE, m.Abort
	return o
}

// LoadHost reads the host's specs for the host called name.
func (m *Machine) LoadHost(ctx context.Context, name string) (*spec.Spec, error) {
	return schema.Load(ctx, m.withSourceRuntimes(schema.Options{HostDir: m.Places.Config, HostName: name, Scope: schema.HostOnly}))
}

// prefetchFacts calls look in the background, so that the facts are ready when
// they are needed. look must remember its result: its later caller gets the
// facts, the error or the panic.
func prefetchFacts(look func() (facts.Facts, error)) {
	go func() {
		defer func() { _ = recover() }()
		_, _ = look()
	}()
}

// WithPrograms returns look with the programs of runtimes added to the facts: of
// those that an own catalog or a bundle source describes. Recorded facts stay as
// they are.
func (m *Machine) WithPrograms(look func() (facts.Facts, error), runtimes []spec.Runtime) func() (facts.Facts, error) {
	if m.FactsFile != "" || len(runtimes) == 0 {
		return look
	}
	return sync.OnceValues(func() (facts.Facts, error) {
		f, err := look()
		f.Programs = maps.Clone(f.Programs)
		for _, r := range runtimes {
			if at := hosts.FindProgram(m.Places.Root, filepath.SplitList(m.Env.Get("PATH")), r.Command); at != "" {
				f.Programs[r.Command] = at
			}
		}
		return f, err
	})
}
