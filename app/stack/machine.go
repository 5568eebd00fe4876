package stack

import (
	"context"
	"maps"
	"path/filepath"
	"sync"

	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
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
	RehearseCUE func(context.Context, schema.Options) error // see schema.Options.Rehearse
	Abort       func(error)                                 // see schema.Options.Abort

	// Facts looks at the machine once, when first asked.
	Facts func() (facts.Facts, error)
}

func (m *Machine) Detect() (facts.Facts, error) {
	if m.FactsFile != "" {
		return hosts.ReadFacts(m.FactsFile)
	}
	return hosts.Detect(context.Background(), hosts.Options{
		Root: m.Places.Root, Home: string(m.Places.Home), Path: filepath.SplitList(m.Env.Get("PATH")),
	}), nil
}

// LoadSpec reads the specs and chooses the host. Of o it sets where they lie.
func (m *Machine) LoadSpec(ctx context.Context, o schema.Options) (*spec.Spec, error) {
	if o.Facts == nil {
		o.Facts = m.Facts
	}
	if m.Host == "" {
		ahead(o.Facts) // most likely needed to choose the host
	}
	o.HostDir, o.HostName, o.ProjectDir, o.Cwd = m.Places.Config, m.Host, m.Places.Project, m.Cwd
	return schema.Load(ctx, m.strangers(o))
}

// strangers adds to o what specs of others need.
func (m *Machine) strangers(o schema.Options) schema.Options {
	o.Lent, o.Rehearse, o.Abort = m.lender(), m.RehearseCUE, m.Abort
	return o
}

// LoadHost reads the host's specs for the host called name.
func (m *Machine) LoadHost(ctx context.Context, name string) (*spec.Spec, error) {
	return schema.Load(ctx, m.strangers(schema.Options{HostDir: m.Places.Config, HostName: name, Scope: schema.HostOnly}))
}

// ahead begins to look at the machine before the answer is needed. The caller
// that asks gets what was found, the error, or the panic.
func ahead(look func() (facts.Facts, error)) {
	go func() {
		defer func() { _ = recover() }()
		_, _ = look()
	}()
}

// WithPrograms adds to what look finds the programs of these runtimes, which a
// person's own catalog or a source describes. Recorded facts stay as they are.
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
