package schema

import (
	"slices"
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
		Install: n.get("install").install(),
	}
	if s.Allow == nil && tools.get("allow").exists() {
		s.Allow = []string{} // not one
	}
	return s
}

// checkServer reports fields of s that do not go together.
func (n node) checkServer(s spec.MCPServer) {
	written := n.get("command").exists() || n.get("url").exists()
	if problem, hint := s.Contradiction(n.getStr("type")); problem != "" && (s.Command != "" || s.URL != "" || !written) {
		n.problem(problem, hint)
	} else if problem == "" && n.get("runtimes").exists() && len(s.Runtimes) == 0 {
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

// launchVars are variables of a program that aisync starts: a reference that is not the
// whole value would reach it as text.
func (n node) launchVars() []spec.EnvVar {
	list := n.references()
	for i, e := range list {
		parts := reference.Split(e.Value)
		if slices.ContainsFunc(parts, func(p reference.Part) bool { return p.Variable != "" }) {
			n.get(e.Name).problem("a variable is the whole value, or none of it", `write "${NAME}" alone, or $${ for the text ${`)
		} else if len(parts) == 1 {
			list[i].Value = parts[0].Text
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
