package packages

import (
	"slices"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// having are the packages with a program, by the program and the manager of a
// machine. Sources: archlinux.org, packages.debian.org, formulae.brew.sh.
var having = map[string]map[string]string{
	"bwrap":   {"pacman": "bubblewrap", "apt": "bubblewrap", "brew": "bubblewrap"},
	"bun":     {"pacman": "bun"},
	"cargo":   {"pacman": "rust", "apt": "cargo", "brew": "rust"},
	"deno":    {"pacman": "deno", "brew": "deno"},
	"docker":  {"pacman": "docker", "apt": "docker.io", "brew": "docker"},
	"git":     {"pacman": "git", "apt": "git", "brew": "git"},
	"go":      {"pacman": "go", "apt": "golang-go", "brew": "go"},
	"node":    {"pacman": "nodejs", "apt": "nodejs", "brew": "node"},
	"npm":     {"pacman": "npm", "apt": "npm", "brew": "node"},
	"npx":     {"pacman": "npm", "apt": "npm", "brew": "node"},
	"pipx":    {"pacman": "python-pipx", "apt": "pipx", "brew": "pipx"},
	"podman":  {"pacman": "podman", "apt": "podman", "brew": "podman"},
	"python3": {"pacman": "python", "apt": "python3", "brew": "python3"},
	"tmux":    {"pacman": "tmux", "apt": "tmux", "brew": "tmux"},
	"uv":      {"pacman": "uv", "brew": "uv"},
	"uvx":     {"pacman": "uv", "brew": "uv"},
}

// Having returns the package of the manager via that contains a program, "" if
// none is known.
func Having(via, program string) string { return having[program][via] }

// Programs returns the known programs of a package of the manager via, sorted.
func Programs(via, name string) []string {
	var out []string
	for program, by := range having {
		if by[via] == name || program == "node" && via == "pacman" && strings.HasPrefix(name, "nodejs-lts-") {
			out = append(out, program)
		}
	}
	slices.Sort(out)
	return out
}

// Need is a program that a spec needs on the machine to install or to start
// something.
type Need struct {
	Program string
	For     string // a clause: "npm installs claude"
	Pos     spec.Position
	// Packages contain it, by manager; nil: as Having knows them.
	Packages map[string]string
}

// Package returns the package of the manager via that contains the program, "" if
// none is known.
func (n Need) Package(via string) string {
	if n.Packages != nil {
		return n.Packages[via]
	}
	return Having(via, n.Program)
}

// Installer returns the program of the manager that a spec calls via, "" if it is
// unknown or needs none.
func Installer(via string) string {
	if m := managerOf(via); m != nil {
		return m.program
	}
	return ""
}

// Needs returns the programs that installing and starting what the host asks for
// takes, in the order of the spec. A program that is here already, from elsewhere,
// is not installed.
func (h Host) Needs() []Need {
	var out []Need
	by := func(in *spec.Install, what string) {
		m := managerOf(in.Via)
		if m == nil || m.system || m.manual != "" || having[m.program] == nil {
			return
		}
		reason := m.name + " installs " + what
		out = append(out, Need{Program: m.program, For: reason, Pos: in.Pos})
		if m == &npm {
			out = append(out, Need{Program: "node", For: reason, Pos: in.Pos})
		}
	}
	for _, use := range h.Spec.Runtimes {
		if use.Install != nil && (use.Install.Version != "" || h.program(h.command(use.ID)) == "") {
			by(use.Install, use.ID)
		}
	}
	for _, s := range h.Spec.Services {
		if s.Install != nil && s.Enabled {
			by(s.Install, s.Name)
		}
	}
	for _, m := range h.Spec.MCP {
		if m.Install != nil && !m.Disabled {
			by(m.Install, m.Name)
		}
		out = append(out, Starts(m)...)
	}
	return out
}

// command is the program of a runtime.
func (h Host) command(id string) string {
	for _, rt := range h.Runtimes {
		if rt.ID == id {
			return rt.Command
		}
	}
	return ""
}

// Starts returns the programs that starting an MCP server takes, as far as they
// are known: npx is a program of Node.
func Starts(m spec.MCPServer) []Need {
	if having[m.Command] == nil || m.Disabled || m.Install != nil {
		return nil
	}
	out := []Need{{Program: m.Command, For: "it starts the MCP server " + m.Name, Pos: m.Pos}}
	if m.Command == "npx" {
		out = append(out, Need{Program: "node", For: out[0].For, Pos: m.Pos})
	}
	return out
}
