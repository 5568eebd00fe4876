package trust

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// machine is a home and a project on a real disk.
type machine struct {
	t         *testing.T
	home, dir string
	env       reconcile.ReadEnv
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	base := t.TempDir()
	m := &machine{t: t, home: filepath.Join(base, "home"), dir: filepath.Join(base, "work", "it's")}
	for _, d := range []string{m.home, m.dir} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	disk, err := fsys.New(fsys.Options{Project: m.dir})
	if err != nil {
		t.Fatal(err)
	}
	m.env = reconcile.ReadEnv{FS: disk, Home: fsys.LogicalPath(m.home)}
	return m
}

// write puts text, with the project's folder for {dir}, below the home or the
// project.
func (m *machine) write(name, text string) {
	m.t.Helper()
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = filepath.Join(m.home, rest)
	} else {
		name = filepath.Join(m.dir, name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		m.t.Fatal(err)
	}
	text = strings.NewReplacer("{dir}", m.dir, "{up}", filepath.Dir(m.dir)).Replace(text)
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// plan is one in which the project's owner wants keys of files, all of them
// there already.
func (m *machine) plan(action reconcile.Action, wants map[string][]string) *reconcile.Plan {
	p := &reconcile.Plan{}
	for name, keys := range wants {
		c := reconcile.Change{Target: reconcile.Target{Resource: reconcile.Resource{Address: reconcile.Address("file:" + name)}}}
		for _, k := range keys {
			k = strings.ReplaceAll(k, "{dir}", strings.TrimPrefix(merge.Pointer(m.dir), "/"))
			l := reconcile.LeafChange{Key: reconcile.LeafKey(k), Want: &reconcile.Leaf{
				Key: reconcile.LeafKey(k), Body: file.Value(merge.Value(`"trusted"`)), Owners: []reconcile.Owner{m.owner()},
				Origin: []reconcile.Position{{File: "aisync.cue", Line: 3, Col: 1}},
			}}
			l.Action = action
			c.Leaves = append(c.Leaves, l)
		}
		p.Changes = append(p.Changes, c)
	}
	return p
}

func (m *machine) owner() reconcile.Owner { return reconcile.ProjectOwner(m.dir) }

func (m *machine) check(runtime string, p *reconcile.Plan) []Row {
	m.t.Helper()
	rt, ok := catalog.With(spec.Catalog{}).Runtime(runtime)
	if !ok {
		m.t.Fatalf("no runtime %s", runtime)
	}
	return Check(m.env, p, Project{Dir: m.dir, Owner: m.owner(), Runtimes: []spec.Runtime{rt}})
}

// said is rows in a line each.
func said(rows []Row) string {
	var lines []string
	for _, r := range rows {
		lines = append(lines, strings.Join(r.Parts, "+")+" "+strings.Join(r.Names, ",")+" "+r.State)
	}
	return strings.Join(lines, "; ")
}

func TestTrustFollowsProgramRecord(t *testing.T) {
	mcp := func(path, pointer string) map[string][]string {
		return map[string][]string{path: {pointer + "/a", pointer + "/b"}}
	}
	for _, tt := range []struct {
		name, runtime string
		wants         map[string][]string
		file, record  string
		want          string
	}{
		{"codex knows nothing", "codex", mcp(".codex/config.toml", "/mcp_servers"), "", "", "mcp a,b not trusted"},
		{"codex trusts", "codex", mcp(".codex/config.toml", "/mcp_servers"), "~/.codex/config.toml", "[projects.\"{dir}\"]\ntrust_level = \"trusted\"\n", ""},
		{"codex distrusts", "codex", mcp(".codex/config.toml", "/mcp_servers"), "~/.codex/config.toml", "[projects.\"{dir}\"]\ntrust_level = \"untrusted\"\n", "mcp a,b not trusted"},
		{"codex's record is broken", "codex", mcp(".codex/config.toml", "/mcp_servers"), "~/.codex/config.toml", "a = = 1\n", "mcp a,b unknown"},
		{"the folder above does not count for codex", "codex", mcp(".codex/config.toml", "/mcp_servers"), "~/.codex/config.toml", "[projects.\"{up}\"]\ntrust_level = \"trusted\"\n", "mcp a,b not trusted"},
		{"only rules for codex", "codex", map[string][]string{"AGENTS.md": {"block:rules"}}, "", "", ""},
		{"gemini takes nothing", "gemini", map[string][]string{"GEMINI.md": {"line:@AGENTS.md"}}, "", "", "everything  not trusted"},
		{"gemini trusts the folder above", "gemini", map[string][]string{"GEMINI.md": {"line:@AGENTS.md"}}, "~/.gemini/trustedFolders.json", `{"{up}": "TRUST_FOLDER"}`, ""},
		{"the nearer answer decides", "gemini", map[string][]string{"GEMINI.md": {"line:@AGENTS.md"}}, "~/.gemini/trustedFolders.json", `{"{up}": "TRUST_FOLDER", "{dir}": "DO_NOT_TRUST"}`, "everything  not trusted"},
		{"claude asks twice", "claude", mcp(".mcp.json", "/mcpServers"), "", "", "mcp a,b not trusted; mcp a not trusted; mcp b not trusted"},
		{"claude trusts the folder and one server", "claude", mcp(".mcp.json", "/mcpServers"), "~/.claude.json",
			`{"projects": {"{dir}": {"hasTrustDialogAccepted": true, "enabledMcpjsonServers": ["b"]}}}`, "mcp a not trusted"},
		{"claude's own settings in the project", "claude", mcp(".mcp.json", "/mcpServers"), ".claude/settings.local.json",
			`{"enableAllProjectMcpServers": true}`, "mcp a,b not trusted"},
		{"qwen approves by name", "qwen", mcp(".qwen/settings.json", "/mcpServers"), "~/.qwen/mcpApprovals.json", `{"{dir}": {"a": {"hash": "x", "status": "approved"}}}`, "mcp b not trusted"},
		{"pi trusts everything", "pi", map[string][]string{".agents/skills/x/SKILL.md": {""}}, "~/.pi/agent/settings.json", `{"defaultProjectTrust": "always"}`, ""},
		{"pi trusts nothing", "pi", map[string][]string{".agents/skills/x/SKILL.md": {""}}, "~/.pi/agent/trust.json", `{"{dir}": false}`, "skills  not trusted"},
		{"copilot", "copilot", mcp(".github/mcp.json", "/mcpServers"), "~/.copilot/config.json", "// by copilot\n{\"trustedFolders\": [\"{dir}\"]}", ""},
		{"copilot does not look into its settings", "copilot", mcp(".github/mcp.json", "/mcpServers"), "~/.copilot/settings.json", `{"trustedFolders": ["{dir}"]}`, "mcp a,b not trusted"},
		{"gemini asks about each subagent as it is", "gemini", map[string][]string{".gemini/agents/a.md": {""}}, "~/.gemini/acknowledgments/agents.json", `{"{dir}": {"a": "of another text"}}`, "everything  not trusted; subagents a not trusted"},
		{"codex's hooks", "codex", map[string][]string{".codex/hooks.json": {"/hooks/Stop#x"}}, "~/.codex/config.toml", "[projects.\"{dir}\"]\ntrust_level = \"trusted\"\n", ""},
		{"opencode never asks", "opencode", mcp("opencode.json", "/mcp"), "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			if tt.file != "" {
				m.write(tt.file, tt.record)
			}
			rows := m.check(tt.runtime, m.plan(reconcile.None, tt.wants))
			if got := said(rows); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			for _, r := range rows {
				if !strings.Contains(r.Do, `it'\''s'`) || len(r.Origin) != 1 {
					t.Errorf("do is %q, origin %v", r.Do, r.Origin)
				}
				if r.State == Unknown && !strings.Contains(r.Reason, "~/.codex/config.toml:1:5: invalid TOML") {
					t.Errorf("reason is %q", r.Reason)
				}
			}
		})
	}
}

func TestWhatTheSameApplyTrustsIsTrusted(t *testing.T) {
	m := newMachine(t)
	p := m.plan(reconcile.Create, map[string][]string{
		".codex/config.toml":   {"/mcp_servers/a"},
		"~/.codex/config.toml": {"/projects/{dir}/trust_level"},
	})
	if rows := m.check("codex", p); len(rows) > 0 {
		t.Errorf("got %v", rows)
	}
}

func TestAnAnswerIsBoundToTheTextThatItWasAbout(t *testing.T) {
	m := newMachine(t)
	p := m.plan(reconcile.None, map[string][]string{".gemini/agents/a.md": {""}})
	sum := digest(p.Changes[0].Leaves[0].Want.Body.Fingerprint())
	m.write("~/.gemini/trustedFolders.json", `{"{dir}": "TRUST_FOLDER"}`)
	m.write("~/.gemini/acknowledgments/agents.json", `{"{dir}": {"a": "`+sum+`"}}`)
	if rows := m.check("gemini", p); len(sum) != 64 || len(rows) > 0 {
		t.Errorf("%q: %v", sum, rows)
	}
}

// Gemini CLI knows a subagent by the name in its text, which may differ from the
// file's.
func TestAnswerNamesSubagentAsItsTextDoes(t *testing.T) {
	m := newMachine(t)
	p := m.plan(reconcile.None, map[string][]string{".gemini/agents/a.md": {""}})
	leaf := p.Changes[0].Leaves[0].Want
	leaf.Body = file.Whole([]byte("---\nname: \"team-a\"\ndescription: x\n---\nJudge.\n"), 0o644)
	m.write("~/.gemini/trustedFolders.json", `{"{dir}": "TRUST_FOLDER"}`)
	if got := said(m.check("gemini", p)); got != "subagents team-a not trusted" {
		t.Errorf("without an answer: %q", got)
	}
	m.write("~/.gemini/acknowledgments/agents.json", `{"{dir}": {"team-a": "`+digest(leaf.Body.Fingerprint())+`"}}`)
	if got := said(m.check("gemini", p)); got != "" {
		t.Errorf("after the answer: %q", got)
	}
}
