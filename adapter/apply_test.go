package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/adapter/workspace"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/internal/gitrepo"
	"aisync.dev/aisync/providers/dir"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/gitconfig"
	"aisync.dev/aisync/providers/link"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// git runs programs in the project, as gitconfig needs it.
type git string

func (g git) Run(ctx context.Context, _ string, argv ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Dir = string(g)
	return c.Output()
}

// filesIn lists what lies below the folders, with folders, git's own and the
// state apart.
func filesIn(t *testing.T, roots ...string) (out []string) {
	t.Helper()
	for _, root := range roots {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err == nil && (d.Name() == ".git" || d.Name() == "state") {
				return fs.SkipDir
			}
			if rel, _ := filepath.Rel(root, name); err == nil && rel != "." {
				out = append(out, rel)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// machine is a home and a project in empty folders, and what applies there.
type machine struct {
	project, home string
	owner         reconcile.Owner
	disk          *fsys.Disk
	engine        *reconcile.Engine
	read          reconcile.ReadEnv
	runs          int
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	root := t.TempDir()
	m := &machine{project: t.TempDir(), home: filepath.Join(root, "home/me")}
	m.owner = reconcile.ProjectOwner(m.project)
	if err := os.MkdirAll(m.home, 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	if m.disk, err = fsys.New(fsys.Options{Root: root, Home: "/home/me", Project: m.project, Tag: "test"}); err != nil {
		t.Fatal(err)
	}
	m.engine = &reconcile.Engine{Parallel: 1, Providers: []reconcile.Provider{file.Provider{}, dir.Provider{Layouts: workspace.Layouts()}, link.Provider{}, gitconfig.Provider{}}}
	m.read = reconcile.ReadEnv{FS: m.disk, Home: "/home/me", Run: git(m.project), Clock: time.Now}
	return m
}

// apply plans and applies, and returns what the plan was to do.
func (m *machine) apply(t *testing.T, decls []reconcile.Declaration) reconcile.Summary {
	t.Helper()
	ctx := context.Background()
	m.runs++
	store, err := reconcile.OpenStore(m.disk, "/home/me/state/aisync")
	if err != nil {
		t.Fatal(err)
	}
	var lock *reconcile.Lock
	if b, err := os.ReadFile(filepath.Join(m.project, "aisync.lock")); err == nil {
		if lock, err = reconcile.ParseLock("aisync.lock", b); err != nil {
			t.Fatal(err)
		}
	}
	store.UseLock(m.owner, "aisync.lock", lock)
	plan, err := m.engine.Plan(ctx, m.read, store, reconcile.Input{Declarations: decls, Owners: []reconcile.Owner{reconcile.HostOwner, m.owner}})
	if err != nil {
		t.Fatal(err)
	}
	result, err := m.engine.Apply(ctx, reconcile.WriteEnv{ReadEnv: m.read, FS: m.disk}, store, plan, reconcile.ApplyOptions{ID: strconv.Itoa(m.runs), Command: "test", Version: "0"})
	if err != nil || len(result.Failed) > 0 {
		t.Fatalf("apply %d: %v %+v %+v", m.runs, err, result.Failed, plan.Undecided())
	}
	return plan.Summary()
}

// written applies declarations in an empty folder and returns the files.
func written(t *testing.T, decls []reconcile.Declaration) map[string]string {
	t.Helper()
	m := newMachine(t)
	for i := range decls {
		decls[i].Owner = reconcile.ProjectOwner(m.project)
	}
	m.apply(t, decls)
	out := map[string]string{}
	for _, name := range filesIn(t, m.project) {
		if b, err := os.ReadFile(filepath.Join(m.project, name)); err == nil && name != "aisync.lock" {
			out[name] = string(b)
		}
	}
	return out
}

func TestTheContractIsWrittenOnceAndLeavesNothingBehind(t *testing.T) {
	ctx, m := context.Background(), newMachine(t)
	project, home := m.project, m.home
	if _, err := (git(project)).Run(ctx, "", "git", "init", "-q"); errors.Is(err, exec.ErrNotFound) {
		t.Skip("there is no git here")
	} else if err != nil {
		t.Fatal(err)
	}
	p, h := drill(t), velox(t)
	p.Dir = project
	on := spec.Flag{On: true}
	p.Agents = spec.Agents{Sessions: on, Ledger: on, Tasks: on, Queues: []string{"orchestrator-core"}, Runs: on}
	apply := func(decls []reconcile.Declaration) reconcile.Summary { t.Helper(); return m.apply(t, decls) }
	wanted := func() []reconcile.Declaration {
		d, err := Project{Spec: p, Runtimes: catalog.Runtimes(), Sources: &bundle.Sources{}, Git: gitrepo.IsTop(project)}.Declare(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Concat(d.Declarations, declareHost(t, h, nil).Declarations, workspace.Declare(p), Trust(h, p, catalog.Runtimes()).Declarations)
	}
	p.Sources[0].Dir = filepath.Join(contract(t), "project")

	if s := apply(wanted()); s.Create == 0 || s.Conflict+s.Unknown > 0 {
		t.Errorf("first plan: %+v", s)
	}
	if s := apply(wanted()); s.Unchanged == 0 || s.Create+s.Update+s.Delete+s.Accept+s.Drift > 0 {
		t.Errorf("second plan: %+v", s)
	}
	for name, want := range map[string]string{
		filepath.Join(project, "CLAUDE.md"):                         "\n@AGENTS.md\n",
		filepath.Join(project, ".gitignore"):                        "# --- elisp ruleset ---\n*.elc\n*.eln\n/.claude/settings.local.json\n",
		filepath.Join(project, "AGENTS.md"):                         "# Emacs Lisp\n\nApplies to: `**/*.el`\n",
		filepath.Join(home, ".claude/skills/agent-rules/verify.md"): "# Verify before you say done\n",
		filepath.Join(home, ".claude.json"):                         `"hasTrustDialogAccepted": true`,
		filepath.Join(home, ".config/opencode/opencode.json"):       `"~/.config/opencode/rules/*.md"`,
	} {
		if got, err := os.ReadFile(name); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s does not hold %q (error %v):\n%s", name, want, err, got)
		}
	}
	if out, err := git(project).Run(ctx, "", "git", "config", "core.hooksPath"); err != nil || string(out) != "githooks\n" {
		t.Errorf("core.hooksPath %q, error %v", out, err)
	}
	apply(nil)
	left := slices.DeleteFunc(filesIn(t, project, home), func(name string) bool { return name == "aisync.lock" })
	if len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestReformattedFilesAreNoDrift(t *testing.T) {
	m := newMachine(t)
	p, h := drill(t), velox(t)
	p.Dir, p.Sources[0].Dir = m.project, filepath.Join(contract(t), "project")
	p.Runtimes, h.Runtimes = nil, nil
	for _, rt := range catalog.Runtimes() {
		p.Runtimes = append(p.Runtimes, spec.Named{Value: rt.ID})
		if !rt.Local {
			h.Runtimes = append(h.Runtimes, spec.RuntimeUse{ID: rt.ID})
		}
	}
	wanted := func() []reconcile.Declaration {
		d, err := Project{Spec: p, Runtimes: catalog.Runtimes(), Sources: &bundle.Sources{}}.Declare(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return slices.Concat(d.Declarations, declareHost(t, h, nil).Declarations, Trust(h, p, catalog.Runtimes()).Declarations)
	}
	m.apply(t, wanted())
	for name, more := range map[string]string{ // what the program itself adds
		".claude.json":                   `"numStartups": 3, "projects": {"/elsewhere": {"hasTrustDialogAccepted": true}}`,
		".claude/settings.json":          `"feedbackSurveyState": {}, "permissions": {"allow": ["Bash(ls)"]}`,
		".config/opencode/opencode.json": `"theme": "x"`,
		".gemini/settings.json":          `"ui": {"theme": "Dracula"}`,
		".gemini/trustedFolders.json":    `"/elsewhere": "TRUST_FOLDER"`,
		".qwen/settings.json":            `"$version": 3, "ui": {}`,
		".copilot/config.json":           `"last_logged_in_user": null`,
	} {
		rewrite(t, filepath.Join(m.home, name), more)
	}
	for name, more := range map[string]string{"opencode.json": `"keybinds": {}`, ".claude/settings.json": `"enabledMcpjsonServers": ["x"]`, ".gemini/settings.json": `"ui": {}`} {
		rewrite(t, filepath.Join(m.project, name), more)
	}
	codex := filepath.Join(m.home, ".codex/config.toml")
	text, err := os.ReadFile(codex)
	if err != nil {
		t.Fatal(err)
	}
	text = append([]byte("personality = \"x\"\n"), append(text, "\n[projects.\"/elsewhere\"]\ntrust_level = \"trusted\"\n\n[notice]\nhide = true\n"...)...)
	if err := os.WriteFile(codex, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if s := m.apply(t, wanted()); s.Unchanged == 0 || s.Create+s.Update+s.Delete+s.Accept+s.Drift+s.Conflict+s.Unknown > 0 {
		t.Errorf("plan after the programs have run: %+v", s)
	}
}

// rewrite writes a JSON file as programs do: read, changed, and written again
// with its names in another order.
func rewrite(t *testing.T, name, more string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var doc, add map[string]any
	if err := errors.Join(json.Unmarshal(text, &doc), json.Unmarshal([]byte("{"+more+"}"), &add)); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	merged(doc, add)
	if text, err = json.MarshalIndent(doc, "", "\t"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func merged(into, add map[string]any) {
	for k, v := range add {
		had, both := into[k].(map[string]any)
		if sub, ok := v.(map[string]any); ok && both {
			merged(had, sub)
			continue
		}
		if list, ok := into[k].([]any); ok {
			v = append(v.([]any), list...)
		}
		into[k] = v
	}
}
