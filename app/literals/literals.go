// Package literals finds the secrets that a spec has as plain text, so that plan and
// validate can warn: they lie in git with the spec, and in each program's file. It
// returns no value. Call Of.
package literals

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/internal/secret"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Literal is one secret in a spec.
type Literal struct {
	Pos  spec.Position
	Text string // what it is, of what, and what to write instead
}

// Of returns the secrets in the parts of s for the host and the project, in the order
// of the spec. The person's own layer of a project, which git does not carry, is left
// out.
func Of(s *spec.Spec, host, project bool) []Literal {
	var out []Literal
	if host && s.Host != nil {
		out = slices.Concat(launches(s.Host.Runtimes), servers(s.Host.MCP), services(s.Host.Services), settings(s.Host.Settings))
	}
	if project && s.Project != nil {
		out = append(append(out, servers(s.Project.MCP)...), settings(s.Project.Settings)...)
	}
	return out
}

// Notes are the secrets of Of as warnings of a plan.
func Notes(s *spec.Spec, host, project bool) []reconcile.Note {
	var out []reconcile.Note
	for _, l := range Of(s, host, project) {
		out = append(out, reconcile.Note{Warning: true, Text: l.Text, Origin: []reconcile.Position{reconcile.Position(l.Pos)}})
	}
	return out
}

func servers(all []spec.MCPServer) []Literal {
	var out []Literal
	for _, m := range all {
		add := func(pos spec.Position, what, kind, instead string) {
			if pos == (spec.Position{}) {
				pos = m.Pos
			}
			out = append(out, Literal{pos, fmt.Sprintf("%s of MCP server %s is %s, as plain text in the spec and in each program's file; %s", what, m.Name, kind, instead)})
		}
		if i, kind := secret.Args(m.Args); kind != "" {
			add(m.Pos, "argument "+strconv.Itoa(i+1), kind, "pass it in env as {env: \"NAME\"}")
		}
		if kind := secret.Value(m.URL); kind != "" {
			add(m.Pos, "the url", kind, "pass it in headers as {env: \"NAME\"}")
		}
		for _, v := range slices.Concat(m.Env, m.Headers) {
			if kind := secret.Value(v.Value, v.Name); v.Secret == nil && kind != "" {
				add(v.Pos, v.Name, kind, "write {env: \"NAME\"}, and export the variable NAME")
			}
		}
	}
	return out
}

func launches(all []spec.RuntimeUse) []Literal {
	var out []Literal
	for _, u := range all {
		if i, kind := secret.Args(u.Arguments()); kind != "" {
			out = append(out, Literal{u.Args[i].Pos, fmt.Sprintf("argument %d of the launches of %s is %s, as plain text in the spec and in the list of processes; pass it in env as {env: \"NAME\"}", i+1, u.ID, kind)})
		}
		for _, v := range u.Env {
			if kind := secret.Value(v.Value, v.Name); v.Secret == nil && kind != "" {
				out = append(out, Literal{v.Pos, fmt.Sprintf("%s of the launches of %s is %s, as plain text in the spec; write {env: \"NAME\"}, and export the variable NAME", v.Name, u.ID, kind)})
			}
		}
	}
	return out
}

func services(all []spec.Service) []Literal {
	var out []Literal
	for _, s := range all {
		for _, h := range s.Headers {
			if kind := secret.Value(h.Value, h.Name); h.Secret == nil && kind != "" {
				out = append(out, Literal{h.Pos, fmt.Sprintf("header %s of service %s is %s, as plain text in the spec and in each program's file; write {env: \"NAME\"}, and export the variable NAME", h.Name, s.Name, kind)})
			}
		}
	}
	return out
}

func settings(all []spec.Settings) []Literal {
	var out []Literal
	for _, s := range all {
		var doc any
		if json.Unmarshal(s.JSON, &doc) != nil {
			continue // the spec's loader wrote it
		}
		walk(doc, nil, func(path []string, kind string) {
			pos, ok := s.Leaves[merge.Pointer(path...)]
			if !ok {
				pos = s.Pos
			}
			out = append(out, Literal{pos, fmt.Sprintf("%s of the settings of %s is %s, as plain text in the spec; leave it out, and set it where git does not carry it", merge.Pointer(path...), s.Runtime, kind)})
		})
	}
	return out
}

// walk calls found for each string of v that holds a secret.
func walk(v any, path []string, found func(path []string, kind string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			walk(v[key], append(slices.Clone(path), key), found)
		}
	case []any:
		for i, e := range v {
			walk(e, append(slices.Clone(path), strconv.Itoa(i)), found)
		}
	case string:
		if kind := secret.Value(v, path...); kind != "" {
			found(path, kind)
		}
	}
}
