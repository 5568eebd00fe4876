package secrettest

import "strings"

// harmless are values as people have them, none of them secret: a name and a value.
const harmless = `
MAX_TOKENS 64000
CLAUDE_CODE_MAX_OUTPUT_TOKENS 32000
MAX_THINKING_TOKENS 31999
TOKEN_LIMIT 200000
maxTokens 8192
TOKENIZERS_PARALLELISM false
TOKENIZER cl100k_base
TOKEN_BUDGET high
COLOR_KEY blue
KEYBOARD qwertz
PUBLIC_KEY ssh-ed25519
CACHE_KEY build-cache-v2-linux-amd64-node20
PRIMARY_KEY user_id
SORT_KEY createdAt
LEADER_KEY ctrl+space
TEMPERATURE 0.2
LOG_LEVEL debug
NODE_ENV production
PORT 8080
DEBUG *
PATH /usr/local/bin:/usr/bin:/home/dana/.local/bin
HOME /home/dana
PWD /home/dana/code/app
GOOGLE_APPLICATION_CREDENTIALS /home/dana/.config/gcloud/application_default_credentials.json
TOKEN_FILE /run/secrets/token
API_KEY_FILE ~/.config/service/key.txt
SECRET_NAME prod/app/database
SECRET_MANAGER aws
AUTH_TYPE oauth-personal
auth oauth
AUTH_URL https://login.example.org/oauth2/authorize
TOKEN_URL https://login.example.org/oauth2/token
TOKEN_ENDPOINT https://idp.corp/realms/main/protocol/openid-connect/token
AWS_REGION eu-central-1
AWS_PROFILE work
AWS_ROLE arn:aws:iam::210987654321:role/DeveloperAccess2Production
MODEL claude-3-5-sonnet-20241022
ANTHROPIC_MODEL claude-opus-4-1-20250805
MODEL anthropic.claude-3-5-sonnet-20241022-v2:0
MODEL us.anthropic.claude-sonnet-4-20250514-v1:0
MODEL gpt-4o-mini-2024-07-18
MODEL Qwen2.5-Coder-32B-Instruct-Q4_K_M.gguf
MODEL deepseek-ai/DeepSeek-R1-Distill-Qwen-32B
MODEL bartowski/Llama-3.3-70B-Instruct-GGUF
MODEL sonar-pro
EMBEDDING text-embedding-3-large
COMMIT 9fceb02d0ae598e95dc970b74767f19372d61af8
GIT_SHA da39a3ee5e6b4b0d3255bfef95601890afd80709
REF 5f7a4c1b2d9e8f6a3b0c5d7e9f1a2b3c4d5e6f70
SHORT 0a50530
DIGEST sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
CHECKSUM e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
IMAGE ghcr.io/github/github-mcp-server@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
IMAGE mcr.microsoft.com/playwright:v1.49.0-noble
INTEGRITY sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==
integrity sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=
SUM h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
MD5 d41d8cd98f00b204e9800998ecf8427e
ACCOUNT_ID 9a7806061c88ada191ed06f989cc3dac
NOTION_DATABASE_ID 668d797c76fa49349b05ad288df2d136
PROJECT_ID 3f2504e0-4f89-41d3-9a0c-0305e82c3301
TRACE_ID 4bf92f3577b34da6a3ce929d0e0e4736
SESSION 3f2504e0-4f89-41d3-9a0c-0305e82c3301
SPREADSHEET_ID 1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms
CLIENT_ID Iv1.8a61f9b3a7aba766
AWS_ACCESS_KEY_ID_NAME primary
BASE_URL https://api.corp/v1
URL https://mcp.context7.com/mcp
URL https://mcp.sentry.dev/mcp
URL https://api.githubcopilot.com/mcp/
URL https://mcp.corp/projects/3f2504e0-4f89-41d3-9a0c-0305e82c3301/sse
URL https://github.com/acme/tools/blob/9fceb02d0ae598e95dc970b74767f19372d61af8/README.md
URL https://docs.corp/search?q=token&lang=en
URL https://mcp.corp/sse?key=${MCP_KEY}&project=web
URL http://localhost:3000/mcp?tools=read,write
DATABASE_URL postgresql://localhost:5432/app
DATABASE_URL postgresql://app@db.corp:5432/app
DATABASE_URL postgres://postgres:postgres@localhost:5432/postgres
DATABASE_URL postgresql://user:password@localhost/db
DATABASE_URL postgresql://app:${DB_PASSWORD}@db.corp/app
DATABASE_URL sqlite:///home/dana/app.db
REDIS_URL redis://localhost:6379/0
GIT git@github.com:acme/very-long-repository-name-2024.git
GIT ssh://git@github.com/acme/tools.git
HTTP_PROXY http://proxy.corp:3128
PACKAGE @modelcontextprotocol/server-filesystem@2025.1.14
PACKAGE mcp-remote@0.1.18
PACKAGE git+https://github.com/oraios/serena
VERSION 1.2.3-beta.4+build.20250101
DATE 2025-06-01T12:00:00Z
TIMEOUT 30000
TZ Europe/Berlin
LANG de_DE.UTF-8
PATTERN ^[A-Za-z0-9_-]{20,}$
GREETING SGVsbG8sIHdvcmxkISBUaGlzIGlzIHBsYWluIHRleHQu
NIX /nix/store/1b9p07z77phvv2hf6gm9f28syp39f1ag-nodejs-20.11.1/bin/node
CLASS com.acme.backend.service.AuthenticationTokenProvider
HANDLER handleUserAuthenticationTokenRefreshRequest
PERMISSION Bash(npm run test:*)
PERMISSION Read(./secrets/**)
**/secrets/** none
**/secrets/** deny
Notion-Version 2022-06-28
Content-Type application/json
Accept text/event-stream
User-Agent Mozilla/5.0
X-Request-Source aisync
apiKeyHelper /home/dana/bin/get-key.sh
apiKeyHelper ~/.claude/api_key_helper.sh --account main
awsAuthRefresh aws sso login --profile work
bearer_token_env_var SENTRY_ACCESS_TOKEN
env_key OPENAI_API_KEY
statusLine bash ~/.claude/statusline-command.sh
command npx -y @upstash/context7-mcp@latest
command docker run -i --rm -e GITHUB_PERSONAL_ACCESS_TOKEN ghcr.io/github/github-mcp-server
command uvx --from git+https://github.com/oraios/serena serena start-mcp-server --context ide-assistant
command curl -fsSL https://get.corp/install.sh | sh -s -- --version 1.2.3
command jq -r '.tool_input.file_path' | xargs -I{} sh -c 'npx prettier --write "{}"'
command gh api repos/acme/tools/commits/9fceb02d0ae598e95dc970b74767f19372d61af8
command mcp-server --token-limit 5000 --max-tokens 64000 --auth none
command mcp-remote https://mcp.corp/sse --header Authorization:${AUTH_HEADER}
`

// Harmless are names and values that no one needs to hide.
func Harmless() []Sample {
	var out []Sample
	for line := range strings.Lines(harmless) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			out = append(out, Sample{Name: name, Value: value})
		}
	}
	return out
}
