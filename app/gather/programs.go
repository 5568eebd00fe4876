package gather

import (
	"path"
	"strings"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// claude reads Claude Code's files. Settings and hooks keep its form; rules,
// skills, commands and agents are for all runtimes.
// https://code.claude.com/docs/en/settings
func (g *gatherer) claude() {
	const own = "settings.local.json is personal"
	if !g.Home {
		g.seed("CLAUDE.md", "claude")
		if g.isFile(".claude/CLAUDE.md") {
			g.keep(".claude/CLAUDE.md", "claude reads it there; aisync does not write to it")
		}
		if g.isFile("CLAUDE.local.md") {
			g.keep("CLAUDE.local.md", "personal")
		}
		g.mcpFile("claude", ".mcp.json", "mcpServers")
	} else {
		if g.isFile(".claude/CLAUDE.md") {
			g.keep(".claude/CLAUDE.md", "your text; aisync does not overwrite it")
		}
		g.mcpFile("claude", ".claude.json", "mcpServers")
	}
	g.textsIn("rule", "claude", ".claude/rules", ".md")
	g.textsIn("command", "claude", ".claude/commands", ".md")
	g.textsIn("agent", "claude", ".claude/agents", ".md")
	g.skillsIn("claude", ".claude/skills")
	g.hookPrograms("claude", ".claude/hooks")
	g.program("claude", "output style", ".claude/output-styles", "output-styles")
	g.settings("claude", ".claude/settings.json")
	if g.isFile(".claude/settings.local.json") {
		g.keep(".claude/settings.local.json", own)
	}
	known := []string{"CLAUDE.md", "rules", "commands", "agents", "skills", "hooks", "output-styles", "settings.json", "settings.local.json"}
	if g.Home {
		return // the rest is the program's state, and secrets
	}
	g.rest(".claude", known...)
}

// cursor reads Cursor's files. https://cursor.com/docs/context/rules
func (g *gatherer) cursor() {
	if content, _, ok := g.read(".cursorrules"); ok {
		g.texts = append(g.texts, text{what: "rule", runtime: "cursor", from: ".cursorrules", rel: "cursorrules.md", content: content,
			note: "Cursor still reads .cursorrules: remove it once this is applied"})
		g.runtime("cursor")
	}
	g.textsIn("rule", "cursor", ".cursor/rules", ".mdc", ".md")
	g.textsIn("command", "cursor", ".cursor/commands", ".md")
	g.textsIn("agent", "cursor", ".cursor/agents", ".md")
	g.skillsIn("cursor", ".cursor/skills")
	for _, f := range []string{"hooks.json", "cli.json"} {
		if g.isFile(".cursor/" + f) {
			g.copyFile("settings", ".cursor/"+f, g.own("cursor", f), "")
			g.runtime("cursor")
		}
	}
	g.hookPrograms("cursor", ".cursor/hooks")
	g.mcpFile("cursor", ".cursor/mcp.json", "mcpServers")
	g.ignoreFile(".cursorignore")
	if !g.Home {
		g.rest(".cursor", "rules", "commands", "agents", "skills", "hooks.json", "cli.json", "hooks", "mcp.json")
	}
}

// copilot reads GitHub Copilot's files in a repository and in a home. Files for
// VS Code only keep their form.
// https://docs.github.com/en/copilot/customizing-copilot
func (g *gatherer) copilot() {
	if g.Home {
		g.textsIn("rule", "copilot", ".copilot/instructions", ".instructions.md")
		g.skillsIn("copilot", ".copilot/skills")
		g.textsIn("agent", "copilot", ".copilot/agents", ".agent.md", ".md")
		g.mcpFile("copilot", ".copilot/mcp-config.json", "mcpServers")
		if g.isFile(".copilot/copilot-instructions.md") {
			g.keep(".copilot/copilot-instructions.md", "your text; aisync does not overwrite it")
		}
		return
	}
	if g.isFile(".github/copilot-instructions.md") {
		g.copyFile("instructions", ".github/copilot-instructions.md", g.own("copilot", "copilot-instructions.md"), "for copilot only, unchanged")
		g.runtime("copilot")
	}
	g.textsIn("rule", "copilot", ".github/instructions", ".instructions.md")
	g.textsIn("agent", "copilot", ".github/agents", ".agent.md", ".md")
	g.skillsIn("copilot", ".github/skills")
	g.program("copilot", "command", ".github/prompts", "prompts")
	for _, rel := range g.walk(".github/hooks") {
		g.keep(path.Join(".github/hooks", rel), "copilot reads it there; aisync does not write to it")
		g.runtime("copilot")
	}
	g.mcpFile("copilot", ".github/mcp.json", "mcpServers")
	g.mcpFile("copilot", ".vscode/mcp.json", "servers")
}

// agents reads AGENTS.md and the files of the programs that share it.
func (g *gatherer) agents() {
	if !g.Home {
		g.seed("AGENTS.md", "")
		g.seed("GEMINI.md", "gemini")
		if g.isFile("QWEN.md") {
			g.keep("QWEN.md", "qwen reads it beside AGENTS.md; aisync does not write to it")
			g.runtime("qwen")
		}
	}
	g.skillsIn("", ".agents/skills")
	g.skillsIn("codex", ".codex/skills")
	g.textsInOf("gemini", ".gemini")
	g.textsInOf("qwen", ".qwen")
	g.rest(".agents", "skills")
	opencode := ".opencode"
	if g.Home {
		opencode = ".config/opencode"
	}
	g.textsInOf("opencode", opencode)
	g.textsIn("command", "opencode", opencode+"/command", ".md")
	g.textsIn("agent", "opencode", opencode+"/agent", ".md")
	g.program("opencode", "plugin", opencode+"/plugins", "plugins")
	g.configFile("codex", ".codex/config.toml", "mcp_servers")
	g.configFile("gemini", ".gemini/settings.json", "mcpServers")
	g.configFile("qwen", ".qwen/settings.json", "mcpServers")
	for _, name := range []string{"opencode.json", "opencode.jsonc"} {
		if g.Home {
			name = path.Join(opencode, name)
		}
		g.configFile("opencode", name, "mcp")
	}
	for _, f := range []string{".codex/hooks.json", ".codex/agents", ".codex/rules", ".gemini/agents", ".gemini/extensions"} {
		if _, err := g.root.Lstat(f); err == nil && !g.Home {
			g.runtime(strings.TrimPrefix(path.Dir(f), "."))
			g.keep(f, path.Dir(f)+" reads it there; aisync does not write to it")
		}
	}
	for _, list := range []string{".geminiignore", ".qwenignore", ".codexignore", ".aiignore"} {
		if !g.Home && g.isFile(list) {
			g.ignoreFile(list)
		}
	}
}

// textsInOf reads the folders that several programs keep in common forms.
func (g *gatherer) textsInOf(runtime, dir string) {
	g.textsIn("rule", runtime, dir+"/rules", ".md")
	g.textsIn("command", runtime, dir+"/commands", ".md")
	if runtime != "gemini" { // its own folders stay
		g.textsIn("agent", runtime, dir+"/agents", ".md")
	}
	g.skillsIn(runtime, dir+"/skills")
}

// seed takes an instruction file as the bundle's first content of such a file:
// the present one is then never written to.
func (g *gatherer) seed(name, runtime string) {
	switch {
	case g.isLink(name):
		g.keep(name, "a link")
		g.runtime(runtime)
	case g.isFile(name) && g.copyFile("instructions", name, g.common(name), ""):
		g.runtime(runtime)
	}
}

// program takes the files of a folder of one program, unchanged.
func (g *gatherer) program(runtime, what, dir, to string) {
	if len(g.entries(dir)) > 0 {
		g.copyFolder(what, dir, g.own(runtime, to), "for "+runtime+" only, unchanged")
		g.runtime(runtime)
	}
}

// hookPrograms takes the programs that a runtime's hooks call, if aisync has a
// folder for them with that runtime.
func (g *gatherer) hookPrograms(runtime, dir string) {
	rt, _ := catalog.With(spec.Catalog{}).Runtime(runtime)
	place := rt.Project.Hooks
	if g.Home {
		place = strings.TrimPrefix(rt.User.Hooks, "~/")
	}
	if place == dir {
		g.program(runtime, "hook program", dir, "hooks")
		return
	}
	for _, rel := range g.walk(dir) {
		g.keep(path.Join(dir, rel), "its callers find it there; aisync does not write to it")
	}
}
