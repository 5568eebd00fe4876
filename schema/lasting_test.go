package schema

import (
	"fmt"
	"strings"
	"testing"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

// What aisync itself gives a program cannot be a lasting argument or variable; the
// message has the line and what to write instead.
func TestLastingLaunchRefuses(t *testing.T) {
	for _, c := range []struct{ use, want string }{ // "": it loads
		{`claude: args: ["--effort", "low", "--dangerously-skip-permissions"]`, ""},
		{`claude: args: ["--append-system-prompt", "exec", ""]`, ""},
		{`claude: env: {A: "x", B: {env: "X"}, C: {file: "~/x"}, D: "${X}", E: "$${X}", CLAUDE_CODE_MAX_OUTPUT_TOKENS: "9", OPENAI_API_KEY: {env: "X"}}`, ""},
		{`codex: args: ["--skip-git-repo-check"]`, `spec.cue:4:26: hosts.here.runtimes.codex.args.0: args may not have "--skip-git-repo-check": aisync itself gives it to codex`},
		{`codex: args: ["exec"]`, `args may not have "exec"`},
		{`claude: args: ["-p"]`, `args may not have "-p"`},
		{`claude: args: ["--output-format=json"]`, `args may not have "--output-format=json"`},
		{`"local-openai": args: ["--prompt", "x"]`, `args may not have "--prompt": aisync itself gives it to opencode`},
		{`"local-openai": {cli: "aider", args: ["--config", "x"]}`, `args may not have "--config": aisync itself gives it to aider`},
		{`claude: args: "x"`, `want a list of arguments such as ["--verbose"], got "x"`},
		{`claude: args: [7]`, `want `},
		{`claude: args: ["a\u0000b"]`, `it holds a zero byte`},
		{`claude: env: ANTHROPIC_BASE_URL: "http://x"`, `spec.cue:4:25: hosts.here.runtimes.claude.env.ANTHROPIC_BASE_URL: env may not set ANTHROPIC_BASE_URL: it tells the program its server`},
		{`claude: {endpoint: "s", env: ANTHROPIC_AUTH_TOKEN: {env: "X"}}`, `env may not set ANTHROPIC_AUTH_TOKEN`},
		{`aider: {endpoint: "s", env: OPENAI_API_KEY: {env: "X"}}`, `env may not set OPENAI_API_KEY`},
		{`"local-openai": env: OPENCODE_CONFIG: "x"`, `env may not set OPENCODE_CONFIG: aisync sets it`},
		{`claude: env: CLAUDE_CONFIG_DIR: "/x"`, `env may not set CLAUDE_CONFIG_DIR: it moves the folder`},
		{`opencode: env: XDG_CONFIG_HOME: "/x"`, `env may not set XDG_CONFIG_HOME: it moves the folder`},
		{`claude: env: CLAUDE_CODE_SANDBOXED: "1"`, `env may not set CLAUDE_CODE_SANDBOXED: aisync sets it`},
		{`claude: env: PATH: "/x"`, `env may not set PATH`},
		{`claude: env: AISYNC_OFFLINE: "1"`, `env may not set AISYNC_OFFLINE: names that start with AISYNC_ are reserved`},
		{`claude: env: "A-B": "1"`, `bad name "A-B"`},
		{`claude: env: A: 1`, `want a string, {env: "NAME"} or {file: "path"}, got 1`},
		{`claude: env: A: {env: "X", file: "y"}`, `exactly one of env and file`},
		{`claude: env: A: "Bearer ${X}"`, `spec.cue:4:28: hosts.here.runtimes.claude.env.A: a variable is the whole value, or none of it`},
		{`claude: env: A: "${X:-y}"`, `a variable is the whole value`},
		{`claude: env: A: "a\u0000b"`, `it holds a zero byte`},
	} {
		_, err := hostSpec(t, "package aisync\n\nhosts: here: {\n\truntimes: "+c.use+"\n\tservices: s: {kind: \"external\", url: \"http://127.0.0.1:1/v1\", model: \"m\"}\n\tendpoint: \"s\"\n}\n", Options{})
		if got := fmt.Sprint(err); (c.want == "") != (err == nil) || !strings.Contains(got, c.want) {
			t.Errorf("%s: %v, want %q", c.use, err, c.want)
		}
	}
}

// No lasting variable can tell a program that it is another agent.
func TestLastingLaunchKeepsIdentity(t *testing.T) {
	rt, _ := catalog.With(spec.Catalog{}).Runtime("claude")
	for _, name := range []string{identity.VarID, identity.VarRuntime, identity.VarProject, identity.VarContext, identity.VarHelper, identity.VarLedger, identity.VarModel, identity.VarTask, identity.VarTaskSeat, identity.VarLaunch} {
		if does, _ := rt.GivesVariable(name, false); does == "" {
			t.Errorf("%s can be set", name)
		}
	}
}
