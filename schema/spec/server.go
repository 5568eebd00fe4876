package spec

import (
	"fmt"
	"strings"
)

// Contradiction returns what in s does not go together, and what to write
// instead; "" if all does. kind is the type that the spec names.
func (s MCPServer) Contradiction(kind string) (problem, hint string) {
	const local, remote = "%s of a local server, and this one has a url", "%s of a remote server, and this one has a command"
	switch {
	case s.Command == "" && s.URL == "":
		return "neither command nor url", "a local server has a command, a remote one a url"
	case s.Command != "" && s.URL != "":
		return "both command and url", "a local server has a command, a remote one a url"
	case s.URL != "" && (len(s.Args) > 0 || len(s.Env) > 0):
		return "args and env belong to a local server, this one has a url", "a remote server takes headers"
	case s.Command != "" && len(s.Headers) > 0:
		return "headers belong to a remote server, this one has a command", "a local server takes env"
	case s.URL != "" && s.Cwd != "":
		return fmt.Sprintf(local, "cwd is the folder"), "leave out cwd"
	case s.URL != "" && kind == "stdio":
		return fmt.Sprintf(local, `"stdio" is the type`), `write type: "http" or "sse", or leave it out`
	case s.Command != "" && (s.ClientID != "" || len(s.Scopes) > 0):
		return fmt.Sprintf(remote, "oauth is the login"), "leave out oauth"
	case s.Command != "" && kind != "" && kind != "stdio":
		return fmt.Sprintf(remote, fmt.Sprintf("%q is the type", kind)), `write type: "stdio", or leave it out`
	case s.URL != "" && s.Install != nil:
		return fmt.Sprintf(local, "install is"), "leave out install"
	case s.Install != nil && strings.ContainsAny(s.Command, "/$"):
		return "install takes its program from a package, and command is no name of a program there", `write its name, such as command: "mcp-server-filesystem"`
	}
	return "", ""
}

// Started says how a spec starts the package of s without installing it.
func (s MCPServer) Started() string {
	return fmt.Sprintf("write it under hosts, or start it with command: \"npx\", args: [\"-y\", \"%s@%s\", …]", s.Install.Package, s.Install.Version)
}
