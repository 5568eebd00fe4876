package stack

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/providers/service"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// managerVariable chooses who runs services, where that is not to be found out.
const managerVariable = "AISYNC_SERVICE_MANAGER"

// ServiceManager is the init system in use.
type ServiceManager struct {
	By      control.Kind
	Waits   string // why nothing can be started or stopped here; "" where it can
	journal bool
	// Controller is nil where nothing runs, nor can be seen: below another root,
	// and for facts that were recorded elsewhere.
	Controller func(by control.Kind, system bool) control.Controller
}

func (m *Machine) serviceManager() (ServiceManager, error) {
	by, inChroot := control.Detect()
	if m.Env.On("SYSTEMD_OFFLINE") { // as systemctl takes it
		by, inChroot = control.Systemd, true
	}
	k := ServiceManager{By: by, journal: true}
	switch forced := m.Env.Get(managerVariable); forced {
	case "":
	case string(control.Systemd), string(control.Launchd), string(control.Own):
		k.By, inChroot = control.Kind(forced), false
	default:
		return k, &SettingError{managerVariable, termtext.Safe(forced), "systemd, launchd or supervise"}
	}
	switch {
	case m.Places.Root != "":
		k.By, k.Waits = control.Systemd, "it starts when the system below --root is booted, and aisync apply sees to it there"
		return k, nil
	case m.FactsFile != "":
		k.By, k.Waits = control.Systemd, "the facts are recorded ones, so nothing is started or stopped here"
		return k, nil
	case inChroot:
		k.Waits = "this system is not booted (a chroot, or SYSTEMD_OFFLINE): it starts when it is, and aisync apply sees to it there"
		return k, nil
	}
	k.journal = control.Journaled()
	k.Controller = func(by control.Kind, system bool) control.Controller {
		return gated{control.New(by, m.controlOptions(by, system, k.journal)), Gate(m.Places.Hook)}
	}
	return k, nil
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

// serviceProvider starts and stops the services.
func (k ServiceManager) provider(p place.Places) service.Provider {
	return service.Provider{By: k.By, Controllers: k.Controller, State: p.State}
}

// declareServices asks for the services of the host, whose models were chosen
// by r and declared in d.
func (w *View) declareServices(r *pin.Resolver, d adapter.Decls, lacking []reconcile.Unsupported) (service.Declared, error) {
	f, err := w.Facts()
	if err != nil {
		return service.Declared{}, err
	}
	loads := slices.DeleteFunc(r.ServiceLoads(), func(l hosts.Load) bool { return l.Weights == 0 })
	h := w.serviceHost(r, d, &f, lacking)
	h.Config, h.State, h.Ollama = w.Places.ConfigHome.Dir(), w.Places.State, w.Programs().Ollama
	h.Waits, h.Journal, h.User, h.Self = w.Services.Waits, w.Services.journal, w.Places.UserName(w.User), w.self()
	h.Place = string(hosts.Fit(loads, f).Place)
	h.Recorded = func(a reconcile.Address) bool { return len(w.Store.On(a)) > 0 }
	h.Version = func(a reconcile.Address) string {
		for _, x := range d.Declarations {
			if x.Target == a {
				return string(x.Leaves[0].Body.Fingerprint())
			}
		}
		return ""
	}
	h.Memory = func(s spec.Service) int64 { return memoryOf(s, loads, hosts.Fit(loads, f)) }
	return h.Declare(), nil
}

// serviceHost is what decides whether a service can be started here: the
// programs of f, the packages that cannot be installed, the models that r
// chose and d declares.
func (w *View) serviceHost(r *pin.Resolver, d adapter.Decls, f *facts.Facts, lacking []reconcile.Unsupported) service.Host {
	return service.Host{
		Spec: w.Spec.Host, Facts: f, Home: w.Places.Home, By: w.Services.By,
		Lacking: func(a reconcile.Address) bool {
			return slices.ContainsFunc(lacking, func(u reconcile.Unsupported) bool { return u.Address == a })
		},
		Models: func(id string) (service.Model, bool) { return w.servedModel(r, d, id) },
	}
}

// recorded reports whether the host's last apply wanted that of a leaf.
func (w *View) recorded(target reconcile.Address, key reconcile.LeafKey, want reconcile.Fingerprint) bool {
	for _, r := range w.Store.On(target) {
		if l := r.Leaf(key); r.Owner == reconcile.HostOwner && l != nil && l.Wanted() == want {
			return true
		}
	}
	return false
}

// self is this program, as a unit starts it: where it is installed, so that the
// binary that happens to be run changes no unit.
func (w *View) self() string {
	installed := "/usr/bin/aisync"
	if w.Places.Root == "" && w.FactsFile == "" {
		if at := hosts.FindProgram("", filepath.SplitList(w.Env.Get("PATH")), "aisync"); at != "" {
			return at
		}
		if at, err := os.Executable(); err == nil {
			return at
		}
	}
	return installed
}

// servedModel is a model as r chose it.
func (w *View) servedModel(r *pin.Resolver, d adapter.Decls, id string) (service.Model, bool) {
	x, ok := r.Chosen(id)
	if !ok || len(x.Quant.Files) == 0 {
		return service.Model{}, false
	}
	first := x.Quant.Files[0]
	m := service.Model{File: store.Friendly(w.ModelStore(), id, first.Repo, first.Path), Context: x.Model.Context}
	for _, f := range x.Quant.Files {
		m.SHA256 = append(m.SHA256, f.SHA256)
	}
	ollama := w.Programs().Ollama
	for _, x := range d.Declarations {
		if isBelow(x.Target.Path(w.Places.Home), ollama) && slices.ContainsFunc(x.DependsOn, func(a reconcile.Address) bool {
			return a == reconcile.Address("model:"+id) || isBelow(a.Path(w.Places.Home), ollama)
		}) {
			m.Views = append(m.Views, x.Target)
		}
	}
	return m, true
}

func isBelow(p, dir fsys.LogicalPath) bool {
	return dir != "" && len(p) > len(dir) && p[:len(dir)+1] == dir+"/"
}

// memoryOf is what serving s takes, 0 where that is a guess.
func memoryOf(s spec.Service, loads []hosts.Load, v hosts.Verdict) int64 {
	var sum int64
	for i, n := range v.Loads {
		if loads[i].Name != s.Name && loads[i].Name != s.Name+"/"+n.Model {
			continue
		}
		if n.Estimated {
			return 0
		}
		sum += n.Total
	}
	return sum
}

// servicePrograms are the packages that the services ask for.
func (w *View) servicePrograms() ([]packages.Program, error) {
	f, err := w.Facts()
	if err != nil {
		return nil, err
	}
	return service.Programs(w.Spec.Host, &f)
}

// ServiceStates asks how services are, by name. External ones and those of
// which nobody can tell are left out; why stands in the error.
func (w *View) ServiceStates(ctx context.Context, list []spec.Service) (map[string]control.State, error) {
	states := map[string]control.State{}
	if w.Services.Controller == nil {
		return states, fmt.Errorf("%s", cmp.Or(w.Services.Waits, "nothing runs here"))
	}
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
		got, err := w.Services.Controller(w.Services.By, scope == "system").States(ctx, names)
		if err != nil {
			wrong = err
		}
		for _, st := range got {
			states[st.Name] = st
		}
	}
	return states, wrong
}

// ForgetUnits has service managers forget the units of services that p took
// away. One that does not answer forgets them when it next starts.
func (w *View) ForgetUnits(ctx context.Context, p *reconcile.Plan) {
	scopes := map[string]bool{}
	for _, c := range p.Changes {
		if a := c.Target.Resource.Address; a.Kind() == "service" && c.Action == reconcile.Delete {
			scope, _ := service.NameOf(a)
			scopes[scope] = true
		}
	}
	for scope := range scopes {
		if w.Services.Controller != nil {
			_ = w.Services.Controller(w.Services.By, scope == "system").Reload(ctx)
		}
	}
}
