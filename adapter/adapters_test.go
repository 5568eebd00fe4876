package adapter

import (
	"aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// adapters are runtimes that differ in everything this package looks at. They
// stand here, and not in the catalog, so that a test says what it relies on.
func adapters() []spec.Runtime {
	sets := []string{"/permissions/*"}
	return []spec.Runtime{
		{
			ID: "claude", Command: "claude", Hooks: "native", MCPSupport: true, Packages: map[string]string{"npm": "@anthropic-ai/claude-code"},
			User: spec.Scope{
				Dir: "~/.claude", Rules: "~/.claude/rules", RulesForm: "paths", Skills: "~/.claude/skills", Hooks: "~/.claude/hooks",
				Settings: &spec.SettingsFile{Path: "~/.claude/settings.json", Format: "json", Sets: sets, Hooks: "/hooks"},
				MCP:      &spec.MCPFile{Path: "~/.claude.json", Format: "json", Pointer: "/mcpServers", Shape: "claude", SecretEnv: "${NAME}"},
				Trust:    []spec.Reference{{Path: "~/.claude.json", Format: "json", Pointer: "/projects/{dir}/hasTrustDialogAccepted", JSON: []byte("true")}},
			},
			Project: spec.Scope{
				Dir: ".claude", Rules: ".claude/rules", RulesForm: "paths", Skills: ".claude/skills", Hooks: ".claude/hooks",
				Settings:     &spec.SettingsFile{Path: ".claude/settings.json", Format: "json", Sets: sets, Hooks: "/hooks"},
				Instructions: []string{"CLAUDE.md"}, Imports: "@AGENTS.md",
				MCP: &spec.MCPFile{Path: ".mcp.json", Format: "json", Pointer: "/mcpServers", Shape: "claude", SecretEnv: "${NAME}"},
			},
		},
		{
			ID: "codex", Command: "codex", Hooks: "manual", MCPSupport: true, APIs: []string{"responses"},
			User: spec.Scope{
				Endpoint: []spec.Reference{
					{Path: "~/.codex/config.toml", Format: "toml", Pointer: "/model", JSON: []byte(`"{model}"`)},
					{Path: "~/.codex/config.toml", Format: "toml", Pointer: "/model_context_window", JSON: []byte(`"{context}"`)},
					{Path: "~/.codex/config.toml", Format: "toml", Pointer: "/model_providers/local", JSON: []byte(`{"name":"local ({name})","base_url":"{url}/v1"}`)},
				},
				Dir: "~/.codex", RulesKept: "~/.codex/rules-md", RulesBlock: "~/.codex/AGENTS.md", Skills: "~/.agents/skills",
				MCP:   &spec.MCPFile{Path: "~/.codex/config.toml", Format: "toml", Pointer: "/mcp_servers", Shape: "codex"},
				Trust: []spec.Reference{{Path: "~/.codex/config.toml", Format: "toml", Pointer: "/projects/{dir}/trust_level", JSON: []byte(`"trusted"`)}},
			},
			Project: spec.Scope{
				Dir: ".agents/codex", RulesKept: ".agents/codex/rules", RulesBlock: "AGENTS.md", Skills: ".agents/skills", Instructions: []string{"AGENTS.md"},
				MCP: &spec.MCPFile{Path: ".codex/config.toml", Format: "toml", Pointer: "/mcp_servers", Shape: "codex"},
			},
		},
		{
			ID: "copilot", Command: "copilot", Hooks: "manual", MCPSupport: true, APIs: []string{"chat", "responses"},
			Launch:  spec.Launch{Endpoint: map[string]string{"COPILOT_PROVIDER_BASE_URL": "{url}/v1", "COPILOT_MODEL": "{model}"}},
			Project: spec.Scope{MCP: &spec.MCPFile{Path: ".mcp.json", Format: "json", Pointer: "/mcpServers", Shape: "copilot"}},
		},
		{
			ID: "local-openai", Hooks: "manual", Local: true,
			User:    spec.Scope{Dir: "~/.config/rulesets/runtimes/local-openai", RulesKept: "~/.config/rulesets/runtimes/local-openai/rules", RulesBlock: "~/.config/rulesets/runtimes/local-openai/AGENTS.md"},
			Project: spec.Scope{Dir: ".agents/local-openai", RulesKept: ".agents/local-openai/rules", RulesBlock: "AGENTS.md", Instructions: []string{"AGENTS.md"}},
		},
		{
			ID: "opencode", Command: "opencode", APIs: []string{"chat"}, Hooks: "wrapper", Driver: known("opencode").Driver, MCPSupport: true, Packages: map[string]string{"npm": "opencode-ai"},
			User: spec.Scope{
				Dir: "~/.config/opencode", Rules: "~/.config/opencode/rules",
				RulesRef: &spec.Reference{Path: "~/.config/opencode/opencode.json", Format: "json", Pointer: "/instructions/-", JSON: []byte(`"~/.config/opencode/rules/*.md"`)},
				Always:   []spec.Reference{{Path: "~/.config/opencode/opencode.json", Format: "json", Pointer: "/$schema", JSON: []byte(`"https://opencode.ai/config.json"`)}},
				Endpoint: []spec.Reference{
					{Path: "~/.config/opencode/opencode.json", Format: "json", Pointer: "/model", JSON: []byte(`"local/{model}"`)},
					{Path: "~/.config/opencode/opencode.json", Format: "json", Pointer: "/provider/local", JSON: []byte(`{"options":{"baseURL":"{url}/v1","apiKey":"{key}"},"models":{"{model}":{"limit":{"context":"{context}","output":"{output}"}}}}`)},
				},
				Skills: "~/.config/opencode/skills", SkillsAlso: []string{"~/.claude/skills", "~/.agents/skills"},
				MCP: &spec.MCPFile{Path: "~/.config/opencode/opencode.json", Format: "json", Pointer: "/mcp", Shape: "opencode", SecretEnv: "{env:NAME}", SecretFile: "{file:NAME}"},
			},
			Project: spec.Scope{
				Dir: ".opencode", Rules: ".opencode/rules",
				RulesRef:     &spec.Reference{Path: "opencode.json", Format: "json", Pointer: "/instructions/-", JSON: []byte(`".opencode/rules/*.md"`)},
				Skills:       ".opencode/skills",
				Instructions: []string{"AGENTS.md"},
				MCP:          &spec.MCPFile{Path: "opencode.json", Format: "json", Pointer: "/mcp", Shape: "opencode", SecretEnv: "{env:NAME}", SecretFile: "{file:NAME}"},
				Always:       []spec.Reference{{Path: "opencode.json", Format: "json", Pointer: "/$schema", JSON: []byte(`"https://opencode.ai/config.json"`)}},
			},
		},
	}
}

// known is a runtime of the catalog itself.
func known(id string) spec.Runtime {
	rt := start.Find(catalog.Runtimes(), id)
	if rt == nil {
		panic("the catalog has no " + id)
	}
	return *rt
}
