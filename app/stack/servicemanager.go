package stack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack/gate"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/service"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// managerVariable names the service manager, instead of the detected one.
const managerVariable = "AISYNC_SERVICE_MANAGER"

// ServiceManager is the init system in use.
type ServiceManager struct {
	By      control.Kind
	Waits   string // why nothing can be started or stopped here; "" where it can
	journal bool
	open    func(by control.Kind, system bool) control.Controller // where Waits is ""
}

// Controller returns what controls the system's services, or the user's. Where
// nothing can be started or stopped, the error says why.
func (s ServiceManager) Controller(system bool) (control.Controller, error) {
	if s.Waits != "" {
		return nil, errors.New(s.Waits)
	}
	return s.open(s.By, system), nil
}

// serviceManager returns the init system of m, or the one that the environment
// names. It fails for a name that is unknown.
func (m *Machine) serviceManager() (ServiceManager, error) {
	by, inChroot := control.Detect()
	if m.Env.On("SYSTEMD_OFFLINE") { // as systemctl takes it
		by, inChroot = control.Systemd, true
	}
	s := ServiceManager{By: by, journal: true}
	switch forced := m.Env.Get(managerVariable); forced {
	case "":
	case string(control.Systemd), string(control.Launchd), string(control.Own):
		s.By, inChroot = control.Kind(forced), false
	default:
		return s, &SettingError{managerVariable, termtext.Safe(forced), "systemd, launchd or supervise"}
	}
	switch {
	case m.Places.Root != "":
		s.By, s.Waits = control.Systemd, "it starts when the system below --root is booted, and aisync apply sees to it there"
		return s, nil
	case m.FactsFile != "":
		s.By, s.Waits = control.Systemd, "the facts are recorded ones, so nothing is started or stopped here"
		return s, nil
	case inChroot:
		s.Waits = "this system is not booted (a chroot, or SYSTEMD_OFFLINE): it starts when it is, and aisync apply sees to it there"
		return s, nil
	}
	s.journal = control.Journaled()
	s.open = func(by control.Kind, system bool) control.Controller {
		return gate.Controlled(control.New(by, m.controlOptions(by, system, s.journal)), gate.Gate(m.Places.Hook))
	}
	return s, nil
}

func (m *Machine) controlOptions(by control.Kind, system, journal bool) control.Options {
	p := m.Places
	o := control.Options{
		System: system, UID: os.Getuid(), RuntimeDir: m.Env.Get("XDG_RUNTIME_DIR"), Journal: journal, Env: m.Env.List(),
		Units: p.Physical(service.UnitFolder(by, p.Home, p.ConfigHome.Dir(), system)), Logs: p.Physical(service.LogFolder(p.State)),
	}
	if p.Chown {
		o.UID, o.GID, o.As, o.RuntimeDir = p.UID, p.GID, true, ""
	}
	if own := "/run/user/" + strconv.Itoa(o.UID); o.RuntimeDir == "" {
		if _, err := os.Stat(own); err == nil {
			o.RuntimeDir = own
		}
	}
	if self, err := os.Executable(); err == nil {
		o.Self = []string{self}
	}
	return o
}

// provider returns the provider of services, which starts and stops them by s.
func (s ServiceManager) provider(p place.Places) service.Provider {
	return service.Provider{By: s.By, Controllers: s.open, State: p.State}
}

// declareServices declares the services of the host, whose models r chose and d
// declares.
func (v *View) declareServices(r *pin.Resolver, d adapter.Decls, lacking []reconcile.Unsupported) (service.Declared, error) {
	f, err := v.Facts()
	if err != nil {
		return service.Declared{}, err
	}
	loads := slices.DeleteFunc(r.ServiceLoads(), func(l hosts.Load) bool { return l.Weights == 0 })
	for i := range loads {
		if x, ok := r.Chosen(loads[i].Model); ok && x.Here {
			loads[i].Shape = nil // a unit is the same before its model is fetched and after
		}
		if x, ok := r.Chosen(v.Spec.Host.Model(loads[i].Model).Projector); ok && x.Here {
			loads[i].Projector = x.Quant.Size()
		}
	}
	h := v.serviceHost(r, d, &f, lacking)
	h.Config, h.Ollama = v.Places.ConfigHome.Dir(), v.Programs().Ollama
	h.Waits, h.Journal, h.User, h.Self = v.Services.Waits, v.Services.journal, v.Places.UserName(v.User), v.ownProgram()
	fit := hosts.Fit(loads, f)
	h.Offload = func(s spec.Service, id string) service.Offload {
		n := fit.Of(s.Name, id)
		return service.Offload{Backend: n.Backend, GPULayers: n.GPULayers, CPUExperts: n.CPUExperts, Split: fit.Split, Prompts: n.Prompts, Checkpoints: n.Checkpoints}
	}
	h.Recorded = func(a reconcile.Address) bool { return len(v.Store.On(a)) > 0 }
	h.Version = func(a reconcile.Address) string {
		for _, x := range d.Declarations {
			if x.Target == a {
				return string(x.Leaves[0].Body.Fingerprint())
			}
		}
		return ""
	}
	h.Memory = func(s spec.Service) int64 { return fit.MemoryOf(s.Name) }
	return h.Declare(), nil
}

// serviceHost returns what decides whether a service can be started here: the
// programs of f, the packages that cannot be installed, the models that r chose
// and d declares.
func (v *View) serviceHost(r *pin.Resolver, d adapter.Decls, f *facts.Facts, lacking []reconcile.Unsupported) service.Host {
	return service.Host{
		Spec: v.Spec.Host, Facts: f, Home: v.Places.Home, State: v.Places.State, By: v.Services.By, Key: v.keyInput,
		Lacking: func(a reconcile.Address) bool {
			return slices.ContainsFunc(lacking, func(u reconcile.Unsupported) bool { return u.Address == a })
		},
		Models: func(id string) (service.Model, bool) { return v.servedModel(r, d, id) },
	}
}

// madeForHost reports whether an apply of the host has made something at path, or
// below it.
func (v *View) madeForHost(path string) bool {
	return slices.ContainsFunc(v.Store.Records(reconcile.HostOwner), func(r reconcile.Record) bool {
		if !r.Address.IsPath() {
			return false
		}
		at := r.Address.Name()
		return at == path || strings.HasPrefix(at, path+"/")
	})
}

// wantedByHost reports whether the last apply of the host wanted want of a leaf.
func (v *View) wantedByHost(target reconcile.Address, key reconcile.LeafKey, want reconcile.Fingerprint) bool {
	for _, r := range v.Store.On(target) {
		if l := r.Leaf(key); r.Owner == reconcile.HostOwner && l != nil && l.Wanted() == want {
			return true
		}
	}
	return false
}

// ownProgram returns the path of aisync for units: where it is installed, so that
// a run of another binary changes no unit.
func (v *View) ownProgram() string {
	installed := "/usr/bin/aisync"
	if v.Places.Root == "" && v.FactsFile == "" {
		if at := hosts.FindProgram("", filepath.SplitList(v.Env.Get("PATH")), "aisync"); at != "" {
			return at
		}
		if at, err := os.Executable(); err == nil {
			return at
		}
	}
	return installed
}

// servedModel returns the model id as r chose it. ok is false where it has no file.
func (v *View) servedModel(r *pin.Resolver, d adapter.Decls, id string) (m service.Model, ok bool) {
	chosen, ok := r.Chosen(id)
	if !ok || len(chosen.Quant.Files) == 0 {
		return service.Model{}, false
	}
	first := chosen.Quant.Files[0]
	m = service.Model{File: store.Friendly(v.ModelStore(), id, first.Repo, first.Path), Context: chosen.Model.Context, Unfit: r.Unfit(chosen.Use)}
	for _, f := range chosen.Quant.Files {
		m.SHA256 = append(m.SHA256, f.SHA256)
	}
	ollama := v.Programs().Ollama
	for _, x := range d.Declarations {
		if isBelow(x.Target.Path(v.Places.Home), ollama) && slices.ContainsFunc(x.DependsOn, func(a reconcile.Address) bool {
			return a == reconcile.Address("model:"+id) || isBelow(a.Path(v.Places.Home), ollama)
		}) {
			m.Views = append(m.Views, x.Target)
		}
	}
	return m, true
}

func isBelow(p, dir fsys.LogicalPath) bool {
	return dir != "" && len(p) > len(dir) && p[:len(dir)+1] == dir+"/"
}

// ServiceStates returns the states of services by name. It leaves out external
// services and those whose manager does not answer; the error says why.
func (v *View) ServiceStates(ctx context.Context, list []spec.Service) (map[string]control.State, error) {
	states := map[string]control.State{}
	var wrong error
	for _, scope := range []string{"user", "system"} {
		var names []string
		for _, s := range list {
			if s.Kind != "external" && s.Scope == scope {
				names = append(names, s.Name)
			}
		}
		if len(names) == 0 {
			continue
		}
		c, err := v.Services.Controller(scope == "system")
		if err != nil {
			return states, err
		}
		got, err := c.States(ctx, names)
		if err != nil {
			wrong = err
		}
		for _, st := range got {
			states[st.Name] = st
		}
	}
	return states, wrong
}

// ForgetUnits has service managers forget the units of services that p removed. A
// manager that does not answer forgets them when it next starts.
func (v *View) ForgetUnits(ctx context.Context, p *reconcile.Plan) {
	scopes := map[string]bool{}
	for _, c := range p.Changes {
		if a := c.Target.Resource.Address; a.Kind() == "service" && c.Action == reconcile.Delete {
			scope, _ := service.NameOf(a)
			scopes[scope] = true
		}
	}
	for scope := range scopes {
		if c, err := v.Services.Controller(scope == "system"); err == nil {
			_ = c.Reload(ctx)
		}
	}
}
