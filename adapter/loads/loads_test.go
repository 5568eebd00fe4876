package loads

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/schema/spec"
)

// tree is a machine with a repository in /w/p/repo and home in /h/me. A path is
// relative to the repository, or starts with ~/ or /; a text that starts with
// "-> " is a link.
func tree(files map[string]string) *Planned {
	p := &Planned{Files: map[string][]byte{project + "/.git/HEAD": nil}, Links: map[string]string{}}
	for f, text := range files {
		at := project + "/" + f
		if rest, ok := strings.CutPrefix(f, "~/"); ok {
			at = homeDir + "/" + rest
		} else if strings.HasPrefix(f, "/") {
			at = f
		}
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			p.Links[at] = to
		} else {
			p.Files[at] = []byte(text)
		}
	}
	return p
}

// short is a path as tree takes it.
func short(p string) string {
	for long, s := range map[string]string{project + "/": "", homeDir + "/": "~/"} {
		if rest, ok := strings.CutPrefix(p, long); ok {
			return s + rest
		}
	}
	return p
}

// told is a result in lines: "kind name start/total path < importer", and
// "never path: reason".
func told(r Result) []string {
	var out []string
	for _, i := range r.Items {
		line := fmt.Sprintf("%s %s %d/%d", i.Kind, i.Name, i.Start, i.Total)
		if i.When != AtStart {
			line += " " + string(i.When)
		}
		for _, f := range i.From {
			line += " " + short(f.Path)
			for _, via := range slices.Backward(f.Via) {
				line += " < " + short(via)
			}
		}
		if i.Cut > 0 {
			line += fmt.Sprint(" cut ", i.Cut, " from line ", i.CutLine)
		}
		out = append(out, line)
	}
	for _, n := range r.Never {
		out = append(out, fmt.Sprintf("never %s: %s", short(n.Path), n.Reason))
	}
	return out
}

func TestLoads(t *testing.T) {
	skill := func(name string) string {
		return "---\nname: " + name + "\ndescription: about " + name + "\n---\n# Do\n"
	}
	tests := map[string]struct {
		program string
		files   map[string]string
		start   string
		touched []string
		env     map[string]string
		want    []string
	}{
		"a CLAUDE.md above the repository ends AGENTS.md everywhere": {
			program: "claude", files: map[string]string{"/w/CLAUDE.md": "a", "AGENTS.md": "b", "sub/AGENTS.md": "c"}, touched: []string{"sub/x.go"},
			want: []string{"note CLAUDE.md 1/1 /w/CLAUDE.md", "never AGENTS.md: ended", "never sub/AGENTS.md: ended"},
		},
		"a nested AGENTS.md hides the root's CLAUDE.md": {
			program: "opencode", files: map[string]string{"CLAUDE.md": "a", "sub/AGENTS.md": "b"}, start: "sub",
			want: []string{"note AGENTS.md 1/1 sub/AGENTS.md", "never CLAUDE.md: shadowed"},
		},
		"a variable takes another program's files away": {
			program: "opencode", files: map[string]string{"CLAUDE.md": "a", "~/.claude/CLAUDE.md": "b", "CONTEXT.md": "c"},
			env:  map[string]string{"OPENCODE_DISABLE_CLAUDE_CODE": "1"},
			want: []string{"note CONTEXT.md 1/1 CONTEXT.md", "never ~/.claude/CLAUDE.md: off", "never CLAUDE.md: off"},
		},
		"a variable that is 0 switches nothing": {
			program: "opencode", files: map[string]string{"CLAUDE.md": "a"}, env: map[string]string{"OPENCODE_DISABLE_CLAUDE_CODE": "0"},
			want: []string{"note CLAUDE.md 1/1 CLAUDE.md"},
		},
		"the user's skill hides the project's": {
			program: "claude", files: map[string]string{"~/.claude/skills/s/SKILL.md": skill("s"), ".claude/skills/s/SKILL.md": skill("s") + "more"},
			want: []string{"skill s 1/1 ~/.claude/skills/s/SKILL.md", "never .claude/skills/s/SKILL.md: shadowed"},
		},
		"the project's skill hides the user's": {
			program: "gemini", files: map[string]string{"~/.agents/skills/s/SKILL.md": skill("s"), ".agents/skills/s/SKILL.md": skill("s") + "more"},
			env:  map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"},
			want: []string{"skill s 1/1 .agents/skills/s/SKILL.md", "never ~/.agents/skills/s/SKILL.md: shadowed"},
		},
		"skills of a nested folder come with it": {
			program: "claude", files: map[string]string{"sub/.claude/skills/s/SKILL.md": skill("s")}, touched: []string{"sub/deep/x.go"},
			want: []string{"skill s 0/1 sub/.claude/skills/s/SKILL.md"},
		},
		"a variable takes other programs' skills away": {
			program: "opencode", files: map[string]string{".agents/skills/s/SKILL.md": skill("s"), "~/.claude/skills/u/SKILL.md": skill("u"), ".opencode/skill/deep/er/t/SKILL.md": skill("t")},
			env:  map[string]string{"OPENCODE_DISABLE_EXTERNAL_SKILLS": "true"},
			want: []string{"skill t 1/1 .opencode/skill/deep/er/t/SKILL.md", "never .agents/skills/s/SKILL.md: off", "never ~/.claude/skills/u/SKILL.md: off"},
		},
		"a skill without a description": {
			program: "codex", files: map[string]string{".agents/skills/s/SKILL.md": "# Do\n", ".agents/skills/t/SKILL.md": skill("t")},
			want: []string{"skill t 1/1 .agents/skills/t/SKILL.md", "never .agents/skills/s/SKILL.md: nameless"},
		},
		"a folder of skills that is a link": {
			program: "claude", files: map[string]string{".agents/skills/s/SKILL.md": skill("s"), ".claude/skills": "-> ../.agents/skills"},
			want: []string{"skill s 1/1 .claude/skills/s/SKILL.md"},
		},
		"skills of an untrusted folder": {
			program: "pi", files: map[string]string{".agents/skills/s/SKILL.md": skill("s"), "~/.agents/skills/u/SKILL.md": skill("u"), "AGENTS.md": "a"},
			want: []string{"note AGENTS.md 1/1 AGENTS.md", "skill u 1/1 ~/.agents/skills/u/SKILL.md", "never .agents/skills/s/SKILL.md: untrusted"},
		},
		"trust in a folder above": {
			program: "pi", files: map[string]string{".agents/skills/s/SKILL.md": skill("s"), "~/.pi/agent/trust.json": `{"/w": true}`},
			want: []string{"skill s 1/1 .agents/skills/s/SKILL.md"},
		},
		"bytes of all nested files together": {
			program: "codex", files: map[string]string{"AGENTS.md": strings.Repeat("a", 30000), "sub/AGENTS.md": strings.Repeat("b", 5000), "sub/deep/AGENTS.md": "c"}, start: "sub/deep",
			want: []string{"note AGENTS.md 1/1 AGENTS.md", "note AGENTS.md 1/1 sub/AGENTS.md cut 2232 from line 1", "never sub/deep/AGENTS.md: cut"},
		},
		"a setting moves the limit": {
			program: "codex", files: map[string]string{"AGENTS.md": strings.Repeat("a", 40000), "~/.codex/config.toml": "project_doc_max_bytes = 39000\n"},
			want: []string{"note AGENTS.md 1/1 AGENTS.md cut 1000 from line 1"},
		},
		"a project's setting counts once the folder is trusted": {
			program: "codex", files: map[string]string{"AGENTS.md": "a\nb\nc\n" + strings.Repeat("a", 39994), ".codex/config.toml": "project_doc_max_bytes = 50000\n"},
			want: []string{"note AGENTS.md 1/1 AGENTS.md cut 7232 from line 4"},
		},
		"a variable moves the user's folder": {
			program: "codex", files: map[string]string{"/else/AGENTS.md": "a", "~/.codex/AGENTS.md": "b"}, env: map[string]string{"CODEX_HOME": "/else"},
			want: []string{"note AGENTS.md 1/1 /else/AGENTS.md"},
		},
		"a variable moves a file beside the folder": {
			program: "claude", files: map[string]string{
				"/else/rules/r.md": "a", "~/.claude/CLAUDE.md": "b", "AGENTS.md": "c",
				"/else/.claude.json": `{"cachedGrowthBookFeatures": {"tengu_agents_md_mod": false}}`,
			}, env: map[string]string{"CLAUDE_CONFIG_DIR": "/else"},
			want: []string{"rule r 1/1 /else/rules/r.md", "never AGENTS.md: off"},
		},
		"a variable moves the folder that holds the folder": {
			program: "gemini", files: map[string]string{"/else/.gemini/GEMINI.md": "a"}, env: map[string]string{"GEMINI_CLI_HOME": "/else"},
			want: []string{"note GEMINI.md 1/1 /else/.gemini/GEMINI.md"},
		},
		"imports end after five files": {
			program: "claude", files: map[string]string{"CLAUDE.md": "0 @a1.md", "a1.md": "1 @a2.md", "a2.md": "2 @a3.md", "a3.md": "3 @a4.md", "a4.md": "4 @a5.md", "a5.md": "5"},
			want: []string{
				"note CLAUDE.md 1/1 CLAUDE.md", "note a1.md 1/1 a1.md < CLAUDE.md", "note a2.md 1/1 a2.md < a1.md < CLAUDE.md",
				"note a3.md 1/1 a3.md < a2.md < a1.md < CLAUDE.md", "note a4.md 1/1 a4.md < a3.md < a2.md < a1.md < CLAUDE.md", "never a5.md: too deep",
			},
		},
		"an import that is not there, and words that are none": {
			program: "claude", files: map[string]string{"CLAUDE.md": "@docs/no.md @someone me@x.md ` @AGENTS.md `\n```\n@AGENTS.md\n```\n<!-- @AGENTS.md -->", "AGENTS.md": "b"},
			want: []string{"note CLAUDE.md 1/1 CLAUDE.md", "never docs/no.md: missing", "never AGENTS.md: ended"},
		},
		"two lines that import one file": {
			program: "gemini", files: map[string]string{"GEMINI.md": "x\n@a.md\n@./a.md\n", "a.md": "a @GEMINI.md"}, env: map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"},
			want: []string{"note GEMINI.md 1/1 GEMINI.md", "note a.md 2/2 a.md < GEMINI.md a.md < GEMINI.md"},
		},
		"links in a circle, to nothing, and to another file": {
			program: "claude", files: map[string]string{
				".claude/rules/a.md": "-> b.md", ".claude/rules/b.md": "-> a.md", ".claude/rules/c.md": "-> /no", ".claude/rules/d.md": "-> ../../d.md", "d.md": "d",
				".claude/rules/all": "-> ..",
			},
			want: []string{
				"rule d 1/1 .claude/rules/d.md", "never .claude/rules/a.md: circular", "never .claude/rules/b.md: circular", "never .claude/rules/c.md: missing",
			},
		},
		"a program that reads no links": {
			program: "qwen", files: map[string]string{".qwen/rules/a.md": "-> ../../AGENTS.md", "AGENTS.md": "a"},
			want: []string{"note AGENTS.md 1/1 AGENTS.md", "never .qwen/rules/a.md: link"},
		},
		"the folder above the repository": {
			program: "qwen", files: map[string]string{"/w/p/AGENTS.md": "a", "/w/AGENTS.md": "b"},
			want: []string{"note AGENTS.md 1/1 /w/p/AGENTS.md"},
		},
		"a rule for paths, and one that nothing matched": {
			program: "claude", files: map[string]string{
				".claude/rules/go.md": "---\npaths: [\"**/*.go\"]\n---\nGo", ".claude/rules/py.md": "---\npaths: [\"**/*.py\"]\n---\nPy", "sub/.claude/rules/x.md": "---\npaths: [\"x.go\"]\n---\nX",
			}, touched: []string{"a.txt", "sub/x.go"},
			want: []string{"rule x 0/1 path sub/.claude/rules/x.md", "rule go 0/1 path .claude/rules/go.md", "rule py 0/0 path .claude/rules/py.md"},
		},
		"four kinds of rules": {
			program: "cursor", files: map[string]string{
				".cursor/rules/a.mdc": "---\nalwaysApply: true\n---\nA", ".cursor/rules/b.mdc": "---\nglobs: *.go,*.ts\n---\nB",
				".cursor/rules/c.mdc": "---\ndescription: of C\n---\nC", ".cursor/rules/d.mdc": "---\nalwaysApply: false\n---\nD", ".cursor/rules/e.mdc": "E", ".cursor/rules/f.md": "F",
			}, touched: []string{"src/x.ts"},
			want: []string{"rule a 1/1 .cursor/rules/a.mdc", "rule b 0/1 path .cursor/rules/b.mdc", "rule c 0/0 request .cursor/rules/c.mdc", "rule d 0/0 manual .cursor/rules/d.mdc", "rule e 0/0 manual .cursor/rules/e.mdc"},
		},
		"one text with other line ends": {
			program: "copilot", files: map[string]string{"AGENTS.md": "# A\n\nb\n", "CLAUDE.md": "\uFEFF# A\r\n\r\nb\r\n"},
			want: []string{"note AGENTS.md 1/1 AGENTS.md", "never CLAUDE.md: same"},
		},
		"blocks of ours beside a person's text": {
			program: "codex", files: map[string]string{"AGENTS.md": "mine\n\n<!-- aisync:begin rules -->\n# R\n<!-- aisync:end rules -->\n", "sub/AGENTS.md": "mine"}, start: "sub",
			want: []string{"note AGENTS.md 2/2 AGENTS.md sub/AGENTS.md", "rule rules 1/1 AGENTS.md"},
		},
		"names that a setting gives": {
			program: "gemini", files: map[string]string{"A.md": "a", "GEMINI.md": "g", ".gemini/settings.json": "{\"context\": {\"fileName\": \"A.md\"}} // mine", "~/.gemini/A.md": "u"},
			env:  map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"},
			want: []string{"note A.md 1/1 ~/.gemini/A.md", "note A.md 1/1 A.md"},
		},
		"files that a setting lists": {
			program: "aider", files: map[string]string{".aider.conf.yml": "read: [docs/a.md, /w/b.md, docs/no.md]\n", "docs/a.md": "a", "/w/b.md": "b", "AGENTS.md": "c"},
			want: []string{"note a.md 1/1 docs/a.md", "note b.md 1/1 /w/b.md"},
		},
		"servers, hooks, commands and subagents": {
			program: "copilot", files: map[string]string{
				".github/mcp.json": `{"mcpServers": {"a": {"command": "x"}}}`, ".mcp.json": `{"mcpServers": {"a": {"command": "y"}, "b": {"command": "x"}}}`,
				".github/agents/r.agent.md": "---\nname: r\ndescription: reviews\n---\nLook.", ".github/hooks/aisync.json": `{"hooks": {"sessionStart": [{"bash": "x"}]}}`,
				".claude/settings.json": `{"hooks": {"Stop": [{"matcher": "", "hooks": [{"command": "y"}]}]}}`, "~/.copilot/config.json": `{"trustedFolders": ["/w/p/repo"]}`,
			},
			want: []string{
				"subagent r 1/1 request .github/agents/r.agent.md", "mcp a 1/1 .github/mcp.json", "mcp b 1/1 .mcp.json",
				"hook sessionStart: x 1/1 .github/hooks/aisync.json", "hook Stop: y 1/1 .claude/settings.json", "never .mcp.json: shadowed",
			},
		},
		"commands by their folders": {
			program: "gemini", files: map[string]string{".gemini/commands/git/push.toml": "prompt = \"x\"\n"}, env: map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"},
			want: []string{"command git/push 1/1 manual .gemini/commands/git/push.toml"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			start := strings.TrimSuffix(project+"/"+test.start, "/")
			var touched []string
			for _, p := range test.touched {
				touched = append(touched, project+"/"+p)
			}
			r, err := Loads(program(t, test.program), Machine{Tree: tree(test.files), Home: homeDir, Environment: test.env}, start, touched...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, told(r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhyAndWhereFrom(t *testing.T) {
	files := map[string]string{"CLAUDE.md": "# C\n@docs/a.md\n", "docs/a.md": "-> b.md", "docs/b.md": "B", "sub/CLAUDE.md": "S"}
	r, err := Loads(program(t, "claude"), Machine{Tree: tree(files), Home: homeDir}, project, project+"/sub/x")
	if err != nil {
		t.Fatal(err)
	}
	want := []File{
		{Path: project + "/CLAUDE.md", Real: project + "/CLAUDE.md", Why: "at the start"},
		{Path: project + "/docs/a.md", Real: project + "/docs/b.md", Via: []string{project + "/CLAUDE.md"}, Why: "at the start"},
		{Path: project + "/sub/CLAUDE.md", Real: project + "/sub/CLAUDE.md", Why: "after sub/x was read", After: project + "/sub/x"},
	}
	var got []File
	for _, i := range r.Items {
		got = append(got, i.From...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if i := r.Items[0]; string(i.Text) != "# C\n" || i.Digest != Digest([]byte("# C")) {
		t.Errorf("an import line is part of %q", i.Text)
	}
}

func TestBrokenFrontMatterIsText(t *testing.T) {
	r, err := Loads(program(t, "claude"), Machine{Tree: tree(map[string]string{".claude/rules/r.md": "---\npaths: [\n---\nR"}), Home: homeDir}, project)
	if err != nil || len(r.Items) != 1 || r.Items[0].Start != 1 || !strings.Contains(r.Items[0].Broken, "line") {
		t.Errorf("%+v %v", r.Items, err)
	}
}

func TestCount(t *testing.T) {
	files := map[string]string{"AGENTS.md": "# One\r\n\r\ntext\r\n\r\n# Two\n", "CLAUDE.md": "@AGENTS.md\n", ".claude/rules/one.md": "---\npaths: ['*.go']\n---\n# One\n\ntext\n"}
	r, err := Loads(program(t, "copilot"), Machine{Tree: tree(files), Home: homeDir}, project, project+"/x.go")
	if err != nil {
		t.Fatal(err)
	}
	if start, total := r.Count([]byte("\n# One\n\ntext\n")); start != 2 || total != 3 {
		t.Errorf("%d at the start and %d in all, want 2 and 3\n%s", start, total, summary(r))
	}
	if twice := r.Twice(); len(twice) != 1 || twice[0].Name != "AGENTS.md" {
		t.Errorf("%+v", twice)
	}
	if start, total := r.Count([]byte(" \n")); start+total != 0 {
		t.Error("nothing is counted")
	}
}

func TestOutsideOfGit(t *testing.T) {
	files := &Planned{Files: map[string][]byte{"/w/AGENTS.md": []byte("a"), "/w/x/AGENTS.md": []byte("b")}}
	for id, want := range map[string]int{"codex": 1, "gemini": 0, "qwen": 2, "opencode": 2, "claude": 2} {
		r, err := Loads(program(t, id), Machine{Tree: files, Home: homeDir}, "/w/x")
		if err != nil || len(r.Items) != want {
			t.Errorf("%s has %d items, want %d: %v", id, len(r.Items), want, err)
		}
	}
}

func TestWhatCannotBeAsked(t *testing.T) {
	m := Machine{Tree: tree(nil), Home: homeDir}
	if _, err := Loads(spec.Runtime{ID: "x"}, m, project); !errors.Is(err, ErrUnknown) {
		t.Errorf("a program without data: %v", err)
	}
	if _, err := Loads(program(t, "claude"), m, "p"); err == nil || !strings.Contains(err.Error(), "absolute") {
		t.Errorf("a relative start: %v", err)
	}
	r, err := Loads(program(t, "claude"), Machine{Tree: tree(nil), Home: homeDir}, project+"/not/there")
	if err != nil || len(r.Items) != 0 || r.Top != project {
		t.Errorf("a start that is not there: %+v %v", r, err)
	}
}

func TestGrantedTrust(t *testing.T) {
	files := tree(map[string]string{"GEMINI.md": "a"})
	for trust, want := range map[Trust]int{Recorded: 0, Granted: 1} {
		r, err := Loads(program(t, "gemini"), Machine{Tree: files, Home: homeDir, Trust: trust}, project)
		if err != nil || len(r.Items) != want {
			t.Errorf("trust %d: %d items, want %d, %v", trust, len(r.Items), want, err)
		}
	}
}
