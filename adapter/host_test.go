package adapter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/resource"
	"aisync.dev/aisync/schema/spec"
)

// values maps each leaf to what a person may see of its value.
func values(d Decls) map[string]string {
	out := map[string]string{}
	for _, decl := range d.Declarations {
		for _, l := range decl.Leaves {
			out[strings.TrimSuffix(string(decl.Target)+" "+string(l.Key), " ")] = string(l.Body.Redacted())
		}
	}
	return out
}

func TestServersAreWrittenInTheFormOfEachProgram(t *testing.T) {
	p := project([]string{"claude", "codex", "copilot", "local-openai", "opencode"}, nil)
	p.Spec.MCP = []spec.MCPServer{
		{Name: "far/away", URL: "https://example.org/mcp", Headers: []spec.EnvVar{{Name: "Authorization", Secret: &spec.Secret{Env: "TOKEN"}}}},
		{Name: "near", Command: "uvx", Args: []string{"serve", "two words"}, Env: []spec.EnvVar{{Name: "LEVEL", Value: "warn"}}},
	}
	d, err := p.Declare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"file:.mcp.json /mcpServers/far~1away":           `{"type":"http","url":"https://example.org/mcp","headers":{"Authorization":"${TOKEN}"}}`,
		"file:.mcp.json /mcpServers/near":                `{"command":"uvx","args":["serve","two words"],"env":{"LEVEL":"warn"}}`,
		"file:.codex/config.toml /mcp_servers/far~1away": `{"url":"https://example.org/mcp","env_http_headers":{"Authorization":"TOKEN"}}`,
		"file:.codex/config.toml /mcp_servers/near":      `{"command":"uvx","args":["serve","two words"],"env":{"LEVEL":"warn"}}`,
		"file:opencode.json /$schema":                    `"https://opencode.ai/config.json"`,
		"file:opencode.json /mcp/far~1away":              `{"type":"remote","url":"https://example.org/mcp","enabled":true,"headers":{"Authorization":"{env:TOKEN}"}}`,
		"file:opencode.json /mcp/near":                   `{"type":"local","command":["uvx","serve","two words"],"enabled":true,"environment":{"LEVEL":"warn"}}`,
	}
	if diff := cmp.Diff(want, values(d)); diff != "" {
		t.Error(diff)
	}
	for _, says := range []string{
		"unsupported mcp:copilot/far/away: MCP server far/away for copilot: Authorization is a secret, and its configuration cannot refer to one",
		"unsupported mcp:copilot/near: MCP server near for copilot: claude reads the same file and needs it in another form",
		"note: MCP servers are not for local-openai (far/away, near)",
	} {
		if !strings.Contains(show(d), says) {
			t.Errorf("does not say %q:\n%s", says, show(d))
		}
	}
}

func host(t *testing.T, runtimes ...spec.RuntimeUse) Host {
	return Host{Spec: &spec.Host{Name: "h", Dir: "/h", Runtimes: runtimes}, Runtimes: adapters(), Sources: &bundle.Sources{}, Home: "/home/me"}
}

func TestEachRuntimeFindsEachSkillOnceWhereThatCanBe(t *testing.T) {
	archive := "-- review/SKILL.md --\n---\nname: review\ndescription: Reviews.\n---\nSee ../claude-rules/a.md\n-- agent-rules/a.md --\n# A\n"
	tests := map[string]struct {
		runtimes []string
		parts    []string
		want     []string // targets below folders of skills
		says     string
	}{
		"one folder serves both":    {[]string{"claude", "opencode"}, nil, []string{"file:~/.claude/skills/review/SKILL.md", "link:~/.claude/skills/claude-rules"}, ""},
		"its own where no other is": {[]string{"opencode"}, nil, []string{"file:~/.config/opencode/skills/review/SKILL.md", "link:~/.config/opencode/skills/claude-rules"}, ""},
		"twice where it must be": {[]string{"claude", "codex", "opencode"}, nil, []string{
			"file:~/.agents/skills/review/SKILL.md", "file:~/.claude/skills/review/SKILL.md",
			"link:~/.agents/skills/claude-rules", "link:~/.claude/skills/claude-rules",
		}, ""},
		"the one that both read": {[]string{"codex", "opencode"}, nil, []string{"file:~/.agents/skills/review/SKILL.md", "link:~/.agents/skills/claude-rules"}, ""},
		"no rules to lead to":    {[]string{"claude"}, []string{"skills"}, []string{"file:~/.claude/skills/review/SKILL.md"}, "skill review refers to ../claude-rules/"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			src := source(t, "core", archive)
			h := host(t)
			for _, r := range test.runtimes {
				h.Spec.Runtimes = append(h.Spec.Runtimes, spec.RuntimeUse{ID: r})
			}
			h.Spec.Bundles = []spec.HostBundle{{Name: "core", Source: src.URL, Parts: test.parts}}
			d, err := h.Declare(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, decl := range d.Declarations {
				if strings.Contains(string(decl.Target), "/skills/") {
					got = append(got, string(decl.Target))
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(show(d), test.says) || test.says == "" && strings.Contains(show(d), "warning:") {
				t.Errorf("want %q:\n%s", test.says, show(d))
			}
		})
	}
}

func TestRelative(t *testing.T) {
	for _, c := range [][3]string{
		{"~/.claude/skills", "~/.claude/rules", "../rules"},
		{"~/.agents/skills", "~/.codex/rules", "../../.codex/rules"},
		{".claude/skills", ".claude/rules", "../rules"},
	} {
		if got := render.Relative(c[0], c[1]); got != c[2] {
			t.Errorf("from %s to %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

func TestTrustIsTheProjectsAndOnlyWhereTheHostSaysSo(t *testing.T) {
	h := &spec.Host{Trust: spec.Flag{On: true, Pos: line("h.cue", 2)}, Runtimes: []spec.RuntimeUse{{ID: "claude"}, {ID: "codex"}, {ID: "opencode"}}}
	p := &spec.Project{Dir: "/code/a b", Runtimes: []spec.Named{{Value: "codex"}, {Value: "claude"}, {Value: "copilot"}}}
	d := Trust(h, p, adapters())
	want := "file:~/.claude.json [json] local\n    /projects/~1code~1a b/hasTrustDialogAccepted  <- h.cue:2:1\n" +
		"file:~/.codex/config.toml [toml] local\n    /projects/~1code~1a b/trust_level  <- h.cue:2:1\n"
	if diff := cmp.Diff(want, show(d)); diff != "" {
		t.Error(diff)
	}
	if d.Declarations[0].Owner != reconcile.ProjectOwner(p.Dir) {
		t.Errorf("owner %s", d.Declarations[0].Owner)
	}
	h.Trust.On = false
	if d := Trust(h, p, adapters()); len(d.Declarations) != 0 {
		t.Errorf("without trust: %s", show(d))
	}
}

func TestRulesOfBothScopesAreNamedOnce(t *testing.T) {
	h, p := declareHost(t, velox(t), nil), declareProject(t, drill(t))
	notes := Overlaps(h, p)
	var got []string
	for _, n := range notes {
		got = append(got, strings.SplitN(n.Text, ";", 2)[0])
	}
	want := []string{
		"claude loads commits.md, verify.md twice, from ~/.claude/rules and from AGENTS.md",
		"local-openai loads commits.md, verify.md twice, from ~/.config/rulesets/runtimes/local-openai/AGENTS.md and from AGENTS.md",
		"opencode loads commits.md, verify.md twice, from ~/.config/opencode/rules and from AGENTS.md",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestModelsLieInTheStoreFileByFile(t *testing.T) {
	h := host(t)
	h.Models = []spec.Model{{ID: "big"}, {ID: "small"}}
	h.Spec.Models = []spec.ModelUse{{ID: "big", Pos: line("h.cue", 1)}, {ID: "small", Pos: line("h.cue", 2)}}
	h.Pick = func(use spec.ModelUse, m spec.Model) (spec.Quant, string, error) {
		if m.ID == "small" {
			return spec.Quant{Name: "F32", Files: []spec.ModelFile{{Path: "sub/s.gguf", Size: 7, SHA256: "ab"}}}, "the only one", nil
		}
		return spec.Quant{Name: "Q4", Files: []spec.ModelFile{{Path: "b-1.gguf", Size: 5}, {Path: "b-2.gguf", Size: 6}}}, "fits 64 GiB", nil
	}
	d, err := h.Declare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"model:big b-1.gguf": `{"quant":"Q4","path":"/home/me/.local/share/llm/models/local/big/b-1.gguf","size":5,"reason":"fits 64 GiB"}`,
		"model:big b-2.gguf": `{"quant":"Q4","path":"/home/me/.local/share/llm/models/local/big/b-2.gguf","size":6,"reason":"fits 64 GiB"}`,
		"model:small":        `{"quant":"F32","path":"/home/me/.local/share/llm/models/local/small/s.gguf","size":7,"sha256":"ab","reason":"the only one"}`,
	}
	if diff := cmp.Diff(want, values(d)); diff != "" {
		t.Error(diff)
	}
	if _, conflicts := resource.Compose(d.Declarations); len(conflicts) > 0 {
		t.Errorf("conflicts: %+v", conflicts)
	}
	h.Pick = func(spec.ModelUse, spec.Model) (spec.Quant, string, error) {
		return spec.Quant{}, "", errors.New("no quant \"Q9\"")
	}
	h.Spec.Models = append(h.Spec.Models, spec.ModelUse{ID: "smal", Pos: line("h.cue", 3)})
	_, err = h.Declare(context.Background())
	for _, want := range []string{`h.cue:1:1: model "big": no quant "Q9"`, `h.cue:3:1: model "smal": is not in the catalog; did you mean "small"?`} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("error does not say %q:\n%v", want, err)
		}
	}
}

func TestEachProgramGetsItsViewOfAModel(t *testing.T) {
	h := host(t)
	h.Models = []spec.Model{{ID: "m"}, {ID: "own"}, {ID: "parts"}}
	h.Spec.Models = []spec.ModelUse{{ID: "m", Pos: line("h.cue", 1)}, {ID: "own", Pos: line("h.cue", 2)}, {ID: "parts", Pos: line("h.cue", 3)}}
	h.Spec.Views = []spec.Named{{Value: "huggingface"}, {Value: "ollama"}, {Value: "lmstudio"}}
	sum := strings.Repeat("Ab", 32)
	h.Pick = func(use spec.ModelUse, m spec.Model) (spec.Quant, string, error) {
		file := spec.ModelFile{Path: "sub/m.gguf", Size: 7, SHA256: sum, Repo: "o/n", Commit: "c0ffee"}
		switch m.ID {
		case "own":
			file.Repo, file.Commit = "", ""
			return spec.Quant{Name: "Q4", Files: []spec.ModelFile{file}}, "", nil
		case "parts":
			return spec.Quant{Name: "Q4", Files: []spec.ModelFile{{Path: "p-1.gguf", Repo: "o/p"}, {Path: "p-2.gguf", Repo: "o/p"}}}, "", nil
		}
		return spec.Quant{Name: "Q4", Files: []spec.ModelFile{file}}, "", nil
	}
	d, err := h.Declare(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	low := strings.ToLower(sum)
	hub := "~/.cache/huggingface/hub/models--o--n/"
	want := []string{
		"file:" + hub + "refs/main seed",
		"link:" + hub + "snapshots/c0ffee/sub/m.gguf \"../../../blobs/" + low + "\"",
		"view:" + hub + "blobs/" + low,
		"view:~/.lmstudio/models/o/n/m.gguf",
		"view:~/.lmstudio/models/local/own/m.gguf",
		"view:~/.ollama/models/blobs/sha256-" + low,
		"file:~/.ollama/models/manifests/registry.ollama.ai/library/m/latest",
		"file:~/.ollama/models/manifests/registry.ollama.ai/library/own/latest",
	}
	got := map[string]bool{}
	resources, conflicts := resource.Compose(d.Declarations)
	for _, r := range resources {
		for _, l := range r.Leaves {
			name := string(r.Address)
			switch {
			case l.Key != "":
				name += " " + string(l.Key)
			case r.Address.Kind() == "link":
				name += " " + string(l.Body.Redacted())
			}
			got[name] = true
			if r.Address.Kind() != "model" && len(r.DependsOn) == 0 {
				t.Errorf("%s waits for nothing", r.Address)
			}
		}
	}
	for _, w := range want {
		if !got[w] {
			t.Errorf("%s is not declared", w)
		}
	}
	if len(conflicts) > 0 || len(got) != len(want)+1+2+2 { // ollama's config; two models, two shards that are not pinned
		t.Errorf("conflicts %v, declared %v", conflicts, got)
	}
	if !strings.Contains(show(d), "model own is not from Hugging Face") {
		t.Errorf("says\n%s", show(d))
	}
}

func BenchmarkDeclaringAThousandRules(b *testing.B) {
	dir := b.TempDir()
	writeRules(b, dir, 1000)
	p := &spec.Project{Name: "p", Dir: "/p", Runtimes: []spec.Named{{Value: "claude"}, {Value: "opencode"}},
		Sources: []spec.Source{{Name: "s", URL: dir}}, Bundles: []spec.BundleRef{{Source: "s", Name: "."}}}
	b.ReportAllocs()
	for b.Loop() {
		d, err := Project{Spec: p, Runtimes: adapters(), Sources: &bundle.Sources{}}.Declare(context.Background())
		if err != nil || len(d.Declarations) != 2001 {
			b.Fatalf("%d declarations, error %v", len(d.Declarations), err)
		}
	}
}

func writeRules(b *testing.B, dir string, n int) {
	b.Helper()
	if err := os.Mkdir(filepath.Join(dir, "agent-rules"), 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range n {
		text := fmt.Sprintf("---\npaths: [\"**/*.x%d\"]\n---\n# Rule %d\n\n%s", i, i, strings.Repeat("One change a commit.\n", 150))
		if err := os.WriteFile(filepath.Join(dir, "agent-rules", fmt.Sprintf("r%04d.md", i)), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

func TestTheTopOfASourceIsForUserScope(t *testing.T) {
	src := source(t, "core", `
-- agent-rules/a.md --
# A
-- runtimes/codex/rules/b.md --
# B
-- runtimes/codex/instructions.md --
# C
-- runtimes/claude/settings.json --
{"model": "x"}
-- commands/fix.md --
Fix.
-- ignore --
.env
`)
	for name, test := range map[string]struct {
		parts []string
		want  []string
	}{
		"all":   {nil, []string{"file:~/.claude/commands/fix.md", "file:~/.claude/rules/a.md", "file:~/.claude/settings.json", "file:~/.codex/AGENTS.md"}},
		"rules": {[]string{"rules"}, []string{"file:~/.claude/rules/a.md", "file:~/.codex/AGENTS.md"}},
		"some":  {[]string{"commands"}, []string{"file:~/.claude/commands/fix.md"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := host(t, spec.RuntimeUse{ID: "claude"}, spec.RuntimeUse{ID: "codex"})
			h.Runtimes = []spec.Runtime{
				{ID: "claude", User: spec.Scope{
					Rules: "~/.claude/rules", RulesForm: "paths", Commands: &spec.PromptFolder{Path: "~/.claude/commands", Form: "markdown"},
					Settings: &spec.SettingsFile{Path: "~/.claude/settings.json", Format: "json"},
				}},
				{ID: "codex", User: spec.Scope{RulesBlock: "~/.codex/AGENTS.md"}},
			}
			h.Spec.Bundles = []spec.HostBundle{{Name: "core", Source: src.URL, Parts: test.parts}}
			d, err := h.Declare(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, decl := range d.Declarations {
				got = append(got, string(decl.Target))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if name == "all" && (!strings.Contains(show(d), "| # A\n        | \n        | For codex only:\n        | \n        | # B") || !strings.Contains(show(d), "the ignored files of core (.env) are not for claude, codex")) {
				t.Errorf("declares\n%s", show(d))
			}
		})
	}
}
