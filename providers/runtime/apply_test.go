package runtime

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/providers/bundle"
	"aisync.dev/aisync/providers/dir"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/gitconfig"
	"aisync.dev/aisync/providers/link"
	"aisync.dev/aisync/providers/workspace"
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

func TestTheContractIsWrittenOnceAndLeavesNothingBehind(t *testing.T) {
	ctx := context.Background()
	project, root := t.TempDir(), t.TempDir()
	home := filepath.Join(root, "home/me")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := (git(project)).Run(ctx, "", "git", "init", "-q"); errors.Is(err, exec.ErrNotFound) {
		t.Skip("there is no git here")
	} else if err != nil {
		t.Fatal(err)
	}
	p, h := drill(t), velox(t)
	p.Dir = project
	on := spec.Flag{On: true}
	p.Agents = spec.Agents{Sessions: on, Ledger: on, Tasks: on, Queues: []string{"orchestrator-core"}, Runs: on}
	disk, err := fsys.New(fsys.Options{Root: root, Home: "/home/me", Project: project, Tag: "test"})
	if err != nil {
		t.Fatal(err)
	}
	engine := &reconcile.Engine{Parallel: 1, Providers: []reconcile.Provider{file.Provider{}, dir.Provider{}, link.Provider{}, gitconfig.Provider{}}}
	read := reconcile.ReadEnv{FS: disk, Home: "/home/me", Run: git(project), Clock: time.Now}
	owner := reconcile.ProjectOwner(project)

	apply := func(id string, decls []reconcile.Declaration) reconcile.Summary {
		t.Helper()
		store, err := reconcile.OpenStore(disk, "/home/me/state/aisync")
		if err != nil {
			t.Fatal(err)
		}
		var lock *reconcile.Lock
		if b, err := os.ReadFile(filepath.Join(project, "aisync.lock")); err == nil {
			if lock, err = reconcile.ParseLock("aisync.lock", b); err != nil {
				t.Fatal(err)
			}
		}
		store.UseLock(owner, "aisync.lock", lock)
		plan, err := engine.Plan(ctx, read, store, reconcile.Input{Declarations: decls, Owners: []reconcile.Owner{reconcile.HostOwner, owner}})
		if err != nil {
			t.Fatal(err)
		}
		result, err := engine.Apply(ctx, reconcile.WriteEnv{ReadEnv: read, FS: disk}, store, plan, reconcile.ApplyOptions{ID: id, Command: "test", Version: "0"})
		if err != nil || len(result.Failed) > 0 {
			t.Fatalf("apply %s: %v %+v", id, err, result.Failed)
		}
		return plan.Summary()
	}
	wanted := func() []reconcile.Declaration {
		d, err := Project{Spec: p, Runtimes: catalog.Runtimes(), Sources: &bundle.Sources{}, Git: IsGit(project)}.Declare(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Concat(d.Declarations, declareHost(t, h, nil).Declarations, workspace.Declare(p), Trust(h, p, catalog.Runtimes()).Declarations)
	}
	p.Sources[0].Dir = filepath.Join(contract(t), "project")

	if s := apply("1", wanted()); s.Create == 0 || s.Conflict+s.Unknown > 0 {
		t.Errorf("first plan: %+v", s)
	}
	if s := apply("2", wanted()); s.Unchanged == 0 || s.Create+s.Update+s.Delete+s.Accept+s.Drift > 0 {
		t.Errorf("second plan: %+v", s)
	}
	for name, want := range map[string]string{
		filepath.Join(project, "CLAUDE.md"):                         "\n@AGENTS.md\n",
		filepath.Join(project, ".gitignore"):                        "# --- elisp ruleset ---\n*.elc\n*.eln\n/.claude/settings.local.json\n",
		filepath.Join(project, ".claude/rules/elisp.md"):            "---\npaths:\n  - \"**/*.el\"\n---\n# Emacs Lisp\n",
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
	apply("3", nil)
	left := slices.DeleteFunc(filesIn(t, project, home), func(name string) bool { return name == "aisync.lock" })
	if len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
