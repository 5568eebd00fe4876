package runtime

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"aisync.dev/aisync/providers/merge"
	"aisync.dev/aisync/schema/spec"
)

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

// Server is the one that the host's spec names as its endpoint.
func (h Host) Server() (Server, error) {
	name := h.Spec.Endpoint.Value
	if name == "" {
		return Server{}, fmt.Errorf("host %s names no endpoint", h.Spec.Name)
	}
	i := slices.IndexFunc(h.Spec.Services, func(s spec.Service) bool { return s.Name == name })
	if i < 0 {
		return Server{}, fmt.Errorf("host %s names the service %q as its endpoint, and has none of that name", h.Spec.Name, name)
	}
	t := h.target(h.Spec.Services[i])
	return Server{name, t.url, t.model, t.context, t.apis}, nil
}
