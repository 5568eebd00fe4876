package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

var serverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// server are the fields of a server that a spec has too.
// https://code.claude.com/docs/en/mcp
type server struct {
	Type    string            `json:"type"`
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	URL     string            `json:"url"`
	HTTPURL string            `json:"httpUrl"` // of Gemini CLI
	Headers map[string]string `json:"headers"`
}

var passive = []string{"description", "timeout", "trust", "disabled", "autoApprove", "alwaysAllow", "$schema"}

// Servers parses a .mcp.json: an object of servers, or one below mcpServers. left
// says which servers are left out, and why. The error starts with the line.
func Servers(text []byte) (servers []spec.MCPServer, left []string, err error) {
	var doc map[string]json.RawMessage
	if err := decode(text, &doc); err != nil {
		return nil, nil, err
	}
	if inner, ok := doc["mcpServers"]; ok {
		doc = nil
		if err := json.Unmarshal(inner, &doc); err != nil {
			return nil, nil, fmt.Errorf(": mcpServers is no object of servers")
		}
	}
	for _, name := range names(doc) {
		s, why := readServer(name, doc[name])
		if why != "" {
			left = append(left, fmt.Sprintf("has the MCP server %s, which is left out: %s", name, why))
			continue
		}
		servers = append(servers, s)
	}
	return servers, left, nil
}

func readServer(name string, raw json.RawMessage) (spec.MCPServer, string) {
	var in server
	dec := json.NewDecoder(bytes.NewReader(without(raw, passive)))
	dec.DisallowUnknownFields()
	err := dec.Decode(&in)
	s := spec.MCPServer{Name: name, Command: in.Command, Args: in.Args, URL: in.URL, SSE: in.Type == "sse"}
	if s.URL == "" {
		s.URL = in.HTTPURL
	}
	switch {
	case !serverName.MatchString(name):
		return s, "its name is not allowed in a spec"
	case err != nil:
		return s, strings.TrimPrefix(err.Error(), "json: ")
	case (s.Command == "") == (s.URL == ""):
		return s, "it needs either a command or a url"
	case in.Type == "ws":
		return s, "its transport (ws) has no place in a spec"
	case s.URL != "" && !strings.HasPrefix(s.URL, "https://") && !strings.HasPrefix(s.URL, "http://") && !strings.HasPrefix(s.URL, "${"):
		return s, "its url is not an http or https address"
	case UsesRoot(string(raw)) || otherUse(string(raw)) != "":
		return s, "it starts a program of the plugin by its folder, which not all programs can name"
	}
	s.Env, s.Headers = variables(in.Env), variables(in.Headers)
	return s, ""
}

// without is an object without some fields.
func without(raw json.RawMessage, fields []string) []byte {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil {
		return raw
	}
	for _, f := range fields {
		delete(o, f)
	}
	out, _ := json.Marshal(o) // was JSON: cannot fail
	return out
}

// variables are those of an object, in the order of their names. A spec refers to
// the environment as Claude Code does, ${NAME} and ${NAME:-text}.
func variables(m map[string]string) []spec.EnvVar {
	var out []spec.EnvVar
	for _, name := range names(m) {
		out = append(out, spec.EnvVar{Name: name, Value: m[name]})
	}
	return out
}
