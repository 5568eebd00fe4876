package start

import (
	"errors"
	"maps"
	"os/exec"
	"slices"
	"sort"
	"strings"

	adapter "aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/agents/confine"
	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/task/executor"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// Tasks holds the facts about a host that its task executors depend on.
type Tasks struct {
	*Machine
	Host     *spec.Host // nil: a machine without a host spec
	Known    catalog.Index
	Loopback func(url string) bool
	Show     []string                      // paths that every program needs to see
	Folders  func(program string) []string // further paths that this program needs to see
	Hide     []string                      // paths that no program may see
}

// Choice returns the possible executors of the host, the endpoint first, each
// with the reason why it cannot do a task here. The caller sets Only.
func (t *Tasks) Choice() executor.Choice {
	h := t.adapter(t.Host, t.Known)
	server, missing := t.server(h)
	endpoint := executor.Candidate{Name: executor.EndpointName, Missing: missing, Unfit: executor.TooComplex, Executor: executor.Endpoint{URL: server.URL, Model: server.Model, Context: server.Context, Access: server.Access, Secret: t.Secret}}
	if missing == "" && !slices.Contains(server.APIs, "chat") {
		endpoint.Missing = "service " + server.Name + " does not speak chat completions"
	}
	c := executor.Choice{Program: t.has}
	c.Candidates = []executor.Candidate{
		endpoint,
	}
	for _, rt := range ranked(h) {
		if !rt.Local && rt.Command != "" { // otherwise other programs drive it
			c.Candidates = append(c.Candidates, t.candidate(rt, h.Spec, &server, missing))
		}
	}
	return c
}

// Program returns the program of the runtime id as it works in a sandbox, with the
// host's endpoint. The error is why it cannot.
func (t *Tasks) Program(id string) (confine.Program, error) {
	h := t.adapter(t.Host, t.Known)
	server, missing := t.server(h)
	for i := range h.Runtimes {
		if rt := &h.Runtimes[i]; rt.ID == id {
			one := t.candidate(rt, h.Spec, &server, missing)
			if one.Missing != "" {
				return confine.Program{}, errors.New(one.Missing)
			}
			return one.Executor.(executor.Program).Program, nil
		}
	}
	return confine.Program{}, errors.New("the catalog does not know it")
}

// server returns the endpoint of h, and why it can do no task; "": it can.
func (t *Tasks) server(h *adapter.Host) (s adapter.Server, missing string) {
	s, err := h.Server()
	switch {
	case err != nil:
		return s, err.Error() + ", so no model can be asked; name a service: aisync add service"
	case t.Offline != nil && !t.Loopback(s.URL):
		return s, "service " + s.Name + " is not on this machine, and this is offline"
	}
	return s, ""
}

// ranked returns the runtimes of h in order of preference: the first that drives
// generic runtimes, those that the host's spec names, the others.
func ranked(h *adapter.Host) []*spec.Runtime {
	rank := map[*spec.Runtime]int{}
	var out []*spec.Runtime
	for i := range h.Runtimes {
		rt := &h.Runtimes[i]
		out = append(out, rt)
		if rank[rt] = slices.IndexFunc(h.Spec.Runtimes, func(u spec.RuntimeUse) bool { return u.ID == rt.ID }); rank[rt] < 0 {
			rank[rt] = len(h.Spec.Runtimes)
		}
	}
	if drivers := adapter.Drivers(h.Runtimes); len(drivers) > 0 {
		rank[drivers[0]] = -1
	}
	sort.SliceStable(out, func(i, j int) bool { return rank[out[i]] < rank[out[j]] })
	return out
}

// candidate returns a runtime that does tasks with the model of server, with the
// reason why it cannot on the host h; missing is why the server can do none.
func (t *Tasks) candidate(rt *spec.Runtime, h *spec.Host, server *adapter.Server, missing string) executor.Candidate {
	path, err := t.Look(rt.Command)
	one := executor.Candidate{Name: rt.ID, Tools: slices.Sorted(maps.Keys(rt.Tools)), Missing: unfit(rt, err, server, missing)}
	var use spec.RuntimeUse
	if i := slices.IndexFunc(h.Runtimes, func(u spec.RuntimeUse) bool { return u.ID == rt.ID }); i >= 0 {
		use = h.Runtimes[i]
	}
	variables, _, _ := adapter.Variables(&use, nil) // no secret is read: no error
	if one.Missing == "" && use.Endpoint != nil && !use.Endpoint.On {
		one.Missing = "the spec has endpoint: false for it, and tasks are done with the host's endpoint"
	}
	one.Executor = executor.Program{Hide: t.Hide, Program: confine.Program{
		Runtime: *rt, Path: path, Show: append(t.Folders(path), t.Show...), Endpoint: server.URL, Access: server.Access, Secret: t.Secret, Args: use.Arguments(), Variables: variables,
		Set: func(url string) (confine.Setting, error) {
			alone, err := adapter.AloneAt(rt, url, server.Model, server.Context)
			return confine.Setting{Environment: alone.Environment, Files: alone.Files}, err
		},
	}}
	return one
}

// unfit returns why the program of rt cannot do a task with the model of server;
// err is the result of looking for the program.
func unfit(rt *spec.Runtime, err error, server *adapter.Server, missing string) string {
	switch {
	case errors.Is(err, launch.ErrMissing), errors.Is(err, exec.ErrNotFound):
		return "not installed"
	case err != nil:
		return err.Error()
	case len(rt.Launch.Headless) == 0:
		return "it cannot answer a single prompt and exit"
	case missing != "":
		return missing
	case len(rt.APIs) > 0 && !slices.ContainsFunc(rt.APIs, func(api string) bool { return slices.Contains(server.APIs, api) }):
		return "service " + server.Name + " speaks none of its APIs: " + strings.Join(rt.APIs, ", ")
	}
	if _, err := adapter.AloneAt(rt, server.URL, server.Model, server.Context); err != nil {
		return err.Error()
	}
	return ""
}
