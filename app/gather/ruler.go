package gather

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// ruler reads .ruler: every Markdown file in it is a part of what all programs get.
// https://github.com/intellectronica/ruler
func (g *gatherer) ruler() {
	dir := ".ruler"
	if g.Home {
		dir = ".config/ruler"
	}
	for _, rel := range g.walk(dir) {
		from := path.Join(dir, rel)
		top, _, nested := strings.Cut(rel, "/")
		base, md := withSuffix(rel, ".md")
		switch {
		case nested && (top == "skills" || top == "agents"):
		case !nested && (rel == "ruler.toml" || rel == "mcp.json"):
		case !md:
			g.keep(from, "its name is not that of a rule")
		default:
			if content, _, ok := g.read(from); ok {
				// A README is for people, and a name in capitals is that of an
				// instruction file.
				g.texts = append(g.texts, text{what: "rule", from: from, rel: strings.ToLower(base) + ".md", content: content})
			}
		}
	}
	g.neutralSkills(dir + "/skills")
	g.textsIn("agent", "", dir+"/agents", ".md")
	o, ok := g.config(dir + "/ruler.toml")
	if ok {
		for _, name := range textsOf(o["default_agents"]) {
			g.target(name, dir+"/ruler.toml")
		}
		agents, _ := o["agents"].(object)
		for _, name := range slices.Sorted(maps.Keys(agents)) {
			if a, _ := agents[name].(object); a["enabled"] == true {
				g.target(name, dir+"/ruler.toml")
			}
		}
		g.servers("", dir+"/ruler.toml", o["mcp_servers"])
		for _, key := range slices.Sorted(maps.Keys(o)) {
			if !slices.Contains([]string{"default_agents", "agents", "mcp_servers", "mcp", "gitignore", "backup", "nested"}, key) {
				g.keep(dir+"/ruler.toml, "+key, "aisync has no equivalent")
			}
		}
	}
	if o, ok := g.config(dir + "/mcp.json"); ok {
		g.servers("", dir+"/mcp.json", o["mcpServers"])
	}
	g.generated()
}
