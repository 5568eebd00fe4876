package effects

import (
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/merge"
)

// Server is an MCP server as a person typed it.
type Server struct {
	Name    string
	Command []string // with its arguments
	URL     string
	Words   []string // names and values of its environment and headers, the variables that provide them, and its other texts
}

// The names of settings that describe a server.
var (
	serverNames = []string{"command", "args", "url", "httpUrl", "serverUrl", "type", "enabled", "env", "environment", "headers", "http_headers", "env_http_headers", "env_vars", "bearer_token_env_var", "cwd",
		"timeout", "startup_timeout_sec", "tool_timeout_sec", "discoveryTimeoutMs", "tools", "includeTools", "excludeTools", "enabled_tools", "disabled_tools", "available_tools",
		"oauth", "auth", "clientId", "client_id", "CLIENT_ID", "oauthClientId", "scope", "scopes"}
	serverValues = []string{"stdio", "local", "http", "remote", "streamable-http", "sse"}
)

// Is reports whether e is exactly s: a spec can add to a typed server, and to
// what else it causes.
func (s Server) Is(e Effect) bool {
	if e.Class > Sends || !strings.HasSuffix(e.Key, merge.Pointer(s.Name)) || strings.Count(e.Key, "/") != 2 {
		return false
	}
	n := strings.Count(e.Key, "/")
	var command, args []string
	for _, set := range e.in {
		names := set.path[n:]
		if len(names) == 0 {
			return false
		}
		for i, name := range names {
			if !set.arrays[n+i] && !slices.Contains(serverNames, name) && !slices.Contains(s.Words, name) {
				return false
			}
		}
		v, isText := set.value.(string)
		v = inSpec(v)
		switch {
		case names[0] == "command" && isText:
			command = append(command, v)
		case names[0] == "args" && isText:
			args = append(args, v)
		case names[len(names)-1] == "enabled", strings.Contains(strings.ToLower(names[0]), "timeout"), empty(set.value):
		case !isText:
			return false
		case v == inSpec(s.URL), slices.ContainsFunc(s.Words, func(w string) bool { return inSpec(w) == v }), slices.Contains(serverValues, v):
		case names[0] == "tools" && v == "*":
		case names[0] == "bearer_token_env_var" && slices.Contains(s.Words, "Bearer ${"+v+"}"):
		case !slices.ContainsFunc(s.Words, func(w string) bool { return refersTo(v, w) }):
			return false
		}
	}
	typed := slices.Clone(s.Command)
	for i := range typed {
		typed[i] = inSpec(typed[i])
	}
	return slices.Equal(slices.Concat(command, args), typed)
}

// programReference is a reference to a variable as programs write it.
var programReference = regexp.MustCompile(`\$?\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)

// inSpec is a text of a program's file or of a spec with references in the form
// of a spec; the project's folder is the one in which a server starts.
func inSpec(text string) string {
	return strings.ReplaceAll(programReference.ReplaceAllString(text, "${$1}"), "${workspaceFolder}", ".")
}

// refersTo reports whether v is a program's reference to the variable name.
func refersTo(v, name string) bool {
	return v == "$"+name || v == "${"+name+"}" || v == "{env:"+name+"}"
}
