package adapter

import (
	"cmp"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Secrets provides the values of secrets for programs whose configuration
// cannot refer to one.
type Secrets struct {
	Value    func(spec.Secret) (string, error) // the error says where it was looked for, and what to do
	Seal     file.Seal
	Recorded func(reconcile.Address, reconcile.LeafKey) (reconcile.Fingerprint, bool) // what was last written
}

// server is m with the values of the secrets that f cannot refer to. If one is
// not available now, what was written before stays.
func (s *Secrets) server(f spec.MCPFile, m spec.MCPServer, target reconcile.Address, key reconcile.LeafKey) (reconcile.Body, error) {
	real, shown := m, m
	var missing error
	fill := func(list []spec.EnvVar, alone func(spec.EnvVar) spec.MCPServer) (values, names []spec.EnvVar) {
		for _, v := range list {
			named := v
			if _, err := render.Server(f, alone(v)); err != nil && v.Secret != nil {
				text, err := s.Value(*v.Secret)
				if err != nil && missing == nil {
					missing = err
				}
				v = spec.EnvVar{Name: v.Name, Value: text}
				named = spec.EnvVar{Name: v.Name, Value: "(the secret " + cmp.Or(named.Secret.Env, named.Secret.File) + ")"}
			}
			values, names = append(values, v), append(names, named)
		}
		return values, names
	}
	real.Env, shown.Env = fill(m.Env, func(v spec.EnvVar) spec.MCPServer {
		return spec.MCPServer{Name: m.Name, Command: m.Command, URL: m.URL, Env: []spec.EnvVar{v}}
	})
	real.Headers, shown.Headers = fill(m.Headers, func(v spec.EnvVar) spec.MCPServer {
		return spec.MCPServer{Name: m.Name, Command: m.Command, URL: m.URL, Headers: []spec.EnvVar{v}}
	})
	if missing != nil {
		if print, ok := s.Recorded(target, key); ok && file.IsSealed(print) {
			return file.Kept(print), nil
		}
		return nil, missing
	}
	value, err := render.Server(f, real)
	if err != nil {
		return nil, err
	}
	words, err := render.Server(f, shown)
	if err != nil {
		return nil, err
	}
	return file.Secret(value, words, s.Seal), nil
}
