package render_test

import (
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

func lookUp(t *testing.T, id string) spec.Runtime {
	t.Helper()
	i := slices.IndexFunc(catalog.Runtimes(), func(rt spec.Runtime) bool { return rt.ID == id })
	if i < 0 {
		t.Fatalf("no runtime %s", id)
	}
	return catalog.Runtimes()[i]
}

func command(t *testing.T, id, name, text string) render.Prompt {
	rt := lookUp(t, id)
	return render.CommandWords(catalog.Runtimes()).Prompt(rt, rt.User.Commands, name, []byte(text))
}

func agent(t *testing.T, id, name, text string) render.Prompt {
	rt := lookUp(t, id)
	return render.AgentWords(catalog.Runtimes()).Prompt(rt, rt.User.Agents, name, []byte(text))
}

const fix = "---\ndescription: Fix it\nargument-hint: \"[issue]\"\nallowed-tools: Bash\n---\n\nFix $ARGUMENTS \"now\".\n"

func TestCommandInEachForm(t *testing.T) {
	for id, want := range map[string]string{
		"claude":   fix,
		"codex":    "---\ndescription: \"Fix it\"\nargument-hint: \"[issue]\"\n---\nFix $ARGUMENTS \"now\".\n",
		"pi":       "---\ndescription: \"Fix it\"\nargument-hint: \"[issue]\"\n---\nFix $ARGUMENTS \"now\".\n",
		"opencode": "---\ndescription: \"Fix it\"\n---\nFix $ARGUMENTS \"now\".\n",
		"cursor":   "Fix $ARGUMENTS \"now\".\n",
		"qwen":     "---\ndescription: \"Fix it\"\n---\nFix {{args}} \"now\".\n",
		"gemini":   "description = 'Fix it'\nprompt = \"\"\"\nFix {{args}} \"now\".\n\"\"\"\n",
	} {
		if got := string(command(t, id, "fix", fix).Text); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", id, got, want)
		}
	}
	if got := string(command(t, "qwen", "x", "Do it.\n").Text); got != "Do it.\n" {
		t.Errorf("without front matter: %q", got)
	}
	if got := string(command(t, "cursor", "x", "---\nbad: [\n---\nDo it.\n").Text); got != "---\nbad: [\n---\nDo it.\n" {
		t.Errorf("with bad front matter: %q", got)
	}
}

func TestCommandHintIsNoYAMLList(t *testing.T) {
	for _, hint := range []string{"[file]", "[file] [line]", "<file>", "a: b"} {
		got := string(command(t, "codex", "x", "---\nargument-hint: "+hint+"\n---\nDo it.\n").Text)
		if want := "---\nargument-hint: \"" + hint + "\"\n---\nDo it.\n"; got != want {
			t.Errorf("%s: %q, want %q", hint, got, want)
		}
	}
}

func TestCommandOfOpencode(t *testing.T) {
	const text = "---\ndescription: Plan it\nagent: plan\nmodel: anthropic/claude-haiku-4-5\n---\nPlan $ARGUMENTS.\n"
	if got := command(t, "opencode", "plan", text); string(got.Text) != text || len(got.Lost) > 0 || got.Model != "" {
		t.Errorf("opencode: %+v", got)
	}
	got := command(t, "claude", "plan", text)
	if want := "---\ndescription: \"Plan it\"\nmodel: \"haiku\"\n---\nPlan $ARGUMENTS.\n"; string(got.Text) != want || !slices.Equal(got.Lost, []string{"agent: plan"}) {
		t.Errorf("claude: %s %+v", got.Text, got)
	}
	if got := command(t, "codex", "plan", text); got.Model != "anthropic/claude-haiku-4-5" || len(got.Lost) != 1 {
		t.Errorf("codex: %+v", got)
	}
}

func TestSubagentInEachForm(t *testing.T) {
	const critic = "---\nname: critic\ndescription: 'Reviews: all'\ntools: Read, Grep\nmodel: sonnet\nhooks: {}\n---\nYou review.\n"
	const head = "---\nname: \"critic\"\ndescription: \"Reviews: all\"\n"
	tests := map[string]struct {
		text    string
		lost    string
		dropped string
	}{
		"claude":  {critic, "", ""},
		"copilot": {head + "tools: [\"read\",\"view\",\"search\"]\n---\nYou review.\n", "", "hooks"},
		"gemini":  {head + "tools: [\"read_file\",\"read_many_files\",\"glob\",\"grep_search\",\"list_directory\",\"search_file_content\"]\n---\nYou review.\n", "", "hooks"},
		"qwen":    {head + "tools: [\"read_file\",\"grep_search\",\"glob\",\"list_directory\"]\nhooks: {}\n---\nYou review.\n", "", ""},
		"cursor":  {head + "readonly: true\n---\nYou review.\n", "shell fetch agent tools of MCP servers", "hooks"},
		"codex":   {"name = 'critic'\ndescription = 'Reviews: all'\ndeveloper_instructions = \"\"\"\nYou review.\n\"\"\"\nsandbox_mode = \"read-only\"\n", "shell fetch agent tools of MCP servers", "hooks"},
		"opencode": {"---\ndescription: \"Reviews: all\"\nmode: subagent\npermission:\n" +
			"  \"edit\": deny\n  \"bash\": deny\n  \"webfetch\": deny\n  \"websearch\": deny\n  \"codesearch\": deny\n  \"task\": deny\n  \"*_*\": deny\n---\nYou review.\n", "", "hooks"},
	}
	for id, test := range tests {
		got := agent(t, id, "x", critic)
		if string(got.Text) != test.text || strings.Join(got.Lost, " ") != test.lost || strings.Join(got.Dropped, " ") != test.dropped {
			t.Errorf("%s: lost %q, dropped %q\n%s\nwant %q %q\n%s", id, got.Lost, got.Dropped, got.Text, test.lost, test.dropped, test.text)
		}
		if id != "claude" && (got.Model != "sonnet" || got.Limit != "tools: Read, Grep") {
			t.Errorf("%s: model %q, limit %q", id, got.Model, got.Limit)
		}
	}
}

// Whichever program's words a restriction has, no other program gives the
// subagent more without a word about it.
func TestSubagentOfAnotherProgramKeepsItsLimits(t *testing.T) {
	tests := map[string]struct{ from, text string }{
		"opencode, tools":      {"opencode", "---\ndescription: d\nmode: subagent\ntools:\n  write: false\n---\nx\n"},
		"opencode, permission": {"opencode", "---\ndescription: d\npermission:\n  edit: deny\n---\nx\n"},
		"cursor":               {"cursor", "---\nname: a\ndescription: d\nreadonly: true\n---\nx\n"},
		"gemini":               {"gemini", "---\nname: a\ndescription: d\ntools: [read_file, grep_search]\n---\nx\n"},
		"qwen":                 {"qwen", "---\nname: a\ndescription: d\napprovalMode: plan\n---\nx\n"},
		"copilot":              {"copilot", "---\nname: a\ndescription: d\ntools: [read, search]\n---\nx\n"},
		"claude, list":         {"claude", "---\nname: a\ndescription: d\ntools: Read\n---\nx\n"},
		"claude, denied":       {"claude", "---\nname: a\ndescription: d\ndisallowedTools: Write, Edit\n---\nx\n"},
		"claude, mode":         {"claude", "---\nname: a\ndescription: d\npermissionMode: plan\n---\nx\n"},
	}
	words := render.AgentWords(catalog.Runtimes())
	holds := map[string][]string{
		"claude": {"disallowedTools: [\"Edit\"", "tools: [\"Read\""}, "codex": {`sandbox_mode = "read-only"`}, "cursor": {"readonly: true"},
		"copilot": {"tools: ["}, "gemini": {"tools: ["}, "qwen": {"disallowedTools: [\"edit\"", "tools: [\"read_file\""}, "opencode": {`"edit": deny`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if from, own := words.Own([]byte(test.text)); from != test.from || own == (from == "claude") {
				t.Fatalf("the words of %s, want %s", from, test.from)
			}
			for id, some := range holds {
				got := agent(t, id, "a", test.text)
				if id == test.from {
					if string(got.Text) != test.text || len(got.Lost) > 0 {
						t.Errorf("%s: %+v", id, got)
					}
					continue
				}
				if !slices.ContainsFunc(some, func(s string) bool { return strings.Contains(string(got.Text), s) }) {
					t.Errorf("%s may edit:\n%s", id, got.Text)
				}
				if got.Limit == "" || strings.Contains(string(got.Text), "write: false") || strings.Contains(string(got.Text), "edit\", \"write") {
					t.Errorf("%s: %+v", id, got)
				}
			}
		})
	}
}

func TestWhatIsDeniedByPatternIsLost(t *testing.T) {
	const text = "---\ndescription: d\npermission:\n  edit: deny\n  bash:\n    \"*\": deny\n    \"git diff*\": allow\n---\nx\n"
	got := agent(t, "claude", "a", text)
	if want := []string{`bash: {"*":"deny","git diff*":"allow"}`}; !slices.Equal(got.Lost, want) {
		t.Errorf("lost %q, want %q", got.Lost, want)
	}
	if want := "---\nname: \"a\"\ndescription: \"d\"\ndisallowedTools: [\"Edit\",\"Write\",\"MultiEdit\",\"NotebookEdit\"]\n---\nx\n"; string(got.Text) != want {
		t.Errorf("%s", got.Text)
	}
}

func TestSubagentForOneProgramKeepsItsWords(t *testing.T) {
	const text = "---\ndescription: d\ntemperature: 0.1\nruntimes: [opencode]\nmodel: local/qwen\n---\nx\n"
	if got := string(agent(t, "opencode", "a", text).Text); got != "---\ndescription: d\ntemperature: 0.1\nmodel: local/qwen\n---\nx\n" {
		t.Errorf("opencode: %s", got)
	}
	// Claude Code's words stay so, for whichever program the subagent is.
	const claudes = "---\nname: a\ntools: Read\nruntimes: [opencode]\n---\nx\n"
	if got := string(agent(t, "opencode", "a", claudes).Text); !strings.Contains(got, `"edit": deny`) {
		t.Errorf("opencode: %s", got)
	}
	// gemini and qwen need a name, and gemini refuses a field that it does not know.
	if got := string(agent(t, "gemini", "a", "---\ndescription: d\nmax_turns: 3\nruntimes: [gemini]\n---\nx\n").Text); got != "---\nname: \"a\"\ndescription: d\nmax_turns: 3\n---\nx\n" {
		t.Errorf("gemini: %s", got)
	}
}

func TestPrimaryAgentIsNoSubagent(t *testing.T) {
	const text = "---\ndescription: d\nmode: primary\n---\nx\n"
	if got := agent(t, "claude", "a", text); got.Only != "opencode" || got.Text != nil {
		t.Errorf("claude: %+v", got)
	}
	if got := agent(t, "opencode", "a", text); got.Only != "" || string(got.Text) != text {
		t.Errorf("opencode: %+v", got)
	}
}

func TestFieldsAreRenamed(t *testing.T) {
	const text = "---\nname: a\ndescription: d\nmaxTurns: 7\nbackground: true\nskills:\n  - one\n  - two\n---\nx\n"
	for id, want := range map[string]string{"opencode": "steps: 7", "gemini": "max_turns: 7", "cursor": "is_background: true", "qwen": "maxTurns: 7"} {
		got := agent(t, id, "a", text)
		if !strings.Contains(string(got.Text), want+"\n") || strings.Contains(string(got.Text), "one") || !slices.Contains(got.Dropped, "skills") {
			t.Errorf("%s: %q\n%s", id, got.Dropped, got.Text)
		}
	}
}

func TestNamesOfServerTools(t *testing.T) {
	const text = "---\nname: a\ndescription: d\ntools: Read, mcp__notes__find\n---\nx\n"
	for id, want := range map[string]string{"gemini": `"mcp_notes_find"`, "copilot": `"notes/find"`, "qwen": `"mcp__notes__find"`} {
		if got := string(agent(t, id, "a", text).Text); !strings.Contains(got, want) {
			t.Errorf("%s: %s", id, got)
		}
	}
	if got := agent(t, "opencode", "a", text); !slices.Contains(got.Lost, "tools of MCP servers") || strings.Contains(string(got.Text), "*_*") {
		t.Errorf("opencode: %+v", got)
	}
}
