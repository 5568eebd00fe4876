package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/internal/bundle/plugin"
)

// readPlugin reads the manifest of the plugin that the source is; the zero value
// is none.
func (t *Tree) readPlugin() (plugin.Manifest, error) {
	for _, name := range plugin.ManifestNames {
		if !t.isFile(name) {
			continue
		}
		d, err := t.document(name, name)
		if err != nil {
			return plugin.Manifest{}, err
		}
		m, err := plugin.ReadManifest(d.Text)
		if err != nil {
			return m, fmt.Errorf("%s%w", d.Path, err)
		}
		return m, nil
	}
	return plugin.Manifest{}, nil
}

// marketplace are the plugins that the source lists, besides itself. A list that
// cannot be read has none.
func (t *Tree) marketplace() []plugin.Listed {
	all, _ := t.Plugins()
	return slices.DeleteFunc(all, func(p plugin.Listed) bool { return p.Path == "." })
}

// Plugins are those of the marketplace that the source is, itself too; none: it
// is none.
func (t *Tree) Plugins() ([]plugin.Listed, error) {
	for _, name := range plugin.MarketplaceNames {
		if !t.isFile(name) {
			continue
		}
		d, err := t.document(name, name)
		if err != nil {
			return nil, err
		}
		m, err := plugin.ReadMarketplace(d.Text)
		if err != nil {
			return nil, fmt.Errorf("%s%w", d.Path, err)
		}
		return m.Plugins, nil
	}
	return nil, nil
}

// pluginParts adds what the plugin's manifest names, and its servers.
func (t *Tree) pluginParts(p *Part) error {
	m, err := t.plugin()
	if err != nil {
		return err
	}
	n := &p.Neutral
	for _, name := range plugin.ManifestNames {
		if t.isFile(name) {
			if err := t.jsonFile(n, name, func([]byte) error { return nil }); err != nil { // its bytes count in the digest
				return err
			}
			break
		}
	}
	for _, k := range []struct {
		list  *[]File
		paths []string
		done  string
	}{{&n.Commands, m.Commands, "commands"}, {&n.Agents, m.Agents, "agents"}} {
		if t.manifestIs(plugin.AgentManifest) {
			k.paths = append(k.paths, plugin.CopilotFolder+"/"+k.done)
		}
		for _, at := range k.paths {
			if at == k.done {
				continue
			}
			if err := t.addAt(k.list, at); err != nil {
				return err
			}
		}
		shorten(*k.list, ".agent.md")
		shorten(*k.list, ".prompt.md")
	}
	servers := append([]string{".mcp.json"}, m.Servers...)
	if t.manifestIs(plugin.CursorManifest, plugin.AgentManifest) && !t.isFile(".mcp.json") {
		servers = append([]string{"mcp.json"}, m.Servers...)
	}
	for i, name := range servers {
		if i > 0 && name == servers[0] {
			continue
		}
		if err := t.jsonFile(n, name, func(text []byte) error { return t.addServers(p, t.at(name), text) }); err != nil {
			return err
		}
	}
	if len(m.Inline) > 0 {
		if err := t.addServers(p, t.at("plugin.json"), m.Inline); err != nil {
			return fmt.Errorf("%s: mcpServers%w", t.at("plugin.json"), err)
		}
	}
	for _, name := range m.Hooks {
		if name == "hooks/hooks.json" || len(n.Hooks) > 0 {
			continue // the standard place is read already
		}
		if err := t.jsonFile(n, name, func(text []byte) error {
			if !plugin.IsHooks(text) {
				return nil
			}
			return t.standardHooks(p, t.at(name), text)
		}); err != nil {
			return err
		}
	}
	for _, at := range slices.Concat(m.Commands, m.Agents, m.Hooks, m.Servers) {
		if _, err := t.stat(at); errors.Is(err, fs.ErrNotExist) {
			p.Problems = append(p.Problems, t.problem(t.at(at), "is named by the manifest of the plugin, and is not there"))
		}
	}
	t.leftOut(p)
	if plugin.IsHooks(m.InlineHooks) && len(n.Hooks) == 0 {
		if err := t.standardHooks(p, t.at("plugin.json"), m.InlineHooks); err != nil {
			return fmt.Errorf("%s: hooks%w", t.at("plugin.json"), err)
		}
	}
	return nil
}

// manifestIs reports whether the manifest that counts is one of names. Plugins for
// Cursor alone and Agent Plugins have places that mean something else elsewhere:
// mcp.json and rules.
func (t *Tree) manifestIs(names ...string) bool {
	i := slices.IndexFunc(plugin.ManifestNames, t.isFile)
	return i >= 0 && slices.Contains(names, plugin.ManifestNames[i])
}

// rulesOfCursor adds the rules of a plugin for Cursor.
func (t *Tree) rulesOfCursor(p *Part, u use) error {
	m, err := t.plugin()
	if err != nil {
		return err
	}
	named, err := m.Rules()
	if err != nil {
		return fmt.Errorf("%s%w", t.at(plugin.CursorManifest), err)
	}
	for _, at := range append([]string{"rules"}, named...) {
		dir, keep := at, func(rel string) bool { return strings.HasSuffix(rel, ".mdc") || isRule(rel) }
		if t.isFile(at) {
			dir, keep = path.Dir(at), func(rel string) bool { return rel == path.Base(at) }
		}
		if err := t.add(&p.Rules, dir, u, nil, keep); err != nil {
			return err
		}
	}
	shorten(p.Rules, ".mdc")
	return nil
}

// rootless reports the commands and subagents whose text has files of the plugin by
// a variable that aisync cannot fill in.
func (t *Tree) rootless(p *Part) {
	for _, f := range slices.Concat(p.Neutral.Commands, p.Neutral.Agents) {
		if plugin.UsesRoot(string(f.Text)) {
			p.Problems = append(p.Problems, t.problem(f.Path, noRoot))
		}
	}
}

const noRoot = "refers to files of its plugin by ${" + plugin.Root + "}, which a program knows only of plugins that it has installed itself"

// leftOut reports the parts of a plugin that no bundle has.
func (t *Tree) leftOut(p *Part) {
	if !slices.ContainsFunc(plugin.ManifestNames, t.isFile) {
		return
	}
	named := map[string]string{
		"output-styles": "output styles", ".lsp.json": "language servers", "themes": "themes", "monitors": "monitors", "GEMINI.md": "notes of an extension",
	}
	if t.manifestIs(plugin.AgentManifest) {
		named["extensions"], named[plugin.CopilotFolder+"/rules"], named[plugin.CopilotFolder+"/hooks"] = "extensions of Copilot", "rules of Copilot's plugins", "hooks of Copilot's plugins"
	}
	for name, what := range named {
		if _, err := t.stat(name); err == nil {
			p.Problems = append(p.Problems, t.problem(t.at(name), "is left out: aisync takes no "+what))
		}
	}
	commands, err := t.list("commands", plain, nil, func(rel string) bool { return strings.HasSuffix(rel, ".toml") })
	if err == nil && len(commands) > 0 {
		p.Problems = append(p.Problems, t.problem(t.at("commands"), "has commands as TOML, which are left out; aisync takes Markdown"))
	}
	sort.Slice(p.Problems, func(i, j int) bool { return p.Problems[i].Path < p.Problems[j].Path })
}

// addAt adds the texts at a path of a manifest, a file or a folder.
func (t *Tree) addAt(list *[]File, at string) error {
	if t.isFile(at) {
		return t.add(list, path.Dir(at), rule, never, func(rel string) bool { return rel == path.Base(at) })
	}
	return t.add(list, at, rule, nil, isRule)
}

func (t *Tree) addServers(p *Part, name string, text []byte) error {
	servers, left, err := plugin.Servers(text)
	for _, why := range left {
		p.Problems = append(p.Problems, t.problem(name, why))
	}
	for i := range servers {
		servers[i].Pos = t.Pos
	}
	p.Neutral.Servers = append(p.Neutral.Servers, servers...)
	return err
}

// standardHooks adds the hooks of a plugin. One that calls files of the plugin
// gets those below the plugin's name, and a program that runs it there.
func (t *Tree) standardHooks(p *Part, name string, text []byte) error {
	hooks, left, err := plugin.Hooks(text, Events)
	if err != nil {
		return err
	}
	for _, why := range left {
		p.Problems = append(p.Problems, t.problem(name, why))
	}
	n := &p.Neutral
	folder, err := t.pluginName()
	if err != nil {
		return err
	}
	runner, called := folder+"/run-hook", false
	for _, h := range hooks {
		command := h.Command
		if plugin.UsesRoot(command) {
			called, command = true, runner+" '"+strings.ReplaceAll(plugin.InSettings(command), "'", `'\''`)+"'"
		}
		n.Hooks = append(n.Hooks, Hook{Event: h.Event, Tools: h.Tools, Command: command, Timeout: h.Timeout, Runtimes: h.Runtimes, If: h.If, written: h.Command, matcher: h.Matcher})
	}
	if !called {
		return nil
	}
	files, err := t.needed(hooks)
	if err != nil {
		return err
	}
	for i := range files {
		files[i].Rel = folder + "/" + files[i].Rel
	}
	sum := sha256.Sum256([]byte(plugin.Runner))
	n.Programs = append(append(n.Programs, files...), File{Rel: runner, Embedded: []byte(plugin.Runner), Digest: "sha256:" + hex.EncodeToString(sum[:]), Mode: 0o755})
	return nil
}

// PluginName is the name of the plugin that the source is, as its manifest has it; "":
// it is none.
func (t *Tree) PluginName() string {
	m, err := t.plugin()
	if err != nil {
		return "" // what opens it says why
	}
	return m.Name
}

// ManifestError is why the manifest of the plugin that the source is cannot be read; nil
// also where it has none.
func (t *Tree) ManifestError() error {
	_, err := t.plugin()
	return err
}

// Whole returns every file of the plugin that the source is, for a program that loads
// it by its own means: sorted, with the digest of their names, modes and bytes. The
// error names a source that is no plugin of Claude Code.
func (t *Tree) Whole() (files []File, digest string, err error) {
	if !t.isFile(plugin.ManifestNames[0]) {
		return nil, "", fmt.Errorf("%s has no %s, so it is no plugin that claude could load itself; leave native out", t.at(), plugin.ManifestNames[0])
	}
	if name := t.PluginName(); !skillName.MatchString(name) {
		return nil, "", fmt.Errorf("%s: %q is no name of a plugin; leave native out", t.at(plugin.ManifestNames[0]), name)
	}
	jobs, err := t.list(".", whole, nil, nil)
	if err != nil {
		return nil, "", err
	}
	sort.Slice(jobs, func(i, j int) bool { return jobs[i].rel < jobs[j].rel })
	if files, err = t.read(jobs); err != nil {
		return nil, "", err
	}
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%q %o %s\n", f.Rel, f.Mode, f.Digest)
	}
	return files, hex.EncodeToString(h.Sum(nil)), nil
}

// wholeMark begins the digest of a source that is taken whole.
const wholeMark = "whole:"

// IsWhole reports whether digest is one of DigestOf for a source that is taken whole.
func IsWhole(digest string) bool { return strings.HasPrefix(digest, wholeMark) }

// DigestOf is the digest that a pin holds: of the files that the source could install,
// and, where a program takes it whole, of every file too.
func (t *Tree) DigestOf(whole bool) (string, error) {
	digest, err := t.Digest()
	if err != nil || !whole || !t.isFile(plugin.ManifestNames[0]) { // Whole says what it lacks
		return digest, err
	}
	_, all, err := t.Whole()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(digest + " " + all))
	return wholeMark + "sha256:" + hex.EncodeToString(sum[:]), nil
}

// pluginName is the plugin's name, or that of its source.
func (t *Tree) pluginName() (string, error) {
	m, err := t.plugin()
	if err == nil && skillName.MatchString(m.Name) {
		return m.Name, nil
	}
	return t.Name, err
}
