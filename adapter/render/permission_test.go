package render

import (
	"strings"
	"testing"
)

func TestAPermissionIsWrittenInTheWordsOfEachProgram(t *testing.T) {
	claude := map[string]string{"shell": "Bash", "edit": "Edit|Write", "read": "Read", "fetch": "WebFetch|WebSearch", "search": "Grep|Glob"}
	gemini := map[string]string{"shell": "run_shell_command", "edit": "replace|write_file"}
	tests := []struct {
		shape string
		names map[string]string
		perm  string // action tool pattern
		want  string // pointer and value; "" where it cannot be expressed
	}{
		{"claude", claude, "allow shell make *", `permissions/allow/- "Bash(make *)"`},
		{"claude", claude, "deny read ./.env", `permissions/deny/- "Read(./.env)"`},
		{"claude", claude, "ask fetch example.org", `permissions/ask/- "WebFetch(domain:example.org)"`},
		{"claude", claude, "allow mcp notes/add", `permissions/allow/- "mcp__notes__add"`},
		{"claude", claude, "allow mcp notes", `permissions/allow/- "mcp__notes"`},
		{"claude", claude, "allow edit", `permissions/allow/- "Edit"`},
		{"claude", claude, "allow search x", ""},
		{"claude", claude, "allow agent", ""},
		{"gemini", gemini, "allow shell make *", `tools/allowed/- "run_shell_command(make)"`},
		{"gemini", gemini, "deny shell rm -rf", ""},
		{"gemini", gemini, "ask edit", `tools/confirmationRequired/- "replace", tools/confirmationRequired/- "write_file"`},
		{"gemini", gemini, "allow agent", ""},
		{"gemini", gemini, "deny edit", `tools/exclude/- "replace", tools/exclude/- "write_file"`},
		{"gemini", gemini, "deny edit src/**", ""},
		{"gemini", gemini, "ask shell make", ""},
		{"gemini", gemini, "allow shell *.sh x", ""},
		{"opencode", nil, "deny shell rm -rf *", `permission/bash/rm -rf * "deny"`},
		{"opencode", nil, "ask edit", `permission/edit/* "ask"`},
		{"opencode", nil, "allow fetch example.org", ""},
		{"opencode", nil, "deny read **/.env", `permission/read/.env "deny", permission/read/.env/* "deny", permission/read/*/.env "deny", permission/read/*/.env/* "deny"`},
		{"opencode", nil, "deny read **/*.key", `permission/read/*.key "deny", permission/read/*.key/* "deny"`},
		{"opencode", nil, "deny read ./secrets/**", `permission/read/secrets/** "deny", permission/read/*/secrets/** "deny"`},
		{"opencode", nil, "allow read .env", `permission/read/.env "allow", permission/read/*/.env "allow"`},
		{"opencode", nil, "allow edit ./docs/**", `permission/edit/docs/** "allow"`},
		{"opencode", nil, "allow edit a/**/b", `permission/edit/a/**/b "allow", permission/edit/a/b "allow"`},
		{"opencode", nil, "deny read ~/.ssh/**", `permission/read/~/.ssh/** "deny"`},
		{"opencode", nil, "allow mcp x", ""},
		{"cursor", nil, "allow shell git *", `permissions/allow/- "Shell(git)"`},
		{"cursor", nil, "allow shell git status", ""},
		{"cursor", nil, "deny edit .env*", `permissions/deny/- "Write(.env*)"`},
		{"cursor", nil, "ask read x", ""},
		{"toaster", nil, "allow shell", ""},
	}
	for _, test := range tests {
		f := strings.SplitN(test.perm+"  ", " ", 3)
		var all []string
		for _, s := range Permission(test.shape, test.names, f[0], f[1], strings.TrimSpace(f[2])) {
			text := strings.Join(s.Pointer, "/")
			if s.Member {
				text += "/-"
			}
			all = append(all, text+" "+string(s.Value))
		}
		got := strings.Join(all, ", ")
		if got != test.want {
			t.Errorf("%s: %s is %q, want %q", test.shape, test.perm, got, test.want)
		}
	}
}

func TestACodexRuleIsAboutTheStartOfACommand(t *testing.T) {
	for perm, want := range map[string]string{
		"allow shell make *":  `prefix_rule(pattern = ["make"], decision = "allow")` + "\n",
		"ask shell git push":  `prefix_rule(pattern = ["git", "push"], decision = "prompt")` + "\n",
		"deny shell rm -rf *": `prefix_rule(pattern = ["rm", "-rf"], decision = "forbidden")` + "\n",
		"deny shell *.sh":     "",
		"deny shell *":        "",
		"deny read .env":      "",
		"permit shell make":   "",
	} {
		f := strings.SplitN(perm, " ", 3)
		if got, _ := CodexRule(f[0], f[1], f[2]); got != want {
			t.Errorf("%s is %q, want %q", perm, got, want)
		}
	}
}

func TestAHookIsWrittenInTheShapeOfEachProgram(t *testing.T) {
	h := Hook{Event: "preToolUse", Matcher: "Shell", Command: "x 'y'", Timeout: 9}
	for shape, want := range map[string]string{
		"claude":  `{"type":"command","command":"x 'y'","timeout":9}`,
		"cursor":  `{"command":"x 'y'","matcher":"Shell","timeout":9}`,
		"copilot": `{"type":"command","matcher":"Shell","bash":"x 'y'","timeoutSec":9}`,
	} {
		if got := string(HookValue(shape, h)); got != want {
			t.Errorf("%s: %s, want %s", shape, got, want)
		}
	}
	h.If = "Bash(git *)"
	if got, want := string(HookValue("claude", h)), `{"type":"command","command":"x 'y'","timeout":9,"if":"Bash(git *)"}`; got != want {
		t.Errorf("with a condition: %s, want %s", got, want)
	}
	if got := Call(`"$DIR"/{path}`, ".agents/hooks/a.sh", "a.sh --fast"); got != `"$DIR"/.agents/hooks/a.sh --fast` {
		t.Error(got)
	}
}
