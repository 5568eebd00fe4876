// Package sealed writes the values of secrets into files whose programs cannot
// refer to one. Plans and records see their names and fingerprints. It reads no
// secret itself. Call Secrets.Server, or Secrets.Endpoint.
package sealed

import (
	"cmp"
	"encoding/json"
	"strings"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/reference"
	"aisync.dev/aisync/schema/spec"
)

// Secrets provides the values of secrets for programs whose configuration
// cannot refer to one.
type Secrets struct {
	Value    func(spec.Secret) (string, error) // the error says where it was looked for, and what to do
	Seal     file.Seal
	Recorded func(reconcile.Address, reconcile.LeafKey) (reconcile.Fingerprint, bool) // what was last written
}

// Server is m with the values of the secrets that f cannot refer to. If one is
// not available now, what was written before stays. fields are those that a spec
// decides.
func (s *Secrets) Server(f spec.MCPFile, m spec.MCPServer, fields file.Fields, target reconcile.Address, key reconcile.LeafKey) (reconcile.Body, []render.Loss, error) {
	real, shown := m, m
	var missing error
	value := func(from spec.Secret, otherwise string) string {
		text, err := s.Value(from)
		switch {
		case err == nil:
			return text
		case otherwise == "" && missing == nil:
			missing = err
		}
		return otherwise
	}
	fill := func(list []spec.EnvVar, alone func(spec.EnvVar) spec.MCPServer) (values, names []spec.EnvVar) {
		for _, v := range list {
			named := v
			if _, _, err := render.Server(f, alone(v)); err != nil {
				v.Value, named.Value = filled(v, value)
				v.Secret, named.Secret = nil, nil
			}
			values, names = append(values, v), append(names, named)
		}
		return values, names
	}
	real.Env, shown.Env = fill(m.Env, func(v spec.EnvVar) spec.MCPServer {
		return spec.MCPServer{Command: "command", Env: []spec.EnvVar{v}}
	})
	real.Headers, shown.Headers = fill(m.Headers, func(v spec.EnvVar) spec.MCPServer {
		return spec.MCPServer{URL: "https://localhost", Headers: []spec.EnvVar{v}}
	})
	if missing != nil {
		if print, ok := s.Recorded(target, key); ok && file.IsSealed(print) {
			return file.KeptObject(print, fields), nil, nil
		}
		return nil, nil, missing
	}
	written, lost, err := render.Server(f, real)
	if err != nil {
		return nil, nil, err
	}
	words, _, err := render.Server(f, shown)
	if err != nil {
		return nil, nil, err
	}
	return file.SecretObject(written, words, s.Seal, fields), lost, nil
}

// Endpoint is a leaf that points a program at a server. If a secret in it is not
// available now, what was written before stays. ok is false if the server leaves it
// out; a nil s leaves out what holds a secret.
func (s *Secrets) Endpoint(server *start.Server, ref spec.Reference, target reconcile.Address) (f start.Filled, body reconcile.Body, ok bool, err error) {
	f, ok, err = server.Fill(ref, nil)
	switch {
	case err != nil || !ok:
		return f, nil, false, err
	case f.Shown == nil && len(ref.Theirs) > 0:
		return f, file.Object(f.Value, theirs(ref, f.Value)), true, nil
	case f.Shown == nil:
		return f, file.Value(f.Value), true, nil
	case s == nil:
		return start.Filled{}, nil, false, nil
	}
	if f, ok, err = server.Fill(ref, s.Value); err != nil {
		print, known := s.Recorded(target, reconcile.LeafKey(ref.Pointer))
		switch {
		case !known || !file.IsSealed(print):
			return f, nil, false, err
		case len(ref.Theirs) > 0:
			return f, file.KeptObject(print, theirs(ref, f.Value)), true, nil
		}
		return f, file.Kept(print), true, nil
	}
	if len(ref.Theirs) > 0 {
		return f, file.SecretObject(f.Value, f.Shown, s.Seal, theirs(ref, f.Value)), ok, nil
	}
	return f, file.Secret(f.Value, f.Shown, s.Seal), ok, nil
}

// theirs takes the members of value that the program goes on writing for equal,
// whatever it wrote.
func theirs(ref spec.Reference, value merge.Value) file.Fields {
	return file.Fields{Ours: func(there merge.Value) merge.Value {
		var want, have map[string]json.RawMessage
		if json.Unmarshal(value, &want) != nil || json.Unmarshal(there, &have) != nil {
			return there
		}
		for _, name := range ref.Theirs {
			if _, ok := have[name]; ok {
				have[name] = want[name]
			}
		}
		text, err := json.Marshal(have)
		if err != nil {
			return there
		}
		return text
	}}
}

// filled is the text of v with the values of its secrets, and the one with their
// names in their place.
func filled(v spec.EnvVar, value func(from spec.Secret, otherwise string) string) (real, shown string) {
	name := func(s spec.Secret) string { return "(the secret " + cmp.Or(s.Env, s.File) + ")" }
	if v.Secret != nil {
		return reference.Escape(value(*v.Secret, "")), name(*v.Secret)
	}
	var text, names strings.Builder
	for _, p := range reference.Split(v.Value) {
		if p.Variable == "" || p.Variable == reference.Workspace {
			text.WriteString(p.Source)
			names.WriteString(p.Source)
			continue
		}
		from := spec.Secret{Env: p.Variable}
		text.WriteString(reference.Escape(value(from, p.Default)))
		names.WriteString(name(from))
	}
	return text.String(), names.String()
}
