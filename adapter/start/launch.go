package adapter

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/schema/spec"
)

// Launch is how the program of a runtime is started so that it talks to a
// server of the host, where it would not do so by itself.
type Launch struct {
	ID          string       // of the runtime, as the spec names it
	Driver      spec.Runtime // whose program it is: the runtime's own, or that which drives it
	Service     spec.Service // without a name where it talks to its maker's
	Model       string
	Config      string // file of its own that an apply writes: ~/…; "" for none
	Args        []string
	Environment map[string]string
}

// Launch says how the runtime id is started here. service and model are what a
// person asked for, "" for what the spec says; only a generic local runtime can
// be given others. A service that nothing serves here is an error: a program
// that belongs there is sent neither to a dead port nor to its maker.
func (h Host) Launch(id, service, model string) (Launch, error) {
	rt, ok := find(h.Runtimes, id)
	if !ok {
		return Launch{}, fmt.Errorf("unknown runtime %q", id)
	}
	use := spec.RuntimeUse{ID: id}
	for _, u := range h.Spec.Runtimes {
		if u.ID == id {
			use = u
		}
	}
	l := Launch{ID: id, Driver: rt, Environment: map[string]string{}}
	name := h.serviceOf(use, rt)
	if service != "" {
		name.Value = service
	}
	i := slices.IndexFunc(h.Spec.Services, func(s spec.Service) bool { return s.Name == name.Value })
	if i < 0 && rt.Local {
		return l, fmt.Errorf("%s has no server to talk to: name a service of the host as its endpoint: aisync add service", id)
	}
	if i < 0 {
		return l, nil
	}
	s := h.Spec.Services[i]
	if why, _ := h.absent(s); why != "" {
		if !rt.Local && (len(rt.User.Endpoint) > 0 || len(rt.Launch.Endpoint) == 0) {
			return l, nil // its own file counts, which an apply decides
		}
		return l, fmt.Errorf("%s talks to service %s, which is not served here: %s", id, s.Name, why)
	}
	t := h.target(s)
	if model != "" {
		t.model = model
	}
	if !rt.Local {
		switch {
		case len(rt.User.Endpoint) > 0: // by its own file
			l.Service = s
		case len(rt.Launch.Endpoint) > 0:
			l.Service, l.Model = s, t.model
			l.fill(rt.Launch.Endpoint, t)
		}
		return l, nil
	}
	l.Service, l.Model = s, t.model
	return l, h.driven(&l, use, rt, t)
}

// Launches are those of every runtime of the spec that talks to a service, in
// its order. A runtime that no program drives has none.
func (h Host) Launches() []Launch {
	var out []Launch
	for _, use := range h.Spec.Runtimes {
		if l, err := h.Launch(use.ID, "", ""); err == nil && l.Service.Name != "" {
			out = append(out, l)
		}
	}
	return out
}

// Point has a program that drives the generic runtime read that one's file, at
// its physical path.
func (l *Launch) Point(config string) {
	switch l.Driver.ID {
	case "opencode":
		l.Environment["OPENCODE_CONFIG"] = config
	case "aider":
		l.Args = append([]string{"--config", config}, l.Args...)
	}
}

func (l *Launch) fill(vars map[string]string, t target) {
	for name, value := range vars {
		l.Environment[name] = t.fill(value)
	}
}

// driven adds what the program needs that drives a generic runtime. A spec that
// names none gets the first one that is there.
func (h Host) driven(l *Launch, use spec.RuntimeUse, rt spec.Runtime, t target) error {
	drivers := []string{use.CLI}
	if use.CLI == "" {
		drivers = []string{"opencode", "aider"}
	}
	for _, name := range drivers {
		if d, ok := find(h.Runtimes, name); ok && (use.CLI != "" || h.there(d.Command)) {
			l.Driver = d
			break
		}
	}
	maps.Copy(l.Environment, l.Driver.Launch.Offline) // its server is on this machine
	switch l.Driver.ID {
	case "opencode":
		l.Config = path.Join(rt.User.Dir, "opencode.json")
		inline, err := t.document(l.Driver.User.Endpoint)
		if err != nil {
			return err
		}
		l.Environment["OPENCODE_CONFIG_CONTENT"] = string(inline) // wins over every file: https://opencode.ai/docs/config
		return nil
	case "aider":
		l.Config = path.Join(rt.User.Dir, ".aider.conf.yml")
		l.fill(l.Driver.Launch.Endpoint, t) // wins over its file: https://aider.chat/docs/config
		return nil
	}
	return fmt.Errorf("no program drives %s here: install opencode or aider, or name one: cli: \"opencode\"", rt.ID)
}

// document is what references say, as one JSON object.
func (t target) document(refs []spec.Reference) ([]byte, error) {
	doc := map[string]any{}
	for _, ref := range refs {
		value, ok, err := t.fillJSON(ref.JSON)
		if err != nil {
			return nil, fmt.Errorf("adapter: %s: %w", ref.Pointer, err)
		}
		if !ok {
			continue
		}
		at, keys := doc, strings.Split(strings.TrimPrefix(ref.Pointer, "/"), "/")
		for _, key := range keys[:len(keys)-1] {
			next, _ := at[key].(map[string]any)
			if next == nil {
				next = map[string]any{}
			}
			at[key], at = next, next
		}
		at[keys[len(keys)-1]] = json.RawMessage(value)
	}
	return json.Marshal(doc)
}

// Alone is how a program is started in a home that holds nothing but what it
// needs to talk to one server: none of what the person has set up is known to
// it.
type Alone struct {
	Args        []string // after those that it always gets
	Environment map[string]string
	Files       map[string][]byte // below the home, by their slash-separated paths
}

// AloneAt has the program of rt talk to model at url, which ends in /v1; a
// context of 0 is not known. Where rt takes no server but its maker's, it is an
// error.
func AloneAt(rt spec.Runtime, url, model string, context int64) (Alone, error) {
	t := target{service: "task", url: url, model: model, context: context, apis: allAPIs}
	a := Alone{Environment: map[string]string{}, Files: map[string][]byte{}}
	maps.Copy(a.Environment, rt.Launch.Environment)
	maps.Copy(a.Environment, rt.Launch.Offline)
	if len(rt.User.Endpoint) == 0 && len(rt.Launch.Endpoint) == 0 {
		return a, fmt.Errorf("%s takes no server but its own maker's", rt.ID)
	}
	for name, value := range rt.Launch.Endpoint {
		a.Environment[name] = t.fill(value)
	}
	for _, ref := range slices.Concat(rt.User.Endpoint, rt.User.Always) {
		if err := a.set(ref, t); err != nil {
			return a, fmt.Errorf("adapter of %s: %s %s: %w", rt.ID, ref.Path, ref.Pointer, err)
		}
	}
	return a, nil
}

// set adds one leaf to the file that it stands in.
func (a *Alone) set(ref spec.Reference, t target) error {
	name, ok := strings.CutPrefix(ref.Path, "~/")
	if !ok {
		return fmt.Errorf("lies outside of the home")
	}
	value, ok, err := t.fillJSON(ref.JSON)
	if err != nil || !ok {
		return err
	}
	key := ref.Pointer
	if set, ok := strings.CutSuffix(ref.Pointer, "/-"); ok {
		if key, err = merge.SetKey(set, value); err != nil {
			return err
		}
	}
	done, err := merge.Edit(merge.Format(ref.Format), a.Files[name], []merge.Op{{Key: key, Value: value}}, nil)
	if err != nil {
		return err
	}
	a.Files[name] = done.Doc
	return nil
}

// Server is a model server, as programs are told of it.
type Server struct {
	Name    string
	URL     string // with /v1
	Model   string
	Context int64 // tokens; 0: not known
	APIs    []string
}

// Server is the one that the host's spec names as its endpoint. One that
// nothing serves here is an error.
func (h Host) Server() (Server, error) {
	name := h.Spec.Endpoint.Value
	if name == "" {
		return Server{}, fmt.Errorf("host %s names no endpoint", h.Spec.Name)
	}
	i := slices.IndexFunc(h.Spec.Services, func(s spec.Service) bool { return s.Name == name })
	if i < 0 {
		return Server{}, fmt.Errorf("host %s names the service %q as its endpoint, and has none of that name", h.Spec.Name, name)
	}
	if why, _ := h.absent(h.Spec.Services[i]); why != "" {
		return Server{}, fmt.Errorf("service %s, the endpoint of host %s, is not served here: %s", name, h.Spec.Name, why)
	}
	t := h.target(h.Spec.Services[i])
	return Server{name, t.url, t.model, t.context, t.apis}, nil
}
