package runtime

import (
	"maps"
	"path"
	"slices"

	"aisync.dev/aisync/schema/spec"
)

// LocalLaunch is how a runtime of the host is started so that it talks to a service
// of the host.
type LocalLaunch struct {
	ID      string       // as the spec names it
	Program spec.Runtime // that is run: the runtime itself, or the one that drives it
	Service spec.Service
	Env     map[string]string
	Args    []string // before those of a session
}

// LocalLaunches are those of every runtime that talks to a service, in the spec's
// order. A runtime that no program drives has none.
func (h Host) LocalLaunches() []LocalLaunch {
	var out []LocalLaunch
	for _, use := range h.Spec.Runtimes {
		rt, ok := find(h.Runtimes, use.ID)
		name, _ := h.serviceOf(use, rt)
		i := slices.IndexFunc(h.Spec.Services, func(s spec.Service) bool { return s.Name == name.Value })
		if !ok || i < 0 {
			continue
		}
		t := h.target(h.Spec.Services[i])
		l := LocalLaunch{ID: use.ID, Program: rt, Service: h.Spec.Services[i], Env: map[string]string{}}
		if rt.Local {
			if l.Program, ok = find(h.Runtimes, use.CLI); !ok {
				continue
			}
			l.Args = h.ownConfig(rt, use.CLI, l.Env)
		}
		if len(rt.User.Endpoint) == 0 && len(l.Program.Launch.Endpoint) == 0 && !rt.Local {
			continue // it takes no server but its own maker's
		}
		for _, set := range []map[string]string{l.Program.Launch.Environment, l.Program.Launch.Endpoint} {
			for name, value := range set {
				l.Env[name] = t.fill(value)
			}
		}
		maps.Copy(l.Env, l.Program.Launch.Offline)
		l.Args = append(slices.Clone(l.Program.Launch.Args), l.Args...)
		out = append(out, l)
	}
	return out
}

// ownConfig points the program that drives rt at the configuration that drive
// wrote for it: by a variable, or by the arguments that it returns.
func (h Host) ownConfig(rt spec.Runtime, cli string, env map[string]string) []string {
	switch cli {
	case "opencode":
		env["OPENCODE_CONFIG"] = string(fileAt(path.Join(rt.User.Dir, "opencode.json")).Path(h.Home))
	case "aider":
		return []string{"--config", string(fileAt(path.Join(rt.User.Dir, ".aider.conf.yml")).Path(h.Home))}
	}
	return nil
}
