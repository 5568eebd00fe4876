package gather

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// claudeState is the part of ~/.claude.json in which Claude Code keeps the
// servers of local scope, each person's own for one project.
// https://code.claude.com/docs/en/mcp
type claudeState struct {
	Projects map[string]struct {
		Servers map[string]any `json:"mcpServers"`
	} `json:"projects"`
}

// localServers names the person's own servers for this project. They are not for
// a spec that others get.
func (g *gatherer) localServers() {
	if g.ClaudeState == "" {
		return
	}
	content := readUpTo(g.ClaudeState, 64<<20)
	var state claudeState
	if content == nil || readJSON(content, &state) != nil {
		return
	}
	for _, dir := range append(slices.Clone(g.root.names), g.root.root.Name()) {
		for _, name := range slices.Sorted(maps.Keys(state.Projects[filepath.Clean(dir)].Servers)) {
			at := "~/.claude.json, server " + name
			if !slices.ContainsFunc(g.out.Kept, func(k Kept) bool { return k.Path == at }) {
				g.keep(at, "yours alone, in this project: claude goes on starting it")
			}
		}
	}
}

// serversOfProjects names the servers that the person has for single projects.
func (g *gatherer) serversOfProjects() {
	content, _, ok := g.readAny(".claude.json")
	var state claudeState
	if !ok || readJSON(content, &state) != nil {
		return
	}
	for _, dir := range slices.Sorted(maps.Keys(state.Projects)) {
		for _, name := range slices.Sorted(maps.Keys(state.Projects[dir].Servers)) {
			g.keep(".claude.json, server "+name+" of "+dir, "yours alone, in that project: claude goes on starting it there")
		}
	}
}

// readUpTo reads a regular file; nil if there is none, or it is larger.
func readUpTo(name string, limit int64) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > limit {
		return nil
	}
	content, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil
	}
	return content
}
