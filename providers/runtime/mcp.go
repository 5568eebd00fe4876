package runtime

import (
	"encoding/json"
	"fmt"
	"strings"

	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/merge"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// mcp declares the servers for every runtime that takes any, one leaf each.
func (b *builder) mcp(places []place, servers []spec.MCPServer) {
	var names []string
	for _, m := range servers {
		names = append(names, m.Name)
	}
	for _, p := range places {
		f := p.scope.MCP
		if f == nil || !p.rt.MCPSupport {
			if len(servers) > 0 {
				b.note(false, from(servers[0].Pos), "MCP servers are not for %s (%s): it takes none in this scope", p.rt.ID, list(names))
			}
			continue
		}
		for _, m := range servers {
			// What cannot be had is that one server: the file takes the others.
			row := reconcile.Address("mcp:" + p.rt.ID + "/" + m.Name)
			target, key := fileAt(f.Path), reconcile.LeafKey(f.Pointer+merge.Pointer(m.Name))
			value, err := server(p.rt.ID, f.Shape, m)
			if err != nil {
				b.cannot(row, from(m.Pos), "MCP server %s for %s: %v", m.Name, p.rt.ID, err)
				continue
			}
			leaf := reconcile.Leaf{Key: key, Body: file.Value(value), Own: reconcile.Member, Origin: from(m.Pos), Runs: commandLine(m)}
			if other, ok := b.by[leafID{target, key}]; ok && b.differs(target, leaf) {
				b.cannot(row, from(m.Pos), "MCP server %s for %s: %s reads the same file and needs it in another form", m.Name, p.rt.ID, other)
				continue
			}
			b.leaf(target, merge.Format(f.Format), leaf, p.rt.ID)
		}
	}
}

// differs reports whether target already holds another value under l's key.
func (b *builder) differs(target reconcile.Address, l reconcile.Leaf) bool {
	had := b.targets[target].Leaves[b.at[leafID{target, l.Key}]]
	return had.Body.Fingerprint() != l.Body.Fingerprint()
}

// The forms of one server, each in the order in which it is written.
type (
	claudeServer struct {
		Type    string            `json:"type,omitempty"`
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		URL     string            `json:"url,omitempty"`
		HTTPURL string            `json:"httpUrl,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
		Tools   []string          `json:"tools,omitempty"`
	}
	opencodeServer struct {
		Type        string            `json:"type"`
		Command     []string          `json:"command,omitempty"`
		URL         string            `json:"url,omitempty"`
		Enabled     bool              `json:"enabled"`
		Environment map[string]string `json:"environment,omitempty"`
		Headers     map[string]string `json:"headers,omitempty"`
	}
	codexServer struct {
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		URL     string            `json:"url,omitempty"`
		Headers map[string]string `json:"http_headers,omitempty"`
	}
)

// server renders m in the form that a program reads.
func server(runtime, shape string, m spec.MCPServer) (json.RawMessage, error) {
	env, err := variables(runtime, m.Env)
	if err != nil {
		return nil, err
	}
	headers, err := variables(runtime, m.Headers)
	if err != nil {
		return nil, err
	}
	remote := m.URL != ""
	switch shape {
	case "claude":
		s := claudeServer{Command: m.Command, Args: m.Args, Env: env, Headers: headers}
		switch {
		case !remote:
		case runtime == "gemini" || runtime == "qwen":
			s.HTTPURL = m.URL
		case runtime == "cursor":
			s.URL = m.URL
		default:
			s.Type, s.URL = "http", m.URL
		}
		return json.Marshal(s)
	case "copilot":
		s := claudeServer{Type: "local", Command: m.Command, Args: m.Args, Env: env, URL: m.URL, Headers: headers, Tools: []string{"*"}}
		if remote {
			s.Type = "http"
		}
		return json.Marshal(s)
	case "opencode":
		s := opencodeServer{Type: "local", Enabled: true, URL: m.URL, Environment: env, Headers: headers}
		if remote {
			s.Type = "remote"
		} else {
			s.Command = append([]string{m.Command}, m.Args...)
		}
		return json.Marshal(s)
	case "codex":
		return json.Marshal(codexServer{Command: m.Command, Args: m.Args, Env: env, URL: m.URL, Headers: headers})
	}
	return nil, fmt.Errorf("its adapter names the form %q, which this version does not know", shape)
}

// secretForms say how a program's configuration names a variable of its
// environment; those that are missing have no such form.
var secretForms = map[string]string{"claude": "${%s}", "gemini": "${%s}", "qwen": "${%s}", "cursor": "${env:%s}", "opencode": "{env:%s}"}

func variables(runtime string, vars []spec.EnvVar) (map[string]string, error) {
	if len(vars) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	for _, v := range vars {
		form := secretForms[runtime]
		switch {
		case v.Secret == nil:
			out[v.Name] = v.Value
		case v.Secret.Env != "" && form != "":
			out[v.Name] = fmt.Sprintf(form, v.Secret.Env)
		case v.Secret.File != "" && runtime == "opencode":
			out[v.Name] = "{file:" + v.Secret.File + "}"
		case v.Secret.File != "":
			return nil, fmt.Errorf("%s is a secret out of a file, and its configuration can not name a file; use {env: \"NAME\"}", v.Name)
		default:
			return nil, fmt.Errorf("%s is a secret, and its configuration has no form that names one; add the server by hand", v.Name)
		}
	}
	return out, nil
}

// commandLine is what a person is asked to trust.
func commandLine(m spec.MCPServer) string {
	if m.URL != "" {
		return m.URL
	}
	words := append([]string{m.Command}, m.Args...)
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\$`;&|<>()*?[]#~") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
