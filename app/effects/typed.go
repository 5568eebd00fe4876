package effects

import (
	"slices"
	"strings"

	"aisync.dev/aisync/internal/merge"
)

// Server is an MCP server as a person typed it.
type Server struct {
	Name    string
	Command []string // with its arguments
	URL     string
	Words   []string // names and values of its environment and headers, and the variables that provide them
}

// The names of settings that describe a server.
var (
	serverNames  = []string{"command", "args", "url", "httpUrl", "serverUrl", "type", "enabled", "env", "environment", "headers", "http_headers", "env_http_headers", "env_vars", "bearer_token_env_var"}
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
		switch v, isText := set.value.(string); {
		case names[0] == "command" && isText:
			command = append(command, v)
		case names[0] == "args" && isText:
			args = append(args, v)
		case names[0] == "enabled" && set.value == true, empty(set.value):
		case !isText:
			return false
		case v == s.URL, slices.Contains(s.Words, v), slices.Contains(serverValues, v):
		case !slices.ContainsFunc(s.Words, func(w string) bool { return refersTo(v, w) }):
			return false
		}
	}
	return slices.Equal(slices.Concat(command, args), s.Command)
}

// refersTo reports whether v is a program's reference to the variable name.
func refersTo(v, name string) bool {
	return v == "$"+name || v == "${"+name+"}" || v == "{env:"+name+"}"
}
