package gather

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"aisync.dev/aisync/schema/reference"
	"aisync.dev/aisync/schema/spec"
)

// serverReader reads one server of one file.
type serverReader struct {
	form spec.MCPFile
	left object // fields that are not read yet
	why  string // it cannot be taken; the first reason
}

// beyondSpec are fields that change what is started or called, and that a spec
// does not have: a server with one is left alone whole.
var beyondSpec = []string{"envFile", "headersHelper", "http_headers_helper", "environment_id", "tcp", "authProviderType", "targetAudience", "targetServiceAccount", "catalog"}

// readServer reads a server in the form of its file. beside are fields that stay
// in that file, where aisync leaves them alone; why says why it cannot be taken.
func readServer(form spec.MCPFile, name string, o object) (s spec.MCPServer, beside []string, why string) {
	r := &serverReader{form: form, left: maps.Clone(o)}
	s = spec.MCPServer{Name: name}
	kind := cmp.Or(textOf(r.take("type")), textOf(r.take("transport")))
	words := r.take("command")
	if list, ok := words.([]any); ok && len(list) > 0 { // opencode
		all := r.texts(list)
		s.Command, s.Args = all[0], all[1:]
	} else {
		s.Command, s.Args = r.text(cmp.Or(textOf(words), textOf(r.take("cmd")))), r.texts(r.take("args"))
	}
	at := ""
	for _, key := range []string{"url", "httpUrl", "serverUrl", "uri"} {
		if v := textOf(r.take(key)); v != "" && s.URL == "" {
			s.URL, at = r.text(v), key
		}
	}
	s.SSE = kind == "sse" || at == "url" && kind == "" && form.Shape == "gemini" && form.Fields["sse"] == ""
	switch {
	case !serverName.MatchString(name):
		return s, nil, "its name is not allowed in a spec"
	case s.Command == "" && s.URL == "":
		return s, nil, "it has neither command nor url"
	case s.Command != "" && s.URL != "":
		return s, nil, "it has both command and url"
	case kind == "ws":
		return s, nil, "its transport (ws) has no place in a spec"
	case s.URL != "" && !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "https://") && !strings.HasPrefix(s.URL, "${"):
		return s, nil, "its url is not an http or https address"
	}
	s.Env = r.variables(varName, "env", "environment", "envs")
	s.Env = append(s.Env, r.passed("env_vars", "env_keys")...)
	s.Headers = r.headers()
	r.rest(&s)
	for _, key := range beyondSpec {
		if r.left[key] != nil {
			r.refuse(key + " has no place in a spec")
		}
	}
	if form.Shape == "" && s.URL != "" {
		s.Args, s.Env = nil, nil
	}
	if form.Shape == "" && s.Command != "" {
		s.Headers = nil
	}
	sort.Slice(s.Env, func(i, j int) bool { return s.Env[i].Name < s.Env[j].Name })
	sort.Slice(s.Headers, func(i, j int) bool { return s.Headers[i].Name < s.Headers[j].Name })
	if r.why == "" && !sameInFile(form, s, o) {
		r.refuse("a spec cannot say all of it in the program's own form")
	}
	return s, slices.Sorted(maps.Keys(r.left)), r.why
}

// rest reads the fields that not all programs have.
func (r *serverReader) rest(s *spec.MCPServer) {
	place := r.form.Fields
	field := func(name string) any {
		if place[name] == "" {
			return nil
		}
		return r.takeAt(place[name])
	}
	s.Cwd = r.text(textOf(field("cwd")))
	for name, to := range map[string]*time.Duration{"start": &s.Start, "call": &s.Call} {
		for suffix, unit := range map[string]time.Duration{"": time.Second, "Millis": time.Millisecond} {
			if v := field(name + suffix); v != nil {
				d, ok := duration(v, unit)
				if !ok {
					r.refuse(fmt.Sprintf("%s is %v, which is no time", place[name+suffix], v))
				}
				*to = d
			}
		}
	}
	if on, off := r.take(cmp.Or(place["enabled"], "enabled")), r.take("disabled"); on == false || off == true {
		s.Disabled = true
		if place["enabled"] == "" {
			r.refuse("disabled")
		}
	}
	for name, to := range map[string]*[]string{"allow": &s.Allow, "deny": &s.Deny} {
		if v, ok := field(name).([]any); ok {
			*to = append([]string{}, textsOf(v)...)
		}
	}
	if r.form.Shape == "copilot" {
		if v := r.take("tools"); v != nil && !slices.Equal(textsOf(v), []string{"*"}) {
			s.Allow = append([]string{}, textsOf(v)...)
		}
	}
	if len(s.Deny) == 0 {
		s.Deny = nil
	}
	field("oauthEnabled")
	s.ClientID = textOf(field("clientId"))
	s.Scopes = textsOf(field("scopes"))
	s.Scopes = append(s.Scopes, strings.Fields(textOf(field("scope")))...)
	for _, key := range []string{"oauth", "auth"} {
		if inner, ok := r.left[key].(object); ok && s.ClientID+strings.Join(s.Scopes, "") != "" {
			for name := range inner {
				r.refuse(key + "." + name + " has no place in a spec")
			}
			delete(r.left, key)
		}
	}
}

func (r *serverReader) refuse(why string) {
	if r.why == "" {
		r.why = why
	}
}

// take returns a field, which is read then.
func (r *serverReader) take(name string) any {
	v := r.left[name]
	delete(r.left, name)
	return v
}

// takeAt is take for a path such as oauth/clientId.
func (r *serverReader) takeAt(path string) any {
	name, rest, nested := strings.Cut(path, "/")
	if !nested {
		return r.take(name)
	}
	outer, ok := r.left[name].(object)
	if !ok {
		return nil
	}
	inner := &serverReader{left: maps.Clone(outer)}
	v := inner.takeAt(rest)
	r.left[name] = inner.left
	return v
}

func (r *serverReader) text(text string) string {
	out, foreign := textInSpec(r.form, text)
	if foreign != "" {
		r.refuse("it needs " + foreign + ", which only that program fills in")
	}
	return out
}

func (r *serverReader) texts(v any) []string {
	var out []string
	for _, text := range textsOf(v) {
		out = append(out, r.text(text))
	}
	return out
}

// variables reads an environment or headers, sorted by name.
func (r *serverReader) variables(names *regexp.Regexp, keys ...string) []spec.EnvVar {
	var out []spec.EnvVar
	for _, key := range keys {
		all, _ := r.take(key).(object)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !names.MatchString(name) {
				r.refuse(fmt.Sprintf("%q is not allowed as a name in a spec", name))
				continue
			}
			v := spec.EnvVar{Name: name}
			text := valueOf(all[name])
			if file := fileOfValue.FindStringSubmatch(text); file != nil && r.form.SecretFile != "" {
				v.Secret = &spec.Secret{File: file[1]}
			} else if v.Value = r.text(text); reference.Variable(v.Value) != "" {
				v.Secret, v.Value = &spec.Secret{Env: reference.Variable(v.Value)}, ""
			}
			out = append(out, v)
		}
	}
	return out
}

// passed reads lists of variables that are passed through.
func (r *serverReader) passed(keys ...string) []spec.EnvVar {
	var out []spec.EnvVar
	for _, key := range keys {
		list, _ := r.take(key).([]any)
		for _, v := range list {
			name := textOf(v)
			if !varName.MatchString(name) {
				r.refuse(fmt.Sprintf("%s has %v, which has no place in a spec", key, v))
				continue
			}
			out = append(out, spec.EnvVar{Name: name, Secret: &spec.Secret{Env: name}})
		}
	}
	return out
}

func (r *serverReader) headers() []spec.EnvVar {
	out := r.variables(headerName, "headers", "http_headers")
	named, _ := r.take("env_http_headers").(object) // codex
	for _, h := range slices.Sorted(maps.Keys(named)) {
		out = append(out, spec.EnvVar{Name: h, Secret: &spec.Secret{Env: textOf(named[h])}})
	}
	if v := textOf(r.take("bearer_token_env_var")); v != "" {
		out = append(out, spec.EnvVar{Name: "Authorization", Value: "Bearer ${" + v + "}"})
	}
	return out
}
