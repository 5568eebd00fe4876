package toml

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
