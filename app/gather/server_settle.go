package gather

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"aisync.dev/aisync/schema/reference"
	"aisync.dev/aisync/schema/spec"
)

// foundServer is a server as one file has it.
type foundServer struct {
	spec.MCPServer
	runtime string // "" for a source of rulesync or ruler
	from    string
	form    spec.MCPFile
	object  object
	beside  []string // fields that stay in its file
}

func (f foundServer) at() string { return f.from + ", server " + f.Name }

// servers collects the MCP servers of one file.
func (g *gatherer) servers(runtime, from string, table any) {
	all, _ := table.(object)
	form := serverForm(runtime, from, g.Home)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		o, _ := all[name].(object)
		f := foundServer{runtime: runtime, from: from, form: form, object: o}
		var why string
		f.MCPServer, f.beside, why = readServer(form, name, o)
		why = cmp.Or(g.tells(from, f.MCPServer), why)
		f.Name = name
		if aside := g.Aside["mcp: "+name]; aside != "" {
			why = aside
		}
		if why == "" && runtime == "" {
			f.Runtimes, why = g.targetsOfServer(o)
		}
		if why != "" {
			g.keep(f.at(), why)
			continue
		}
		g.serversFound = append(g.serversFound, f)
	}
}

// targetsOfServer are the runtimes for which rulesync has a server; none: all.
func (g *gatherer) targetsOfServer(o object) (ids []string, why string) {
	for _, name := range textsOf(o["targets"]) {
		switch id := targetIDs[name]; {
		case name == "*":
			return nil, ""
		case id != "" && !slices.Contains(ids, id):
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 && len(textsOf(o["targets"])) > 0 {
		return nil, "it is for programs that aisync does not have"
	}
	slices.Sort(ids)
	return ids, ""
}

// settleServers makes one server of those that several programs have alike, and
// gives it to those programs. Of servers that differ under one name, the spec
// gets the first; the others stay in their files.
func (g *gatherer) settleServers() {
	for len(g.serversFound) > 0 {
		group := []foundServer{g.serversFound[0]}
		s := group[0].MCPServer
		var rest []foundServer
		for _, f := range g.serversFound[1:] {
			if f.Name != s.Name {
				rest = append(rest, f)
				continue
			}
			both, same := alikeServers(s, f.MCPServer)
			if same && !slices.ContainsFunc(append(slices.Clone(group), f), func(o foundServer) bool { return !sameInFile(o.form, both, o.object) }) {
				s, group = both, append(group, f)
				continue
			}
			g.keep(f.at(), "another server with that name is in "+group[0].from)
		}
		g.serversFound = rest
		if !g.Share && !slices.ContainsFunc(group, func(f foundServer) bool { return f.from != vscodeServers }) {
			g.keep(group[0].at(), "VS Code reads it there, and no runtime does; to give it to all: aisync import --share")
			continue
		}
		g.takeServer(s, group)
	}
}

// takeServer takes s, which each of group has.
func (g *gatherer) takeServer(s spec.MCPServer, group []foundServer) {
	for i, f := range group {
		if f.runtime != "" && f.from != vscodeServers && !slices.Contains(s.Runtimes, f.runtime) {
			s.Runtimes = append(s.Runtimes, f.runtime)
		}
		var notes []string
		if i > 0 {
			notes = append(notes, "the same as in "+group[0].from)
		}
		if stays := slices.Concat(f.beside, changedFields(f.MCPServer, s)); len(stays) > 0 {
			notes = append(notes, "left in "+f.from+", beside what the spec says: "+strings.Join(stays, ", "))
		}
		if i == 0 {
			notes = append(notes, g.hide(f.from, s.Name, s.Env)...)
			notes = append(notes, g.hide(f.from, s.Name, s.Headers)...)
		}
		g.took("MCP server", f.at(), "mcp: "+s.Name, strings.Join(notes, "; "))
	}
	g.out.Servers = append(g.out.Servers, Server{MCPServer: s, From: group[0].from, limited: group[0].runtime == "" && len(s.Runtimes) > 0})
}

// settleRuntimes leaves out the runtimes of a server that all programs of the
// import have which can have servers, or that shall be for all. What rulesync
// says of a server's targets stays.
func (g *gatherer) settleRuntimes() {
	var all []string
	for _, id := range slices.Concat(g.out.Runtimes, g.Runtimes) {
		if serverForm(id, "", g.Home).Shape != "" {
			all = append(all, id)
		}
	}
	for i := range g.out.Servers {
		s := &g.out.Servers[i]
		slices.Sort(s.Runtimes)
		if g.Share && !s.limited || !slices.ContainsFunc(all, func(id string) bool { return !slices.Contains(s.Runtimes, id) }) {
			s.Runtimes = nil
			continue
		}
		for j, t := range g.out.Taken {
			if t.To == "mcp: "+s.Name && len(s.Runtimes) > 0 {
				g.out.Taken[j].Note = joinNotes("for "+strings.Join(s.Runtimes, ", ")+" only", t.Note)
			}
		}
	}
}

// alikeServers returns what two servers say alike; same is false where they
// start or call something else. Times, tools and OAuth on which they differ stay
// in their files.
func alikeServers(a, b spec.MCPServer) (both spec.MCPServer, same bool) {
	both = a
	if strings.Contains(strings.Join(append(b.Args, b.Command), " "), "${"+reference.Workspace+"}") {
		both.Command, both.Args = b.Command, b.Args
	}
	if inProject(a.Cwd) && inProject(b.Cwd) && a.Cwd != b.Cwd {
		both.Cwd = ""
	}
	if a.Start != b.Start {
		both.Start = 0
	}
	if a.Call != b.Call {
		both.Call = 0
	}
	if !reflect.DeepEqual(a.Allow, b.Allow) {
		both.Allow = nil
	}
	if !reflect.DeepEqual(a.Deny, b.Deny) {
		both.Deny = nil
	}
	if a.ClientID != b.ClientID || !slices.Equal(a.Scopes, b.Scopes) {
		both.ClientID, both.Scopes = "", nil
	}
	both.Disabled = a.Disabled && b.Disabled
	return both, reflect.DeepEqual(identity(a), identity(b))
}

// identity is what s starts or calls, with what, and where.
func identity(s spec.MCPServer) []any {
	here := func(text string) string { return strings.ReplaceAll(text, "${"+reference.Workspace+"}", ".") }
	command := []string{here(s.Command)}
	for _, arg := range s.Args {
		command = append(command, here(arg))
	}
	cwd := here(s.Cwd)
	if inProject(s.Cwd) {
		cwd = ""
	}
	nonNil := func(list []spec.EnvVar) []spec.EnvVar { return append([]spec.EnvVar{}, list...) }
	return []any{command, cwd, s.URL, s.SSE, nonNil(s.Env), nonNil(s.Headers), s.Runtimes}
}

func inProject(cwd string) bool {
	return slices.Contains([]string{"", ".", "./", "${" + reference.Workspace + "}"}, cwd)
}

// changedFields names what f says and s does not.
func changedFields(f, s spec.MCPServer) []string {
	var out []string
	for _, c := range []struct {
		name string
		lost bool
	}{
		{"cwd", f.Cwd != s.Cwd && !inProject(f.Cwd)},
		{"its timeout", f.Start != s.Start || f.Call != s.Call},
		{"its list of tools", !reflect.DeepEqual(f.Allow, s.Allow) || !reflect.DeepEqual(f.Deny, s.Deny)},
		{"its OAuth", cmp.Compare(f.ClientID, s.ClientID) != 0 || !slices.Equal(f.Scopes, s.Scopes)},
		{"that it is not enabled", f.Disabled != s.Disabled},
	} {
		if c.lost {
			out = append(out, c.name)
		}
	}
	return out
}
