package bundlepolicy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/schema/policy"
	"aisync.dev/aisync/schema/problem"
	"aisync.dev/aisync/schema/spec"
)

// Settings returns an error for each MCP server in the settings of specs that limits
// forbid, and for hooks in the settings of a project where the policy of the host limits
// hooks. runtimes say where programs have them. Both specs may be nil.
func Settings(limits []spec.Limits, h *spec.Host, p *spec.Project, runtimes []spec.Runtime) error {
	if len(limits) == 0 {
		return nil
	}
	var errs []error
	each := func(list []spec.Settings, path string, scope func(*spec.Runtime) *spec.Scope, check func(found setting)) {
		for _, s := range list {
			i := slices.IndexFunc(runtimes, func(rt spec.Runtime) bool { return rt.ID == s.Runtime })
			var doc any
			if i < 0 || json.Unmarshal(s.JSON, &doc) != nil {
				continue // whoever declares them says so
			}
			check(setting{s, path + ".settings." + s.Runtime, doc, scope(&runtimes[i])})
		}
	}
	if h != nil {
		of := policy.OfHost(limits)
		each(h.Settings, "hosts."+h.Name, func(rt *spec.Runtime) *spec.Scope { return &rt.User }, func(s setting) {
			errs = append(errs, s.servers(of)...)
		})
	}
	for _, one := range p.Layers() {
		each(one.Settings, "project", func(rt *spec.Runtime) *spec.Scope { return &rt.Project }, func(s setting) {
			errs = append(errs, s.servers(limits)...)
			errs = append(errs, s.hooks(policy.OfHost(limits)))
		})
	}
	return errors.Join(errs...)
}

// setting is what a spec sets of one program.
type setting struct {
	spec.Settings
	path  string
	doc   any
	scope *spec.Scope
}

// at returns the value at a pointer, nil where there is none.
func (s setting) at(pointer string) any {
	v := s.doc
	for _, key := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// problem is an error at the line of a pointer.
func (s setting) problem(pointer, message, hint string) error {
	return problem.Problem{Pos: s.At(pointer), Path: s.path, Message: message, Hint: hint}
}

// servers returns an error for each MCP server that limits forbid.
func (s setting) servers(limits []spec.Limits) (errs []error) {
	f := s.scope.MCP
	if f == nil || s.scope.Settings == nil || f.Path != s.scope.Settings.Path {
		return nil
	}
	all, _ := s.at(f.Pointer).(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, one := range servers(name, all[name]) {
			if message, hint := policy.Server(limits, one); message != "" {
				errs = append(errs, s.problem(f.Pointer+merge.Pointer(name), message, hint))
			}
		}
	}
	return errs
}

// servers are what a program can take a server for: its command line, which is started
// whatever else is there, and each of its addresses. One of which nothing is known runs
// nothing that a policy allows.
func servers(name string, v any) []spec.MCPServer {
	fields, _ := v.(map[string]any)
	var line []string
	for _, key := range []string{"command", "cmd", "args"} {
		switch v := fields[key].(type) {
		case string:
			line = append(line, v)
		case []any:
			for _, x := range v {
				line = append(line, fmt.Sprint(x))
			}
		}
	}
	var out []spec.MCPServer
	for _, key := range []string{"url", "httpUrl", "serverUrl", "uri"} {
		if text, ok := fields[key].(string); ok {
			out = append(out, spec.MCPServer{Name: name, URL: text})
		}
	}
	if len(line) > 0 || len(out) == 0 {
		out = append(out, spec.MCPServer{Name: name, Command: strings.Join(line[:min(1, len(line))], ""), Args: line[min(1, len(line)):]})
	}
	return out
}

// hooks returns an error if the settings have hooks and limits name the sources whose
// hooks count: a project is none of them.
func (s setting) hooks(limits []spec.Limits) error {
	var pointers []string
	if f := s.scope.Settings; f != nil && f.Hooks != "" {
		pointers = append(pointers, f.Hooks)
	}
	if e := s.scope.Events; e != nil && s.scope.Settings != nil && e.Path == s.scope.Settings.Path {
		pointers = append(pointers, e.Pointer)
	}
	for _, pointer := range pointers {
		if found, _ := s.at(pointer).(map[string]any); len(found) == 0 {
			continue
		}
		if message, _ := policy.Hooks(limits, "a hook in the project's settings of "+s.Runtime, ""); message != "" {
			return s.problem(pointer, message, "take it out; a hook of a bundle can be allowed by the bundle's source")
		}
	}
	return nil
}
