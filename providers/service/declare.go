package service

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/link"
	"aisync.dev/aisync/providers/packages"
	"aisync.dev/aisync/providers/service/control"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// Host is what the services of a host depend on.
type Host struct {
	Spec   *spec.Host
	Facts  *facts.Facts
	Home   fsys.LogicalPath
	Config fsys.LogicalPath // XDG_CONFIG_HOME
	State  fsys.LogicalPath // aisync's own
	Ollama fsys.LogicalPath // folder of ollama's models

	By      control.Kind
	Waits   string // why nothing can be started or stopped here; "" if it can
	Journal bool   // systemd keeps the output of servers
	User    string // the user that system services run as; "" is root
	Self    string // path of this program, for a timer

	Key      func(s spec.Service) (input string, err error) // what a change of restarts s; "": it has no key; nil: no server has one
	Models   func(id string) (Model, bool)
	Memory   func(s spec.Service) int64                 // bytes that serving s takes; 0: unknown
	Offload  func(s spec.Service, model string) Offload // where models lie; nil: each server looks for itself
	Recorded func(reconcile.Address) bool
	Lacking  func(reconcile.Address) bool   // packages that cannot be installed here
	Version  func(reconcile.Address) string // wanted version of a package; nil: unknown
}

// Model is a model as chosen for the host.
type Model struct {
	File    fsys.LogicalPath    // the first of its files
	SHA256  []string            // of each file; "" if it is not pinned
	Context int64               // tokens that the model is made for; 0: unknown
	Views   []reconcile.Address // through which ollama sees it
	Unfit   string              // why no llama-server can serve it with what it loads beside it; "": it can, or that is unknown
}

// Declared is what services declare.
type Declared struct {
	Declarations []reconcile.Declaration
	Unsupported  []reconcile.Unsupported
	Notes        []reconcile.Note
}

// Address is that of a service's running state.
func Address(s spec.Service) reconcile.Address {
	return reconcile.Address("service:" + s.Scope + "/" + s.Name)
}

// Programs are the packages that services need.
func Programs(h *spec.Host, f *facts.Facts) ([]packages.Program, error) {
	var out []packages.Program
	var errs []error
	for _, s := range h.Services {
		if s.Install == nil || !Runs(s) {
			continue
		}
		for i, program := range programs[s.Kind] {
			p, ok, err := programOf(program, s, f)
			if i > 0 {
				p.Version, err = "", nil // the first in the spec
			}
			if err == nil && ok {
				out, err = joined(out, p)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: service %q: %w", s.Install.Pos, s.Name, err))
			}
		}
	}
	return out, errors.Join(errs...)
}

// PackageOf is the package of the program of s with the installer via. The error says
// why that installer does not have all programs of s.
func PackageOf(s spec.Service, via string, f *facts.Facts) (name string, _ error) {
	in := *s.Install
	in.Via = via
	s.Install = &in
	for i, program := range programs[s.Kind] {
		p, ok, err := programOf(program, s, f)
		switch {
		case err != nil:
			return "", err
		case i == 0 && !ok:
			return "", fmt.Errorf("no archive of %s is known for %s", program, platform(f))
		case i == 0:
			name = p.Name
		}
	}
	return name, nil
}

// programOf is the package of a program that s needs; ok is false if there is none.
func programOf(program string, s spec.Service, f *facts.Facts) (p packages.Program, ok bool, err error) {
	via := s.Install.Via
	if via == viaRelease {
		return release(program, s, f)
	}
	name := packageOf(program, via, backend(s, f))
	if name == "" {
		return p, false, fmt.Errorf("no package of %s is known for %s; known: %s; or install it by hand (%s)", program, via, strings.Join(vias(program), ", "), byHand[program])
	}
	return packages.Program{Command: program, Via: via, Name: name, Version: s.Install.Version, Pos: s.Install.Pos}, true, nil
}

// joined is list with p. Two services that need one program must want the same one.
func joined(list []packages.Program, p packages.Program) ([]packages.Program, error) {
	for i, q := range list {
		switch {
		case q.Via != p.Via || q.Name != p.Name:
		case q.Archive != p.Archive || q.Version != p.Version && q.Version != "" && p.Version != "":
			return list, fmt.Errorf("it wants another %s than %s does, but only one per machine is supported", p.Name, q.Pos)
		default:
			if q.Version == "" {
				list[i] = p
			}
			return list, nil
		}
	}
	return append(list, p), nil
}

// Declare returns units, configurations and the running state of all enabled
// services.
func (h Host) Declare() Declared {
	var d Declared
	for _, s := range h.Spec.Services {
		if Runs(s) {
			h.one(&d, s)
		}
	}
	if n := h.Spec.Nightly; n != nil {
		h.nightly(&d, *n)
	}
	if c := h.Spec.Converge; c != nil {
		h.converge(&d, *c)
	}
	return d
}

// wants are the declarations of one service.
type wants struct {
	*Declared
	s     spec.Service
	after []reconcile.Address // what the running state waits for
}

func (w *wants) declare(a reconcile.Address, body reconcile.Body, after ...reconcile.Address) {
	w.Declarations = append(w.Declarations, reconcile.Declaration{
		Target: a, Owner: reconcile.HostOwner, DependsOn: after,
		Leaves: []reconcile.Leaf{{Body: body, Origin: origin(w.s)}},
	})
}

func (w *wants) cannot(a reconcile.Address, format string, args ...any) {
	w.Unsupported = append(w.Unsupported, reconcile.Unsupported{Address: a, Reason: fmt.Sprintf(format, args...), Origin: origin(w.s)})
}

func origin(s spec.Service) []reconcile.Position {
	return []reconcile.Position{reconcile.Position(s.Pos)}
}

// files are a service's definition, the link that enables it, and its
// configuration.
type files struct {
	unit, wanted, config fsys.LogicalPath // wanted is "" if the unit alone enables it
	target               string           // of wanted
}

func (h Host) files(s spec.Service) files {
	own := h.Home.Join(".local/share/aisync/services")
	config := s.Name + ".yaml"
	if s.Routes() {
		config = s.Name + ".ini"
	}
	f := files{config: own.Join(config)}
	name := control.UnitName(s.Name)
	system := s.Scope == "system"
	switch {
	case h.By == control.Own:
		f.unit = own.Join(s.Name + ".json")
		return f
	case h.By == control.Launchd && system:
		f.unit = fsys.LogicalPath("/Library/LaunchDaemons").Join(control.LabelOf(s.Name) + ".plist")
		return f
	case h.By == control.Launchd:
		f.unit = h.Home.Join("Library/LaunchAgents", control.LabelOf(s.Name)+".plist")
		return f
	}
	dir := UnitFolder(h.By, h.Home, h.Config, system)
	f.unit = dir.Join(name)
	f.wanted, f.target = dir.Join(unit{system: system}.target()+".wants", name), "../"+name
	if system {
		f.config = fsys.LogicalPath("/etc/aisync/services").Join(config)
	}
	return f
}

// Definition is the path of s's definition.
func Definition(by control.Kind, home, config fsys.LogicalPath, s spec.Service) fsys.LogicalPath {
	return Host{By: by, Home: home, Config: config}.files(s).unit
}

// UnitFolder is the folder of service definitions.
func UnitFolder(by control.Kind, home, config fsys.LogicalPath, system bool) fsys.LogicalPath {
	switch {
	case by == control.Own:
		return home.Join(".local/share/aisync/services")
	case by == control.Launchd && system:
		return "/Library/LaunchDaemons"
	case by == control.Launchd:
		return home.Join("Library/LaunchAgents")
	case system:
		return "/etc/systemd/system"
	}
	return config.Join("systemd/user")
}

// at is the address of a host path.
func (h Host) at(kind string, p fsys.LogicalPath) reconcile.Address {
	if rest, ok := strings.CutPrefix(string(p), string(h.Home)+"/"); ok && h.Home != "" {
		return reconcile.Address(kind + ":~/" + rest)
	}
	return reconcile.Address(kind + ":" + string(p))
}

func (h Host) one(d *Declared, s spec.Service) {
	w := &wants{Declared: d, s: s}
	f := h.files(s)
	if why, fix := h.missing(s); why != "" {
		// the definition of a service made earlier stays as it is
		why += fix
		w.cannot(Address(s), "%s", why)
		for _, a := range []reconcile.Address{h.at("file", f.unit), h.at("link", f.wanted), h.at("file", f.config)} {
			if h.Recorded != nil && h.Recorded(a) {
				w.cannot(a, "unchanged: %s", why)
			}
		}
		return
	}
	if open := h.open(s); s.Listen == "lan" && open != "" {
		w.Notes = append(w.Notes, reconcile.Note{Warning: true, Origin: origin(s), Text: fmt.Sprintf("service %s listens on the network: anyone who reaches port %d may %s", s.Name, s.Port, open)})
	}
	h.packages(w)
	models, inputs, needs := h.models(w)
	u := unit{command: h.command(s, h.place(programs[s.Kind][0], s), models, f.config), name: s.Name, system: s.Scope == "system", waits: s.Listen == "lan"}
	u.says = "aisync: " + s.Name + ", " + s.Kind
	if len(models) > 0 {
		u.says += " of " + strings.Join(ModelsOf(s), ", ")
	}
	if u.system {
		u.user = h.User
	}
	if !h.Journal || h.By != control.Systemd {
		u.log = control.LogFile(string(LogFolder(h.State)), s.Name)
	}
	if h.Memory != nil {
		u.memory = bound(h.Memory(s), h.Facts)
	}
	var text []byte
	switch {
	case s.Kind == "llama-swap":
		text = h.swapConfig(s, h.place("llama-server", s), models)
	case s.Routes():
		text = h.presets(s, models)
	}
	if text != nil {
		w.declare(h.at("file", f.config), file.Whole(text, 0o644))
		w.after = append(w.after, h.at("file", f.config))
		inputs["configuration"] = digest(text)
	}
	h.keepSlots(&u, s, inputs)
	if err := h.keyed(s, inputs); err != nil {
		w.cannot(Address(s), "%v", err)
		return
	}
	inputs["unit"] = digest(h.text(u))
	for _, program := range programs[s.Kind] {
		if _, ok := h.releaser(program, s); ok && h.Version != nil {
			inputs["program "+program] = h.Version(packages.Address(viaRelease, program))
		}
	}
	u.digest = digestOf(inputs)
	w.declare(h.at("file", f.unit), file.Whole(h.text(u), 0o644))
	w.after = append(w.after, h.at("file", f.unit))
	if f.wanted != "" {
		w.declare(h.at("link", f.wanted), link.To(f.target), h.at("file", f.unit))
		w.after = append(w.after, h.at("link", f.wanted))
	}
	if h.Waits != "" {
		w.cannot(Address(s), "%s", h.Waits)
		return
	}
	w.declare(Address(s), run{digest: u.digest, inputs: inputs, by: h.By, port: s.Port, needs: needs, ownKey: s.MakesKey(), argv: u.argv, env: u.variables()}, w.after...)
}

// LogFolder holds the output of servers without a journal.
func LogFolder(state fsys.LogicalPath) fsys.LogicalPath { return state.Join("services") }

// text is u in the service manager's format.
func (h Host) text(u unit) []byte {
	switch h.By {
	case control.Own:
		b, _ := json.MarshalIndent(u.definition(), "", "  ") // text alone: cannot fail
		return append(b, '\n')
	case control.Launchd:
		return u.launchd()
	}
	return u.systemd()
}

// bound is the memory limit of a server that needs so many bytes: half as much
// again plus two GiB, because an estimate must not kill a server; 0 if that
// exceeds the machine.
func bound(need int64, f *facts.Facts) int64 {
	const gib = int64(1) << 30
	most := (need + need/2 + 2*gib) / gib * gib
	if need == 0 || f == nil || most > f.Memory.Total*9/10 {
		return 0
	}
	return most
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// digestOf is one digest of all inputs.
func digestOf(inputs map[string]string) string {
	b, _ := json.Marshal(inputs) // text, in a fixed order: cannot fail
	return digest(b)[:32]
}

// NameOf splits the address of a service.
func NameOf(a reconcile.Address) (scope, name string) {
	scope, name, _ = strings.Cut(a.Name(), "/")
	return scope, path.Base(name)
}
