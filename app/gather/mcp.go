package gather

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

var (
	serverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	varName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)
	// A program's reference to a variable: ${X} in Claude Code and others,
	// ${env:X} in Cursor and VS Code, {env:X} in opencode.
	reference = regexp.MustCompile(`^(?:\$\{(?:env:)?|\{env:)([A-Za-z_][A-Za-z0-9_]*)\}$`)
	secret    = regexp.MustCompile(`(?i)token|secret|passw|api_?-?key|authorization|credential`)
)

// LooksSecret reports whether name is that of a secret.
func LooksSecret(name string) bool { return secret.MatchString(name) }

// knownKeys are the fields of a server that a spec has, under the programs'
// names, and those without meaning.
var knownKeys = []string{"type", "transport", "command", "args", "env", "env_vars", "environment", "url", "httpUrl", "serverUrl", "headers", "http_headers", "env_http_headers", "bearer_token_env_var", "tools", "enabled", "disabled"}

// servers takes the MCP servers of one file.
func (g *gatherer) servers(runtime, from string, table any) {
	all, _ := table.(object)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		o, _ := all[name].(object)
		at := from + ", server " + name
		s, notes, why := serverOf(name, o)
		if why != "" {
			g.keep(at, why)
			continue
		}
		if i := slices.IndexFunc(g.out.Servers, func(h Server) bool { return h.Name == name }); i >= 0 {
			if reflect.DeepEqual(g.out.Servers[i].MCPServer, s) {
				g.took("MCP server", at, "mcp: "+name, "the same as in "+g.out.Servers[i].From)
			} else {
				g.keep(at, "another server with that name is in "+g.out.Servers[i].From)
			}
			continue
		}
		for _, v := range slices.Concat(s.Env, s.Headers) {
			if v.Secret == nil && LooksSecret(v.Name) {
				notes = append(notes, "the value of "+v.Name+" stays where it is, out of the spec: export it as "+variableOf(v.Name))
			}
		}
		hide(s.Env)
		hide(s.Headers)
		g.out.Servers = append(g.out.Servers, Server{s, from})
		g.took("MCP server", at, "mcp: "+name, strings.Join(notes, "; "))
	}
}

// hide replaces values that look like secrets by references.
func hide(vars []spec.EnvVar) {
	for i, v := range vars {
		if v.Secret == nil && LooksSecret(v.Name) {
			vars[i] = spec.EnvVar{Name: v.Name, Secret: &spec.Secret{Env: variableOf(v.Name)}}
		}
	}
}

// variableOf is the name of the variable for a secret.
func variableOf(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }

// tells reports whether the command line or the address of s contains what
// looks like a secret.
func tells(s spec.MCPServer) bool {
	for i, arg := range s.Args {
		flag, value, both := strings.Cut(arg, "=")
		if strings.HasPrefix(flag, "-") && LooksSecret(flag) && !reference.MatchString(value) && (both || i+1 < len(s.Args) && !strings.HasPrefix(s.Args[i+1], "-")) {
			return true
		}
	}
	_, query, _ := strings.Cut(s.URL, "?")
	u, err := url.Parse(s.URL)
	return LooksSecret(query) || strings.Contains(query, "key=") || err == nil && u.User != nil
}

// serverOf reads a server in any of the forms; why says why it cannot be taken.
func serverOf(name string, o object) (s spec.MCPServer, notes []string, why string) {
	s = spec.MCPServer{Name: name, Command: textOf(o["command"]), Args: textsOf(o["args"])}
	for _, key := range []string{"url", "httpUrl", "serverUrl"} {
		if s.URL == "" {
			s.URL = textOf(o[key])
		}
	}
	if words := textsOf(o["command"]); s.Command == "" && len(words) > 0 { // opencode
		s.Command, s.Args = words[0], words[1:]
	}
	switch kind := textOf(o["type"]); {
	case !serverName.MatchString(name):
		return s, nil, "its name is not allowed in a spec"
	case s.Command == "" && s.URL == "":
		return s, nil, "it has neither command nor url"
	case s.Command != "" && s.URL != "":
		return s, nil, "it has both command and url"
	case kind == "sse" || textOf(o["transport"]) == "sse" || kind == "ws":
		return s, nil, "its transport (" + cmp.Or(kind, textOf(o["transport"])) + ") has no place in a spec"
	case o["enabled"] == false || o["disabled"] == true:
		return s, nil, "disabled"
	case tells(s):
		return s, nil, "its command line or address seems to contain a secret"
	case s.URL != "" && !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://"):
		return s, nil, "its url is not an http or https address"
	}
	env, headers := varName, headerName
	s.Env = append(variables(o["env"], env, &notes), variables(o["environment"], env, &notes)...)
	for _, name := range textsOf(o["env_vars"]) { // codex
		s.Env = append(s.Env, spec.EnvVar{Name: name, Secret: &spec.Secret{Env: name}})
	}
	s.Headers = append(variables(o["headers"], headers, &notes), variables(o["http_headers"], headers, &notes)...)
	if more, ok := o["env_http_headers"].(object); ok {
		for _, h := range slices.Sorted(maps.Keys(more)) {
			s.Headers = append(s.Headers, spec.EnvVar{Name: h, Secret: &spec.Secret{Env: textOf(more[h])}})
		}
	}
	if s.URL != "" {
		s.Args, s.Env = nil, nil
	} else {
		s.Headers = nil
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(knownKeys, key) {
			notes = append(notes, key+" has no place in a spec")
		}
	}
	if v := textOf(o["bearer_token_env_var"]); v != "" {
		notes = append(notes, "bearer_token_env_var has no place in a spec; give a header Authorization")
	}
	return s, notes, ""
}

// variables reads an environment or headers, sorted by name.
func variables(table any, names *regexp.Regexp, notes *[]string) []spec.EnvVar {
	all, _ := table.(object)
	var out []spec.EnvVar
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !names.MatchString(name) {
			*notes = append(*notes, fmt.Sprintf("%q is not allowed as a name in a spec", name))
			continue
		}
		v := spec.EnvVar{Name: name, Value: valueOf(all[name])}
		if m := reference.FindStringSubmatch(v.Value); m != nil {
			v.Value, v.Secret = "", &spec.Secret{Env: m[1]}
		}
		out = append(out, v)
	}
	return out
}
