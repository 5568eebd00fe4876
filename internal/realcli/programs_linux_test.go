package realcli

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// program is one agent program: what the catalog says of it, and what only a
// test needs.
type program struct {
	Package
	spec.Runtime
	flags []string // of a question, beside the catalog's
	env   []string // what stands in no file of it, with {url}
	any   []string // environment in which it runs in a folder that nobody has trusted
	say   []string // what a person tells it before it takes a project's MCP servers
}

// inTests is what no person needs: one who sits before the program is asked.
var inTests = map[string]program{
	"claude": {say: []string{"sh", "-c", `mkdir -p .claude && echo '{"enabledMcpjsonServers": ["projectsrv"]}' >.claude/settings.local.json`}},
	"codex":  {flags: []string{"--dangerously-bypass-hook-trust"}},
	// It has no local endpoint, so its own API is what the fake model speaks. A
	// model by name spares a question about which to take; without --yolo it
	// offers no tool that it would have to ask about.
	"gemini": {
		flags: []string{"--yolo", "-m", "gemini-2.5-flash"}, env: []string{"GEMINI_API_KEY=x", "GOOGLE_GEMINI_BASE_URL={url}"},
		any: []string{"GEMINI_CLI_TRUST_WORKSPACE=true"},
	},
	"pi":   {flags: []string{"--approve"}},
	"qwen": {say: []string{"qwen", "mcp", "approve", "--all"}},
}

// everyone is the ids of Agents.
func everyone() (ids []string) {
	for _, p := range Agents {
		ids = append(ids, p.ID)
	}
	return ids
}

// lookUp joins what is known of the program id.
func lookUp(t *testing.T, id string) program {
	t.Helper()
	p := inTests[id]
	for _, a := range Agents {
		if a.ID == id {
			p.Package = a
		}
	}
	var ok bool
	if p.Runtime, ok = catalog.With(spec.Catalog{}).Runtime(id); !ok || p.Runtime.Packages["npm"] != p.Package.Name {
		t.Fatalf("the catalog does not have %s from npm's %s", id, p.Package.Name)
	}
	return p
}

// environ is what the launcher would set for it on a machine without a network.
func (p program) environ(url string) []string {
	env := slices.Clone(p.env)
	for _, set := range []map[string]string{p.Launch.Environment, p.Launch.Offline, p.Launch.Endpoint} {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			env = append(env, name+"="+set[name])
		}
	}
	for i := range env {
		env[i] = strings.NewReplacer("{url}", url, "{model}", "fake", "{key}", "none", "{context}", "200000").Replace(env[i])
	}
	return env
}

// ask is the command line of one question, which the catalog knows.
func (p program) ask(prompt string) []string {
	argv := append([]string{p.Runtime.Command}, p.flags...)
	for _, a := range p.Launch.Headless {
		argv = append(argv, strings.ReplaceAll(a, "{prompt}", prompt))
	}
	return argv
}
