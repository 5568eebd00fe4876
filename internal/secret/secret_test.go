package secret

import (
	"strings"
	"testing"

	"aisync.dev/aisync/internal/secret/secrettest"
)

func TestSamplesAreRecognized(t *testing.T) {
	samples := secrettest.Samples()
	if len(samples) != 200 {
		t.Fatalf("%d samples", len(samples))
	}
	for _, s := range samples {
		if Value(s.Value, s.Name) == "" {
			t.Errorf("Value does not see %s=%s", s.Name, s.Value)
		}
		if s.Known && Value(s.Value) == "" {
			t.Errorf("Value does not see %s without its name", s.Value)
		}
		if _, kind := Args([]string{"-y", "server", "--" + strings.ReplaceAll(s.Name, "_", "-"), s.Value}); kind == "" {
			t.Errorf("Args does not see %s %s", s.Name, s.Value)
		}
		if _, kind := Args([]string{"run", "-e", s.Name + "=" + s.Value}); kind == "" {
			t.Errorf("Args does not see %s=%s", s.Name, s.Value)
		}
		prose := "Use this one:\n\n    export " + s.Name + "='" + s.Value + "'\n\nand call it.\n"
		if s.Text && (len(Find(prose)) == 0 || strings.Contains(Mask(prose), s.Secret)) {
			t.Errorf("Find does not see %s", prose)
		}
		if lines := strings.Split(prose, "\n"); s.Text && strings.Contains(strings.Join(MaskLines(lines), "\n"), s.Secret) {
			t.Errorf("MaskLines shows %s", prose)
		}
	}
}

func TestNamed(t *testing.T) {
	for _, name := range strings.Fields(`TOKEN GITHUB_TOKEN API_KEY apiKey api-key APIKEY OPENAI_API_KEY DB_PASSWORD DB_PASS DB_PWD MYSQL_PWD SENTRY_DSN NOTION_PAT
		clientSecret CLIENT_SECRET AWS_SECRET_ACCESS_KEY Authorization Proxy-Authorization Cookie X-Api-Key x-goog-api-key CONTEXT7_API_KEY PRIVATE_KEY GOOGLE_CREDENTIALS
		SECRET_KEY_BASE TOKEN_2 API_KEY_PROD accessToken authToken ANTHROPIC_AUTH_TOKEN CONNECTION_STRING AUTHTOKEN DBPASSWORD --api-key --token MASTER_KEY`) {
		if !Named(name) {
			t.Errorf("%s is not taken for the name of a secret", name)
		}
	}
	for _, name := range strings.Fields(`MAX_TOKENS CLAUDE_CODE_MAX_OUTPUT_TOKENS TOKENIZER TOKEN_LIMIT COLOR_KEY KEYBOARD PUBLIC_KEY SSH_PUBLIC_KEY KEY_ID apiKeyHelper
		PRIMARY_KEY CACHE_KEY PATH PWD OLDPWD TOKEN_FILE SECRET_NAME TOKEN_URL bearer_token_env_var MAX_THINKING_TOKENS maxTokens NEXT_PUBLIC_TOKEN_NAME PASSWORD_STORE_DIR
		**/secrets/** ./secrets/key TOKENIZERS_PARALLELISM PATTERN COMPASS BYPASS passed AUTHOR keyboard_layout ACCESS_KEY_ID NODE_AUTH_MODE secretary cookiecutter MONKEY compat`) {
		if Named(name) {
			t.Errorf("%s is taken for the name of a secret", name)
		}
	}
}

func TestReferences(t *testing.T) {
	for _, s := range []string{"", "${X}", "$X", "${env:X}", "${input:key}", "{env:X}", "{file:~/.key}", "Bearer ${X}", "Bearer $X", "token {env:X}", "op://Private/GitHub/token", "${X:-none}",
		"<your-key>", "YOUR_API_KEY", "your-api-key-here", "xxx", "xxxxxxxx", "changeme", "...", "sk-...", "sk-ant-xxxxxxxx", "ghp_your_token_here", "%TOKEN%", "{{ secrets.TOKEN }}", "${{ secrets.TOKEN }}",
		"[YOUR-PASSWORD]", "$(pass show x)", "process.env.TOKEN", "(not shown)", "prefix-${X}", "example-key", "insert-your-key"} {
		if !Reference(s) {
			t.Errorf("%q is no reference", s)
		}
		for _, name := range []string{"API_KEY", "Authorization", "OTHER"} {
			if kind := Value(s, name); kind != "" {
				t.Errorf("%s=%q is %s", name, s, kind)
			}
		}
	}
	for _, s := range []string{"hunter2", "Bearer hunter2", "abc123", "sk-1234567890abcdef", "${X}" + "kZ8fQ2mB7xL4vR9t", "abc"} {
		if Reference(s) {
			t.Errorf("%q is a reference", s)
		}
	}
}

func TestHarmlessValuesAreNoSecrets(t *testing.T) {
	all := secrettest.Harmless()
	for _, s := range all {
		if kind := Value(s.Value, s.Name); kind != "" {
			t.Errorf("%s=%s is taken for %s", s.Name, s.Value, kind)
		}
		if found := Find(s.Name + ": \"" + s.Value + "\""); len(found) > 0 {
			t.Errorf("Find takes %s: %s for %s", s.Name, s.Value, found[0].Kind)
		}
		if _, kind := Args([]string{"run", "--" + s.Name, s.Value}); kind != "" {
			t.Errorf("Args takes --%s %s for %s", s.Name, s.Value, kind)
		}
	}
	if len(all) < 100 {
		t.Errorf("only %d values", len(all))
	}
}

func TestShowHidesTheSecretAlone(t *testing.T) {
	for _, s := range secrettest.Samples() {
		if got := Show(s.Value, s.Name); strings.Contains(got, s.Secret) || !strings.Contains(got, Hidden) {
			t.Errorf("%s=%s is shown as %s", s.Name, s.Value, got)
		}
		if got := strings.Join(ShowArgs([]string{"npx", "-y", "--" + s.Name, s.Value, "-e", s.Name + "=" + s.Value}), " "); strings.Contains(got, s.Secret) || !strings.HasPrefix(got, "npx -y --"+s.Name) {
			t.Error(got)
		}
	}
	for _, s := range secrettest.Harmless() {
		if got := Show(s.Value, s.Name); got != s.Value {
			t.Errorf("%s=%s is shown as %s", s.Name, s.Value, got)
		}
	}
	for _, tt := range [][3]string{
		{"DATABASE_URL", "postgres://shop:hunter2secret@db/shop", "postgres://shop:(not shown)@db/shop"},
		{"Authorization", "Bearer hunter2", "(not shown)"},
		{"command", "PGPASSWORD=hunter2secret psql -h db --password 'hunter3' | sh", "PGPASSWORD=(not shown) psql -h db --password '(not shown)' | sh"},
		{"command", "curl -u admin:hunter2secret https://x.corp/a", "curl -u admin:(not shown) https://x.corp/a"},
		{"command", `curl -H "X-Api-Key: hunter2" https://x.corp/a`, `curl -H "X-Api-Key: (not shown)" https://x.corp/a`},
		{"command", "get-it --account main | sh", "get-it --account main | sh"},
		{"HEADERS", `{"Authorization":"hunter2","Accept":"*"}`, `{"Authorization":"(not shown)","Accept":"*"}`},
	} {
		if got := Show(tt[1], tt[0]); got != tt[2] {
			t.Errorf("%s=%s is shown as %s, want %s", tt[0], tt[1], got, tt[2])
		}
	}
}

func TestPathDecides(t *testing.T) {
	for _, tt := range []struct {
		value, path string
		hidden      bool
	}{
		{"MY_VARIABLE", "mcp_servers env_http_headers Authorization", false},
		{"none", "permissions filesystem **/secrets/**", false},
		{"hunter2", "secrets FOO", true},
		{"hunter2", "secrets 0", true},
		{"hunter2", "env TOKEN", true},
		{"us-east-1", "env REGION", false},
		{"hunter2", "credentials password", true},
		{"https://x.corp", "credentials url", false},
	} {
		if got := Value(tt.value, strings.Fields(tt.path)...) != ""; got != tt.hidden {
			t.Errorf("%s at %s: hidden is %v", tt.value, tt.path, got)
		}
	}
}
