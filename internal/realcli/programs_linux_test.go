package realcli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/catalog/variant"
	"aisync.dev/aisync/internal/fakemodel"
	"aisync.dev/aisync/schema/spec"
)

// program is one agent program: what the catalog says of it, and what only a
// test needs.
type program struct {
	Package
	spec.Runtime
	flags []string                            // of a question, beside the catalog's
	env   []string                            // what stands in no file of it, with {url}
	any   []string                            // environment in which it runs in an untrusted folder
	say   []string                            // what a person tells it before it takes a project's MCP servers
	shell func(command string) fakemodel.Call // how its model runs a command
	read  func(file string) fakemodel.Call    // how its model reads a file
	mute  bool                                // it says nothing more once a call is denied
	skill func(name string) fakemodel.Call    // how its model takes a skill of which it is told the name alone; nil: it is told what for, too
	find  func(server string) fakemodel.Call  // how its model learns of the tools of an MCP server; nil: it is told
	// invoke is the command line that runs a command of its own; nil: "/name" as
	// the question.
	invoke func(p program, name string) []string
}

// call is a call of a tool that takes a command line, under some name.
func call(tool, argument string, more ...any) func(string) fakemodel.Call {
	return func(command string) fakemodel.Call {
		args := map[string]any{argument: command}
		for i := 0; i < len(more); i += 2 {
			args[more[i].(string)] = more[i+1]
		}
		return callOf(tool, args)
	}
}

// callOf is one call of a tool.
func callOf(tool string, args map[string]any) fakemodel.Call {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err) // strings, booleans and lists of them
	}
	return fakemodel.Call{Tool: tool, Args: b}
}

// inTests is what no person needs: one who sits before the program is asked. Codex
// asks about each hook: allowHooks answers.
var inTests = map[string]program{
	"claude": {say: []string{"sh", "-c", `mkdir -p .claude && echo '{"enabledMcpjsonServers": ["projectsrv"]}' >.claude/settings.local.json`}, shell: call("Bash", "command", "description", "Do it"), read: call("Read", "file_path")},
	"cline": {shell: func(command string) fakemodel.Call {
		return callOf("run_commands", map[string]any{"commands": []string{command}})
	}, read: func(file string) fakemodel.Call {
		return callOf("read_files", map[string]any{"files": []map[string]string{{"path": file}}})
	}, skill: call("skills", "skill"), invoke: func(p program, name string) []string {
		return p.ask("/" + name + " now") // a single word that begins with / is a command of its own to it
	}},
	"continue-cli": {shell: call("Bash", "command"), read: call("Read", "filepath"), mute: true},
	"codex":        {shell: call("exec_command", "cmd")},
	"copilot":      {shell: call("bash", "command", "description", "Do it", "mode", "sync"), read: call("view", "path")},
	"opencode":     {shell: call("bash", "command", "description", "Do it"), read: call("read", "filePath"), invoke: runCommand},
	"grok":         {shell: call("run_terminal_command", "command", "description", "Do it"), read: call("read_file", "target_file"), find: call("search_tool", "query"), any: []string{"GROK_FOLDER_TRUST=0"}},
	"kilo":         {shell: call("bash", "command", "description", "Do it"), read: call("read", "filePath"), invoke: runCommand},
	// It has no local endpoint, so its own API is what the fake model speaks. A
	// model by name spares a question about which to take; without --yolo it
	// offers no tool that it would have to ask about.
	"gemini": {
		flags: []string{"--yolo", "-m", "gemini-2.5-flash"}, env: []string{"GEMINI_API_KEY=x", "GOOGLE_GEMINI_BASE_URL={url}"},
		shell: call("run_shell_command", "command"), read: call("read_file", "file_path"),
		say: []string{"sh", "-c", `mkdir -p ~/.gemini/acknowledgments &&
			printf '{"%s": {"project-judge": "%s"}}' "$PWD" "$(sha256sum <.gemini/agents/project-judge.md | cut -d' ' -f1)" >~/.gemini/acknowledgments/agents.json`},
		any: []string{"GEMINI_CLI_TRUST_WORKSPACE=true"},
	},
	"pi": {shell: call("bash", "command"), find: func(server string) fakemodel.Call {
		return callOf("codemode", map[string]any{"code": fmt.Sprintf("return (await searchTools('say', {namespace: '%s'})).map(t => t.name)", server)})
	}},
	"qwen": {flags: []string{"--yolo"}, say: []string{"qwen", "mcp", "approve", "--all"}, shell: call("run_shell_command", "command", "is_background", false, "description", "Do it"), read: call("read_file", "file_path")},
}

// tested are the Agents in the versions that are run.
var tested = withVersions(Agents, os.Getenv(VersionsVariable))

// withVersions returns pins with the versions "ID=VERSION …".
func withVersions(pins []Package, versions string) []Package {
	out := slices.Clone(pins)
	for _, v := range strings.Fields(versions) {
		id, version, _ := strings.Cut(v, "=")
		for i := range out {
			if out[i].ID == id {
				out[i].Version = version
			}
		}
	}
	return out
}

// allowed is p with the answers of a person who allows each command, for programs that
// call the hooks of a command after that only.
func (p program) allowed() program {
	switch p.Runtime.ID {
	case "grok":
		p.flags = append(slices.Clone(p.flags), "--always-approve")
	case "kilo":
		p.Launch.Headless = []string{"run", "--auto", "{prompt}"}
	}
	return p
}

// runCommand runs a command of its own, as opencode does.
func runCommand(p program, name string) []string {
	return []string{p.Runtime.Command, "run", "--command", name, "now"}
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
	for _, a := range slices.Concat(tested, Parsers) {
		if a.ID == id {
			p.Package = a
		}
	}
	index := catalog.With(spec.Catalog{}).Changed(func(rt spec.Runtime) spec.Runtime { return variant.At(rt, p.Package.Version) })
	var ok bool
	if p.Runtime, ok = index.Runtime(id); !ok || p.Runtime.Packages["npm"] != p.Package.Name {
		t.Fatalf("the catalog does not have %s from npm's %s", id, p.Package.Name)
	}
	return p
}

// environ is what the launcher would set for it on a machine without a network.
func (p program) environ(url string) []string {
	var env []string
	for _, e := range p.env {
		env = append(env, strings.ReplaceAll(e, "{url}", url))
	}
	s := start.Server{Name: "fake", URL: url + "/v1", Model: "fake", Context: 200000}
	server, _ := s.Variables(p.Launch.Endpoint)
	for _, set := range []map[string]string{p.Launch.Environment, p.Launch.Offline, server} {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			env = append(env, name+"="+set[name])
		}
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
