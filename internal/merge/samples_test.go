package merge

const claudeSettings = `{
  "$schema": "https://json.schemastore.org/claude-code-settings.json",
  "permissions": {
    "allow": [
      "Bash(git status)",
      "Read(~/notes/**)"
    ],
    "deny": [],
    "defaultMode": "acceptEdits"
  },
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "Bash",
        "hooks": [
          {
            "type": "command",
            "command": "~/.claude/hooks/mine.sh",
            "timeout": 10
          }
        ]
      }
    ],
    "Stop": [
      {
        "hooks": [
          {
            "type": "prompt",
            "prompt": "Are the tests green?"
          }
        ]
      }
    ]
  },
  "statusLine": {"type": "command", "command": "~/bin/status"},
  "model": "sonnet"
}
`

const claudeJSON = `{
  "numStartups": 42,
  "tipsHistory": { "shift-enter": 3 },
  "mcpServers": {
    "github": {
      "type": "stdio",
      "command": "gh-mcp",
      "args": []
    }
  },
  "projects": {
    "/home/me/a#b": { "allowedTools": [], "history": [ { "display": "fix // not a comment" } ] }
  },
  "userID": "0a1b"
}`

const opencodeJSONC = `{
  // where the schema is
  "$schema": "https://opencode.ai/config.json",
  "provider": {
    "local": {
      "npm": "@ai-sdk/openai-compatible",
      "options": { "baseURL": "http://127.0.0.1:8081/v1" }, // loopback
    },
  },
  /* "mcp": {}, */
  "instructions": ["AGENTS.md" /* ours */, "docs/*.md"],
}
`

const codexConfig = `# Codex
model = "gpt-5-codex"
approval_policy = 'on-request'   # ask
notify = [ "notify-send", "codex" ]

[mcp_servers.docs]
command = "npx"
args = [
  "-y",
  "docs-mcp", # pinned elsewhere
]
env = { "TOKEN" = "x", NUM = "1" }

# trusted by hand
[projects."/home/me/work"]
trust_level = "trusted"

[profiles.fast]
model_reasoning_effort = "low"
limits = { a = 1.0, b = inf, since = 1979-05-27 }

[[history.entry]]
at = 2024-01-02T03:04:05.5+02:00
text = """
[not.a.header]
"""

[tui]
notifications = true
`
