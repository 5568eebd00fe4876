// Package marketplace finds a plugin in a list of plugins that others publish. It
// fetches nothing and writes nothing. Call Address, open the source there, then Find.
package marketplace

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/schema/spec"
)

// known are names of marketplaces, as Claude Code and Copilot CLI have them. Plugins of
// awesome-copilot have their parts on that branch alone.
// https://code.claude.com/docs/en/discover-plugins
// https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/plugins-finding-installing
var known = map[string]string{
	"anthropic-agent-skills":  "anthropics/skills",
	"awesome-copilot":         "gh:github/awesome-copilot@marketplace",
	"claude-code-workflows":   "wshobson/agents",
	"claude-plugins-official": "anthropics/claude-plugins-official",
	"copilot-plugins":         "github/copilot-plugins",
	"superpowers-marketplace": "obra/superpowers-marketplace",
}

// Address returns where the marketplace called market lies: a source of the spec that
// is no plugin of one, a known name or its repository, or an address, which read reads.
func Address(market string, sources []spec.Source, read func(text string) (string, error)) (url string, err error) {
	if i := slices.IndexFunc(sources, func(s spec.Source) bool { return s.Name == market && s.From == "" }); i >= 0 {
		return branchOf(sources[i].URL, read), nil
	}
	if k := known[market]; k != "" {
		return read(k)
	}
	if url, err = read(market); err != nil {
		return "", err
	}
	return branchOf(url, read), nil
}

// branchOf is url, or the branch with the plugins if url is the repository of a known
// marketplace and names none.
func branchOf(url string, read func(text string) (string, error)) string {
	for _, k := range known {
		repo, _, branch := strings.Cut(k, "@")
		if !branch {
			continue
		}
		if same, err := read(repo); err == nil && same == url {
			if at, err := read(k); err == nil {
				return at
			}
		}
	}
	return url
}

// Split reads PLUGIN@MARKETPLACE.
func Split(text string) (plugin, market string, ok bool) {
	plugin, market, ok = strings.Cut(text, "@")
	return plugin, market, ok && plugin != "" && market != ""
}

// Others returns the plugins that tree, a marketplace, has in itself besides the one
// called name: those that can be had and hold something.
func Others(ctx context.Context, tree *bundle.Tree, name string) (names []string) {
	plugins, err := tree.Plugins()
	if err != nil {
		return nil
	}
	for _, p := range plugins {
		if p.Name == name || p.Fault != "" || p.Source != "" || tree.Inside(p.Path) != nil {
			continue
		}
		t, err := new(bundle.Sources).Open(ctx, spec.Source{Name: p.Name, URL: filepath.Join(tree.Dir, filepath.FromSlash(p.Path))})
		if err == nil && len(t.Holds()) > 0 {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Plugin is where a marketplace has a plugin.
type Plugin struct {
	URL    string   // its address
	Skills []string // the folders of its skills; none: as its manifest says
}

// Find returns the plugin called name of tree, which is what lies at url and which
// errors call market: a marketplace that lists it, or the plugin itself. A relative
// folder starts at dir. It follows the marketplace's word once: what that names must
// be the plugin.
func Find(tree *bundle.Tree, market, url, name, dir string) (Plugin, error) {
	plugins, err := tree.Plugins()
	if err != nil {
		return Plugin{}, fmt.Errorf("marketplace %s: %w", market, err)
	}
	if len(plugins) == 0 {
		if err := tree.ManifestError(); err != nil {
			return Plugin{}, fmt.Errorf("%s: %w", market, err)
		}
		switch own := tree.PluginName(); own {
		case "":
			return Plugin{}, fmt.Errorf("%s is no marketplace: it has %s", market, tree.Contents())
		case name: // the plugin itself
			return Plugin{URL: url}, nil
		default:
			return Plugin{}, fmt.Errorf("%s is no marketplace but the plugin %q", market, own)
		}
	}
	var names []string
	for _, p := range plugins {
		names = append(names, p.Name)
		switch {
		case p.Name != name:
			continue
		case p.Fault != "":
			return Plugin{}, fmt.Errorf("plugin %s of %s cannot be had: %s", name, market, p.Fault)
		}
		out := Plugin{URL: p.Source, Skills: p.Skills}
		if p.Source == "" {
			if err := tree.Inside(p.Path); err != nil {
				return Plugin{}, fmt.Errorf("plugin %s of %s cannot be had: %w", name, market, err)
			}
			out.URL = bundle.Below(url, p.Path)
		}
		if _, err := bundle.Address(out.URL, dir); err != nil {
			return Plugin{}, fmt.Errorf("plugin %s of %s cannot be had: %w", name, market, err)
		}
		return out, nil
	}
	return Plugin{}, fmt.Errorf("marketplace %s has no plugin %q%s", market, name, nearest.Suggest(name, names))
}
