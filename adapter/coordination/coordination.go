// Package coordination has what a project's ledger installs in agent programs and
// in git: the hooks that call aisync, the MCP server for programs without hooks, a
// text and a skill for every agent, and the guard before commits. It writes nothing;
// package adapter declares it. Call Hooks.
package coordination

import (
	_ "embed"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/schema/spec"
)

// events are the events at which the ledger reaches an agent. PreToolUse is for
// the tools that write; PostToolUse brings mail after any tool.
var events = []bundle.Hook{
	{Event: "SessionStart"}, {Event: "UserPromptSubmit"}, {Event: "PreToolUse", Tools: []string{"shell", "edit"}}, {Event: "PostToolUse"},
	{Event: "PreCompact"}, {Event: "Stop"}, {Event: "SessionEnd"},
}

// limit is the time limit of a hook in seconds. It takes milliseconds; only a
// stopped process holds a lock of the ledger longer.
const limit = 10

// Hooks returns the hooks of a runtime; none if the form of its answers is
// unknown. On a machine without aisync they do nothing.
func Hooks(runtime string) []bundle.Hook {
	if _, ok := catalog.HookFormOf(runtime); !ok {
		return nil
	}
	out := slices.Clone(events)
	for _, event := range catalog.TeamEvents(runtime) {
		out = append(out, bundle.Hook{Event: event})
	}
	for i, h := range out {
		out[i].Command, out[i].Timeout = catalog.HookCommand(h.Event, runtime)+" || true", limit
	}
	return out
}

// Servers returns the MCP server of the ledger, which a spec asks for at pos, for a
// runtime that Hooks has none for; none where own, the spec's servers, has one of its
// name. told is false where the runtime takes neither hooks nor a server in a project.
func Servers(rt spec.Runtime, pos spec.Position, own []spec.MCPServer) (servers []spec.MCPServer, told bool) {
	if len(Hooks(rt.ProgramID())) > 0 {
		return nil, true
	}
	if !rt.MCPSupport || rt.Project.MCP == nil {
		return nil, false
	}
	server := spec.MCPServer{Name: "aisync", Command: "aisync", Args: []string{"mcp", "--runtime", rt.ID}, Runtimes: []string{rt.ID}, Pos: pos}
	for _, m := range own {
		if m.Name == server.Name && (len(m.Runtimes) == 0 || slices.Contains(m.Runtimes, rt.ID)) {
			return nil, true
		}
	}
	return []spec.MCPServer{server}, true
}

// Text is what every agent of a project with a ledger reads.
//
//go:embed agents.md
var Text []byte

//go:embed skill.md
var skill []byte

// Skill says how to work with messages, claims and tasks. Programs load it when it
// is asked for.
func Skill() bundle.Skill {
	return bundle.Skill{Name: "aisync-agents", Files: []bundle.File{{Rel: "SKILL.md", Embedded: skill, Mode: 0o644}}}
}

const (
	preCommit = "pre-commit"
	guardFile = preCommit + ".d/aisync-claims"
)

//go:embed guard.sh
var guard []byte

// Guard returns the git hooks that keep an agent from committing what another one
// claims, beside those that bundles bring: the guard in pre-commit.d, and the
// pre-commit hook that runs that folder, unless a person has one (made reports
// whether aisync made the file). If theirs or a bundle's does not run the folder,
// note says what to do.
func Guard(dir string, brought []bundle.File, made func(name string) bool) (files []bundle.File, note string) {
	files = []bundle.File{{Rel: guardFile, Embedded: guard, Mode: 0o755}}
	text, what, err := []byte(nil), "githooks/"+preCommit, error(nil)
	if i := slices.IndexFunc(brought, func(f bundle.File) bool { return f.Rel == preCommit }); i >= 0 {
		if text, what = brought[i].Embedded, brought[i].Path; text == nil {
			text, err = os.ReadFile(what)
		}
		if err != nil {
			return files, "" // declaring the file reports it
		}
	} else if text, err = os.ReadFile(filepath.Join(dir, what)); err != nil || made != nil && made(what) {
		return append(files, bundle.File{Rel: preCommit, Embedded: dispatcher(), Mode: 0o755}), ""
	}
	if !runsFolder(text) {
		note = "the git hook that guards claims does not run: " + what + " does not run the files of " + preCommit + ".d; add a line to it: githooks/" + guardFile + " || exit 1"
	}
	return files, note
}

func runsFolder(hook []byte) bool { return strings.Contains(string(hook), preCommit+".d") }

// dispatcher is the hook that runs all of pre-commit.d, as the embedded bundles
// have it.
func dispatcher() []byte {
	text, err := fs.ReadFile(catalog.Bundles(), "languages/go/common/githooks/"+preCommit)
	if err != nil {
		panic(err) // embedded
	}
	return text
}
