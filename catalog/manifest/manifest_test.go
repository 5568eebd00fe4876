package manifest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
)

const local = `id = "aider-local"
display_name = "Local OpenAI-compatible agent"
command = "aider"
args = ["--model", "openai/qwen-local", "--openai-api-base", "http://127.0.0.1:11434/v1"]
requires_network = false
project_instruction_files = ["AGENTS.md", ".ai/protocols.org"]
global_install_root = "~/.config/rulesets/runtimes/aider-local"
project_install_dir = ".agents/aider-local"
supports_hooks = "wrapper"
supports_mcp = false
supports_subagents = false
`

func TestManifestToEntry(t *testing.T) {
	got, err := Parse("src/runtimes/aider-local.toml", []byte(local))
	if err != nil {
		t.Fatal(err)
	}
	want := catalog.Completed(spec.Runtime{
		ID: "aider-local", Pos: spec.Position{File: "src/runtimes/aider-local.toml", Line: 1, Col: 1},
		DisplayName: "Local OpenAI-compatible agent", Command: "aider", Hooks: "wrapper",
		Launch: spec.Launch{Args: []string{"--model", "openai/qwen-local", "--openai-api-base", "http://127.0.0.1:11434/v1"}},
		User: spec.Scope{
			Dir: "~/.config/rulesets/runtimes/aider-local", RulesKept: "~/.config/rulesets/runtimes/aider-local/rules",
			RulesBlock: "~/.config/rulesets/runtimes/aider-local/AGENTS.md", Skills: "~/.config/rulesets/runtimes/aider-local/skills",
			Instructions: []string{"~/.config/rulesets/runtimes/aider-local/AGENTS.md"},
		},
		Project: spec.Scope{
			Dir: ".agents/aider-local", RulesKept: ".agents/aider-local/rules", RulesBlock: "AGENTS.md", Skills: ".agents/aider-local/skills",
			Instructions: []string{"AGENTS.md", ".ai/protocols.org"},
		},
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text := string(Of(got).Format()); text != local {
		t.Errorf("written back:\n%s", text)
	}
}

func TestManifestRoundTrip(t *testing.T) {
	for _, r := range catalog.Runtimes() {
		text := Of(r).Format()
		got, err := Parse(r.ID+".toml", text)
		if err != nil {
			t.Errorf("%s: %v\n%s", r.ID, err, text)
			continue
		}
		if diff := cmp.Diff(Of(r), Of(got)); diff != "" {
			t.Errorf("%s: %s", r.ID, diff)
		}
	}
}

func TestOddTextSurvives(t *testing.T) {
	m := Manifest{ID: "x", DisplayName: "a \"b\" \\ <c> \x7f\u2028é\n", Args: []string{"", "#", "'"}, SupportsHooks: "manual"}
	got, err := Parse("x.toml", m.Format())
	if err != nil {
		t.Fatalf("%v\n%s", err, m.Format())
	}
	if diff := cmp.Diff(m, Of(got)); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsNamePosition(t *testing.T) {
	for text, want := range map[string]string{
		"id = \"x\"\nsuports_mcp = true\n":                       "x.toml:2:1: suports_mcp: field not allowed; allowed: id, display_name",
		"id = \"x\"\nsupports_mcp = \"yes\"\n":                   "x.toml:2:",
		"id = \"y\"\n":                                           `x.toml:1:1: id: is "y", but the file name says "x"`,
		"id = \"X y\"\n":                                         "x.toml:1:1: id: want a name of lower-case letters",
		"command = \"x\"\n":                                      `x.toml: id: want a name`,
		"id = \"x\"\ncommand = \"sh -c evil\"\n":                 "x.toml:2:1: command: want a program",
		"id = \"x\"\nsupports_hooks = \"some\"\n":                "x.toml:2:1: supports_hooks: want one of native|wrapper|manual",
		"id = \"x\"\nglobal_install_root = \"/etc\"\n":           "x.toml:2:1: global_install_root: want a folder below ~/",
		"id = \"x\"\nglobal_install_root = \"~/../x\"\n":         "x.toml:2:1: global_install_root: ",
		"id = \"x\"\nproject_install_dir = \"../x\"\n":           "x.toml:2:1: project_install_dir: want a folder in the project",
		"id = \"x\"\nproject_instruction_files = [\"~/a.md\"]\n": "x.toml:2:1: project_instruction_files: want files in the project",
		"id = \"x\"\nid = \"y\"\n":                               "x.toml:2:",
		"id = \n":                                                "x.toml:1:",
		"[runtime]\nid = \"x\"\n":                                "x.toml:1:2: runtime: field not allowed",
	} {
		_, err := Parse("x.toml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q\n got %v\nwant %s", text, err, want)
		}
	}
}

func TestEveryFieldIsWritten(t *testing.T) {
	full := Manifest{"x", "d", "c", []string{"a"}, true, []string{"A.md"}, "~/x", ".x", "manual", true, true}
	for i, line := range strings.Split(strings.TrimSpace(string(full.Format())), "\n") {
		if key, _, _ := strings.Cut(line, " = "); !slices.Contains(fields, key) || fields[i] != key {
			t.Errorf("line %d: %s", i+1, line)
		}
	}
}
