package schema

import (
	"fmt"
	"time"

	"aisync.dev/aisync/schema/reference"
	"aisync.dev/aisync/schema/spec"
)

func (n node) mcpServers() []spec.MCPServer {
	var servers []spec.MCPServer
	for _, f := range n.fields() {
		s := f.mcpServer()
		f.checkServer(s)
		servers = append(servers, s)
	}
	return servers
}

func (n node) mcpServer() spec.MCPServer {
	timeout, tools, oauth := n.get("timeout"), n.get("tools"), n.get("oauth")
	s := spec.MCPServer{
		Name: n.name(), Command: n.getStr("command"), Args: n.getStrings("args"), URL: n.getStr("url"),
		Env: n.get("env").references(), Headers: n.get("headers").references(), Pos: n.labelPos(), From: n.getStr("from"),
		SSE: n.getStr("type") == "sse", Cwd: n.getStr("cwd"), Start: timeout.get("start").duration(), Call: timeout.get("call").duration(),
		Disabled: !n.get("enabled").bool(true), Allow: tools.getStrings("allow"), Deny: tools.getStrings("deny"),
		ClientID: oauth.getStr("clientId"), Scopes: oauth.getStrings("scopes"), Runtimes: n.getStrings("runtimes"),
	}
	if s.Allow == nil && tools.get("allow").exists() {
		s.Allow = []string{} // not one
	}
	return s
}

// checkServer reports fields of s that do not go together.
func (n node) checkServer(s spec.MCPServer) {
	const local, remote = "%s of a local server, and this one has a url", "%s of a remote server, and this one has a command"
	kind := n.getStr("type")
	only := func(form, field, hint string) { n.problem(fmt.Sprintf(form, field), hint) }
	switch {
	case s.Command == "" && s.URL == "" && !n.get("command").exists() && !n.get("url").exists():
		n.problem("neither command nor url", "a local server has a command, a remote one a url")
	case s.Command != "" && s.URL != "":
		n.problem("both command and url", "a local server has a command, a remote one a url")
	case s.URL != "" && (len(s.Args) > 0 || len(s.Env) > 0):
		n.problem("args and env belong to a local server, this one has a url", "a remote server takes headers")
	case s.Command != "" && len(s.Headers) > 0:
		n.problem("headers belong to a remote server, this one has a command", "a local server takes env")
	case s.URL != "" && s.Cwd != "":
		only(local, "cwd is the folder", "leave out cwd")
	case s.URL != "" && kind == "stdio":
		only(local, `"stdio" is the type`, `write type: "http" or "sse", or leave it out`)
	case s.Command != "" && (s.ClientID != "" || len(s.Scopes) > 0):
		only(remote, "oauth is the login", "leave out oauth")
	case s.Command != "" && kind != "" && kind != "stdio":
		only(remote, fmt.Sprintf("%q is the type", kind), `write type: "stdio", or leave it out`)
	case n.get("runtimes").exists() && len(s.Runtimes) == 0:
		n.get("runtimes").problem("no runtime gets this server", "name one, or leave out runtimes to give it to all")
	}
}

// references are variables, where a value that is one reference is a secret.
func (n node) references() []spec.EnvVar {
	list := n.envVars()
	for i, e := range list {
		if v := reference.Variable(e.Value); v != "" {
			list[i].Value, list[i].Secret = "", &spec.Secret{Env: v}
		}
	}
	return list
}

// duration is a number of seconds, to the millisecond.
func (n node) duration() time.Duration {
	if !n.exists() {
		return 0
	}
	f, _ := n.v.Float64()
	return time.Duration(f*1000+0.5) * time.Millisecond
}

// checkServers refuses servers for runtimes that the catalog does not know.
func (x inventory) checkServers(n node, servers []spec.MCPServer) {
	for _, s := range servers {
		for _, e := range n.get(s.Name).get("runtimes").elements() {
			if id := e.str(); id != "" && !x.runtime(id) {
				x.unknown(e, e.valuePos(), id)
			}
		}
	}
}
