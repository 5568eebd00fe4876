// Package start says how the program of a runtime is started so that it talks to
// a model server: its arguments, variables and files. It computes from specs and
// the catalog alone: it looks for no program, reads no file and dials nothing, so
// that agents may use it too. Start reading at Host.Launch, then AloneAt.
package start

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/schema/spec"
)

// Host is what starting a runtime depends on.
type Host struct {
	Spec     *spec.Host
	Runtimes []spec.Runtime // the whole catalog
	Models   []spec.Model   // the whole catalog
	// Has reports whether a program is installed; nil: all of them are.
	Has func(program string) bool
	// Absent says why a service that aisync runs will not answer; "": it will.
	// nil: all of them will.
	Absent func(spec.Service) string
	// Home and State are the person's home and aisync's folder of state, where keys
	// are. Values reads secrets; nil: what holds one is left out of launches.
	Home, State string
	Values      Values
}

// Launch is how the program of a runtime is started so that it talks to a
// server of the host, where it would not do so by itself.
type Launch struct {
	ID          string        // of the runtime, as the spec names it
	Driver      *spec.Runtime // whose program it is: the runtime's own, or that which drives it
	Service     spec.Service  // without a name where it talks to its maker's
	Model       string
	Config      string // the file that an apply writes for a driver: ~/…; "" for none
	Args        []string
	Environment map[string]string
	Secrets     map[string]string // variables that hold a secret
}

// Launch says how the runtime id is started here. service and model are what a
// person asked for, "" for what the spec says; only a generic local runtime can
// be given others. A service that does not answer here is an error: a program
// that belongs there is sent neither to a dead port nor to its maker.
func (h *Host) Launch(id, service, model string) (Launch, error) {
	rt := Find(h.Runtimes, id)
	if rt == nil {
		return Launch{}, fmt.Errorf("unknown runtime %q", id)
	}
	use := spec.RuntimeUse{ID: id}
	for _, u := range h.Spec.Runtimes {
		if u.ID == id {
			use = u
		}
	}
	l := Launch{ID: id, Driver: rt, Args: use.Arguments()}
	var err error
	if l.Environment, l.Secrets, err = Variables(&use, h.Values); err != nil {
		return l, err
	}
	name := h.ServiceOf(use.Endpoint, rt)
	if service != "" {
		name.Value = service
	}
	s := h.service(name.Value)
	if s == nil && rt.Local {
		return l, fmt.Errorf("%s has no server to talk to: name a service of the host as its endpoint: aisync add service", id)
	}
	if s == nil {
		return l, nil
	}
	if why, _ := h.Absence(s); why != "" {
		if !rt.Local && (len(rt.User.Endpoint) > 0 || len(rt.Launch.Endpoint) == 0) {
			return l, nil // its own file counts, which an apply decides
		}
		return l, fmt.Errorf("%s talks to service %s, which does not run here: %s", id, s.Name, why)
	}
	server := h.ServerOf(s)
	if model != "" {
		server.choose(model)
	}
	if !rt.Local {
		switch {
		case len(rt.User.Endpoint) > 0: // by its own file
			l.Service = *s
		case len(rt.Launch.Endpoint) > 0:
			l.Service, l.Model = *s, server.Model
			return l, server.set(&l, rt.Launch.Endpoint, h.Values)
		}
		return l, nil
	}
	l.Service, l.Model = *s, server.Model
	return l, h.driven(&l, use.CLI, rt, &server)
}

// Variables returns the variables that use adds to every launch, those that hold a
// secret apart. Without values the latter are left out.
func Variables(use *spec.RuntimeUse, values Values) (plain, secrets map[string]string, err error) {
	plain, secrets = map[string]string{}, map[string]string{}
	for _, v := range use.Env {
		switch {
		case v.Secret == nil:
			plain[v.Name] = v.Value
		case values != nil:
			if secrets[v.Name], err = values(*v.Secret); err != nil {
				return nil, nil, fmt.Errorf("variable %s of %s (%s): %w", v.Name, use.ID, v.Pos, err)
			}
		}
	}
	return plain, secrets, nil
}

// Loosening says how the spec's lasting arguments and variables loosen the launches of
// runtimes; one sentence a runtime, at its use.
func (h *Host) Loosening() (at []spec.RuntimeUse, says []string) {
	for _, use := range h.Spec.Runtimes {
		if words := use.Loosening(h.ProgramOf(use)); len(words) > 0 {
			at, says = append(at, use), append(says, fmt.Sprintf("every launch of %s has %s: it may do more without asking you", use.ID, strings.Join(words, ", ")))
		}
	}
	return at, says
}

// ProgramOf returns the runtime whose program a launch of use starts: its own, or the
// driver's; an empty one if it is unknown.
func (h *Host) ProgramOf(use spec.RuntimeUse) *spec.Runtime {
	rt := Find(h.Runtimes, use.ID)
	if rt == nil {
		return &spec.Runtime{}
	}
	if d := h.driver(use.CLI); rt.Local && d != nil {
		return d
	}
	return rt
}

// Launches returns the launch of every runtime of the spec that talks to a
// service, in the spec's order. A runtime without a driver has none.
func (h *Host) Launches() []Launch {
	var out []Launch
	for _, use := range h.Spec.Runtimes {
		if l, err := h.Launch(use.ID, "", ""); err == nil && l.Service.Name != "" {
			out = append(out, l)
		}
	}
	return out
}

// driver is the runtime that drives a generic one: cli from the spec, otherwise
// the first one installed; nil if there is none.
func (h *Host) driver(cli string) *spec.Runtime {
	for _, d := range Drivers(h.Runtimes) {
		if d.ID == cli || cli == "" && h.Available(d.Command) {
			return d
		}
	}
	return nil
}

// driven adds what the driver of the generic runtime rt needs.
func (h *Host) driven(l *Launch, cli string, rt *spec.Runtime, s *Server) error {
	d := h.driver(cli)
	if d == nil {
		ids := DriverIDs(h.Runtimes)
		return fmt.Errorf("no program drives %s here: install %s, or name one: cli: %q", rt.ID, strings.Join(ids, " or "), ids[0])
	}
	l.Driver, l.Config = d, path.Join(rt.User.Dir, d.Driver.File)
	maps.Copy(l.Environment, d.Launch.Offline) // its server is on this machine
	if err := s.set(l, d.Launch.Endpoint, h.Values); err != nil || d.Driver.Inline == "" {
		return err
	}
	inline, secret, err := s.document(d.User.Endpoint, h.Values)
	l.variable(d.Driver.Inline, string(inline), secret, h.Values)
	return err
}

// Variables fills variables, without those that hold a secret. told says whether
// they tell the program the server's key, and its headers.
func (s *Server) Variables(variables map[string]string) (environment map[string]string, told Filled) {
	l := Launch{Environment: map[string]string{}}
	for name, value := range variables {
		f, _, _ := s.Fill(spec.Reference{JSON: render.JSON(value)}, nil) // a text, and nothing is read: no error
		told.Key, told.Headers = told.Key || f.Key, told.Headers || f.Headers
		_ = s.set(&l, map[string]string{name: value}, nil)
	}
	return l.Environment, told
}

// set adds filled variables.
func (s *Server) set(l *Launch, variables map[string]string, values Values) error {
	for name, value := range variables {
		f, ok, err := s.Fill(spec.Reference{JSON: render.JSON(value)}, values)
		if err != nil {
			return fmt.Errorf("service %s: %w", s.Name, err)
		}
		if !ok {
			continue
		}
		text := string(f.Value)
		_ = json.Unmarshal(f.Value, &text) // a number is as it is written
		l.variable(name, text, f.Shown != nil, values)
	}
	return nil
}

// variable adds one variable, which holds a secret or not.
func (l *Launch) variable(name, value string, secret bool, values Values) {
	switch {
	case !secret:
		l.Environment[name] = value
	case values != nil:
		l.Secrets[name] = value
	}
}

// document is the references as one JSON object, and whether it holds a secret.
func (s *Server) document(refs []spec.Reference, values Values) (doc []byte, secret bool, err error) {
	top := map[string]any{}
	for _, leaf := range s.Leaves(refs) {
		ref := leaf.Ref
		f, ok, err := leaf.Server.Fill(ref, values)
		if err != nil {
			return nil, false, fmt.Errorf("adapter: %s: %w", ref.Pointer, err)
		}
		if !ok {
			continue
		}
		secret = secret || f.Shown != nil
		at, keys := top, strings.Split(strings.TrimPrefix(ref.Pointer, "/"), "/")
		for _, key := range keys[:len(keys)-1] {
			next, _ := at[key].(map[string]any)
			if next == nil {
				next = map[string]any{}
			}
			at[key], at = next, next
		}
		at[keys[len(keys)-1]] = json.RawMessage(f.Value)
	}
	doc, err = json.Marshal(top)
	return doc, secret, err
}

// Point makes the driver of a generic runtime read the runtime's file, at its
// physical path.
func (l *Launch) Point(config string) {
	d := l.Driver.Driver
	if d == nil || l.Config == "" {
		return
	}
	fill := func(text string) string { return strings.ReplaceAll(text, "{file}", config) }
	for name, value := range d.Environment {
		l.Environment[name] = fill(value)
	}
	var args []string
	for _, a := range d.Args {
		args = append(args, fill(a))
	}
	l.Args = append(args, l.Args...)
}

// ServiceOf returns the service of rt when the spec says e of it, "" for none.
// The host's endpoint applies to generic local runtimes only: a vendor's
// program keeps its vendor's service until the spec explicitly gives it
// another.
func (h *Host) ServiceOf(e *spec.EndpointUse, rt *spec.Runtime) spec.Named {
	switch {
	case e != nil && !e.On:
		return spec.Named{}
	case e != nil && e.Service != "":
		return spec.Named{Value: e.Service, Pos: e.Pos}
	case e != nil:
		return spec.Named{Value: h.Spec.Endpoint.Value, Pos: e.Pos}
	case rt.Local:
		return h.Spec.Endpoint
	}
	return spec.Named{}
}

// Absence says why s will not answer, "" if it will, and whether the spec
// itself says so. An external service is assumed to answer.
func (h *Host) Absence(s *spec.Service) (why string, forGood bool) {
	switch {
	case s.Kind == "external":
		return "", false
	case !s.Enabled:
		return "the spec has enabled: false for it; write enabled: true, or name another service", true
	case h.Absent == nil:
		return "", false
	}
	return h.Absent(*s), false
}

// Available reports whether a program is installed, or will be because the spec
// installs a runtime with that command.
func (h *Host) Available(command string) bool {
	if command == "" || h.Has == nil || h.Has(command) {
		return true
	}
	return slices.ContainsFunc(h.Spec.Runtimes, func(u spec.RuntimeUse) bool {
		rt := Find(h.Runtimes, u.ID)
		return u.Install != nil && rt != nil && rt.Command == command
	})
}

// Find returns the runtime with that id; nil if there is none.
func Find(runtimes []spec.Runtime, id string) *spec.Runtime {
	for i := range runtimes {
		if runtimes[i].ID == id {
			return &runtimes[i]
		}
	}
	return nil
}

// Drivers are the runtimes whose programs can drive a generic one, the
// preferred first.
func Drivers(runtimes []spec.Runtime) []*spec.Runtime {
	var out []*spec.Runtime
	for i := range runtimes {
		if runtimes[i].Driver != nil {
			out = append(out, &runtimes[i])
		}
	}
	sort.SliceStable(out, func(i, j int) bool { // one that extends another must be named
		return cmp.Or(cmp.Compare(out[i].Driver.Order, out[j].Driver.Order), cmp.Compare(out[i].Extends, out[j].Extends)) < 0
	})
	return out
}

// DriverIDs are their ids, in that order.
func DriverIDs(runtimes []spec.Runtime) []string {
	var out []string
	for _, d := range Drivers(runtimes) {
		out = append(out, d.ID)
	}
	return out
}
