package json

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
