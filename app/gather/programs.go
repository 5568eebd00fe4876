package gather

import (
	"path"
	"strings"
)

// claude reads Claude Code's files. Settings and hooks keep its form; rules,
// skills, commands and agents are for all runtimes.
// https://code.claude.com/docs/en/settings
func (g *gatherer) claude() {
	const own = "settings.local.json is personal"
	if !g.Home {
		g.notes("CLAUDE.md", "claude")
		if g.isFile(".claude/CLAUDE.md") {
			g.keep(".claude/CLAUDE.md", "claude reads it there; aisync does not write to it")
		}
		if g.isFile("CLAUDE.local.md") {
			g.keep("CLAUDE.local.md", "personal")
		}
		g.mcpFile("claude", ".mcp.json", "mcpServers")
		g.localServers()
	} else {
		g.mcpFile("claude", ".claude.json", "mcpServers")
		g.serversOfProjects()
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
	if content, mode, ok := g.readText(".cursorrules"); ok {
		g.texts = append(g.texts, text{what: "rule", runtime: "cursor", from: ".cursorrules", rel: "cursorrules.md", content: content, mode: mode})
		g.runtime("cursor")
	}
	g.textsIn("rule", "cursor", ".cursor/rules", ".mdc")
	g.textsIn("command", "cursor", ".cursor/commands", ".md")
	g.textsIn("agent", "cursor", ".cursor/agents", ".md")
	g.skillsIn("cursor", ".cursor/skills")
	for _, f := range []string{"hooks.json", "cli.json"} {
		if g.isFile(".cursor/" + f) {
			if g.copyJSON("settings", ".cursor/"+f, g.own("cursor", f)) {
				g.runtime("cursor")
			}
		}
	}
	g.hookPrograms("cursor", ".cursor/hooks")
	g.mcpFile("cursor", ".cursor/mcp.json", "mcpServers")
	g.ignoreFile("cursor", ".cursorignore")
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
		g.notes("AGENTS.md", "")
		g.keptFile("AGENTS.override.md", "codex", "codex reads it in place of AGENTS.md; aisync does not write to it")
		g.notes("GEMINI.md", "gemini")
		g.keptFile("QWEN.md", "qwen", "qwen reads it beside AGENTS.md; aisync does not write to it")
	}
	g.skillsIn("", ".agents/skills")
	g.rest(".agents", "skills", "hooks", "rules", "codex", "local-openai")
	g.codex()
	g.textsIn("command", "gemini", ".gemini/commands", ".toml")
	g.textsIn("agent", "gemini", ".gemini/agents", ".md")
	g.skillsIn("gemini", ".gemini/skills")
	g.textsIn("rule", "qwen", ".qwen/rules", ".md")
	g.textsIn("command", "qwen", ".qwen/commands", ".md")
	g.textsIn("agent", "qwen", ".qwen/agents", ".md")
	g.skillsIn("qwen", ".qwen/skills")
	opencode := ".opencode"
	if g.Home {
		opencode = ".config/opencode"
	}
	g.opencode(opencode)
	g.configFile("gemini", ".gemini/settings.json", "mcpServers")
	g.configFile("qwen", ".qwen/settings.json", "mcpServers")
	for _, name := range []string{"opencode.json", "opencode.jsonc"} {
		if g.Home {
			name = path.Join(opencode, name)
		}
		g.configFile("opencode", name, "mcp")
	}
	if g.Home {
		return
	}
	for _, f := range []string{".codex/hooks.json", ".codex/rules", ".codex/prompts", ".gemini/extensions", ".gemini/hooks", ".gemini/rules"} {
		if _, err := g.root.Lstat(f); err == nil {
			program := strings.TrimPrefix(path.Dir(f), ".")
			g.runtime(program)
			g.keep(f, program+" goes on reading it there, where it does; aisync does not write to it")
		}
	}
	for _, list := range []string{".geminiignore", ".qwenignore", ".codexignore", ".aiignore"} {
		if g.isFile(list) {
			g.ignoreFile(strings.TrimSuffix(list[1:], "ignore"), list)
		}
	}
	g.fewFiles()
}

// codex reads what Codex has beside AGENTS.md. Its prompts lie in a home only.
// https://developers.openai.com/codex/config-reference
func (g *gatherer) codex() {
	g.textsIn("agent", "codex", ".codex/agents", ".toml")
	if g.Home {
		g.textsIn("command", "codex", ".codex/prompts", ".md")
	}
	g.skillsIn("codex", ".codex/skills")
	g.configFile("codex", ".codex/config.toml", "mcp_servers")
	if info, err := g.root.Stat(".codex"); err == nil && info.IsDir() {
		g.runtime("codex")
	}
}

// opencode reads the folders of opencode, in both spellings of their names.
// https://opencode.ai/docs/config/
func (g *gatherer) opencode(dir string) {
	g.textsIn("rule", "opencode", dir+"/rules", ".md")
	for _, plural := range []string{"", "s"} {
		g.textsIn("command", "opencode", dir+"/command"+plural, ".md")
		g.textsIn("agent", "opencode", dir+"/agent"+plural, ".md")
		for _, what := range []string{"mode", "plugin", "tool", "theme"} {
			g.program("opencode", what, dir+"/"+what+plural, what+plural)
		}
	}
	g.skillsIn("opencode", dir+"/skills")
	if !g.Home {
		g.rest(dir, "rules", "command", "commands", "agent", "agents", "mode", "modes", "plugin", "plugins", "tool", "tools", "theme", "themes", "skills", "opencode.json", "opencode.jsonc", "node_modules", ".gitignore")
		for _, name := range []string{"opencode.json", "opencode.jsonc"} {
			g.keptFile(dir+"/"+name, "opencode", "opencode reads it beside the one at the top; aisync does not write to it")
		}
	}
}

// fewFiles reads programs that have only a few files in a project.
func (g *gatherer) fewFiles() {
	for _, id := range []string{"pi", "amp", "goose"} {
		dir := "." + id
		if _, err := g.root.Lstat(dir); err != nil {
			continue
		}
		g.runtime(id)
		g.textsIn("command", id, dir+"/prompts", ".md")
		g.skillsIn(id, dir+"/skills")
		g.rest(dir, "prompts", "skills")
	}
}

// keptFile names a file that stays as it is, which shows that a program is in
// use.
func (g *gatherer) keptFile(name, runtime, why string) {
	if g.isFile(name) && !g.isOurs(name) {
		g.keep(name, why)
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
	if s, _ := g.scope(runtime); g.at(s.Hooks) == dir {
		g.program(runtime, "hook program", dir, "hooks")
		return
	}
	for _, rel := range g.walk(dir) {
		if at := path.Join(dir, rel); !g.isOurs(at) {
			g.keep(at, "its callers find it there; aisync does not write to it")
		}
	}
}
