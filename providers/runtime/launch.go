package runtime

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

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

// Launch says how the runtime id is started here. service and model are what
// somebody asked for, "" for what the spec says; only a runtime without a
// service of its own can be given others.
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
	name, _ := h.serviceOf(use, rt)
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
