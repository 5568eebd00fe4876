package gitconfig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/providers/providertest"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// git runs the real program with a home of its own.
type git struct{ home string }

func (g git) Run(ctx context.Context, dir string, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.home, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return out, nil
}

func (g git) must(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := g.Run(context.Background(), dir, append([]string{"git"}, args...)...)
	if err != nil {
		t.Fatal(message(err), err)
	}
	return strings.TrimSpace(string(out))
}

const address reconcile.Address = "gitconfig:core.hooksPath"

func TestGitconfigPassesProviderSuite(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Suite {
		g := git{home: t.TempDir()}
		return providertest.Suite{
			Provider: Provider{}, Address: address, Project: true, Run: g, Stride: 4,
			Prepare: func(t *testing.T, b *providertest.Bench) { g.must(t, b.Project, "init", "-q") },
			Want: func(_ *providertest.Bench, v string) []reconcile.Leaf {
				return []reconcile.Leaf{{Body: Value("hooks." + v)}}
			},
			Put: func(t *testing.T, b *providertest.Bench, v string) {
				if v != "" {
					g.must(t, b.Project, "config", "--local", "core.hooksPath", "hooks."+v)
					return
				}
				_, _ = g.Run(context.Background(), b.Project, "git", "config", "--local", "--unset-all", "core.hooksPath") // fails where it is not set
			},
			Get: func(t *testing.T, b *providertest.Bench) string {
				out, _ := g.Run(context.Background(), b.Project, "git", "config", "--local", "core.hooksPath") // fails where it is not set
				return strings.TrimPrefix(strings.TrimSpace(string(out)), "hooks.")
			},
			Block: func(t *testing.T, b *providertest.Bench) {
				g.must(t, b.Project, "config", "--local", "core.hooksPath", "one")
				g.must(t, b.Project, "config", "--local", "--add", "core.hooksPath", "two")
			},
		}
	})
}

// env is a command in the project dir.
func env(t *testing.T, g reconcile.Runner, dir string) reconcile.ReadEnv {
	t.Helper()
	disk, err := fsys.New(fsys.Options{Project: dir, Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	return reconcile.ReadEnv{FS: disk, Run: g}
}

func observed(t *testing.T, r reconcile.ReadEnv) reconcile.Observation {
	t.Helper()
	return Provider{}.Observe(t.Context(), r, []reconcile.Target{{Resource: reconcile.Resource{Address: address}}})[0]
}

// change wants value where o is.
func change(o reconcile.Observation, action reconcile.Action, value string) reconcile.Change {
	l := reconcile.LeafChange{Decision: reconcile.Decision{Action: action}}
	if value != "" {
		l.Want = &reconcile.Leaf{Body: Value(value)}
	}
	return reconcile.Change{Target: reconcile.Target{Resource: reconcile.Resource{Address: address}}, Before: o, Leaves: []reconcile.LeafChange{l}}
}

func TestALinkedWorkTreeSharesTheValueUnlessItHasItsOwn(t *testing.T) {
	g := git{home: t.TempDir()}
	main, tree := t.TempDir(), filepath.Join(t.TempDir(), "tree")
	g.must(t, main, "init", "-q")
	g.must(t, main, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "start")
	g.must(t, main, "worktree", "add", "-q", "-b", "side", tree)
	if info, err := os.Stat(filepath.Join(tree, ".git")); err != nil || info.IsDir() {
		t.Fatalf("%v %v: want a .git that is a file", info, err)
	}
	set := func(value string) {
		t.Helper()
		r := env(t, g, tree)
		if _, err := (Provider{}).Apply(t.Context(), change(observed(t, r), reconcile.Update, value), reconcile.WriteEnv{ReadEnv: r}); err != nil {
			t.Fatal(err)
		}
	}
	set("githooks")
	if got := g.must(t, main, "config", "core.hooksPath"); got != "githooks" {
		t.Errorf("the repository has %q", got)
	}
	g.must(t, main, "config", "extensions.worktreeConfig", "true")
	if o := observed(t, env(t, g, tree)); o.Token != token("githooks") {
		t.Errorf("the work tree sees %q", o.Token)
	}
	set("other")
	if got := g.must(t, main, "config", "core.hooksPath"); got != "githooks" {
		t.Errorf("the repository now has %q", got)
	}
	if got := g.must(t, tree, "config", "core.hooksPath"); got != "other" {
		t.Errorf("the work tree has %q", got)
	}
}

func TestGlobalValueIsReportedAndKept(t *testing.T) {
	g, dir := git{home: t.TempDir()}, t.TempDir()
	g.must(t, dir, "init", "-q")
	g.must(t, dir, "config", "--global", "core.hooksPath", "/home/me/hooks")
	r := env(t, g, dir)
	o := observed(t, r)
	if o.Presence != reconcile.Absent {
		t.Fatalf("presence %d", o.Presence)
	}
	c := change(o, reconcile.Create, "githooks")
	lines := Provider{}.Explain(t.Context(), r, c)
	if len(lines) != 2 || lines[0].Text != "core.hooksPath = githooks" || !strings.Contains(lines[1].Text, "/home/me/hooks no longer counts") {
		t.Errorf("explained by %v", lines)
	}
	if _, err := (Provider{}).Apply(t.Context(), c, reconcile.WriteEnv{ReadEnv: r}); err != nil {
		t.Fatal(err)
	}
	if got := g.must(t, dir, "config", "--global", "core.hooksPath"); got != "/home/me/hooks" {
		t.Errorf("the value for all is %q", got)
	}
}

// The lock is that of the file that would be written, and the command that
// removes it works when it is typed.
func TestStaleGitLockIsNamedWithFix(t *testing.T) {
	for _, perTree := range []bool{false, true} {
		g := git{home: t.TempDir()}
		main, tree := filepath.Join(t.TempDir(), "it's main"), filepath.Join(t.TempDir(), "a tree")
		if err := os.Mkdir(main, 0o755); err != nil {
			t.Fatal(err)
		}
		g.must(t, main, "init", "-q")
		g.must(t, main, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "start")
		g.must(t, main, "worktree", "add", "-q", "-b", "side", tree)
		lock := filepath.Join(main, ".git/config.lock")
		if perTree {
			g.must(t, main, "config", "extensions.worktreeConfig", "true")
			lock = filepath.Join(main, ".git/worktrees/a-tree/config.worktree.lock")
		}
		if err := os.WriteFile(lock, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		r := env(t, g, tree)
		apply := func() error {
			_, err := (Provider{}).Apply(t.Context(), change(observed(t, r), reconcile.Create, "githooks"), reconcile.WriteEnv{ReadEnv: r})
			return err
		}
		err := apply()
		if err == nil {
			t.Fatal("written in spite of a lock")
		}
		_, cure, _ := strings.Cut(err.Error(), "remove it (")
		cure, _, ok := strings.Cut(cure, "), then run")
		if !ok {
			t.Fatalf("no cure is named: %v", err)
		}
		if out, err := exec.Command("sh", "-c", cure).CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", cure, err, out)
		}
		if _, err := os.Lstat(lock); err == nil {
			t.Errorf("%s removes another lock than %s", cure, lock)
		}
		if err := apply(); err != nil || g.must(t, tree, "config", "core.hooksPath") != "githooks" {
			t.Errorf("after that: %v", err)
		}
	}
}

type missing struct{}

func (missing) Run(context.Context, string, ...string) ([]byte, error) {
	return nil, &exec.Error{Name: "git", Err: exec.ErrNotFound}
}

func TestUnreadableGitConfigIsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		run  reconcile.Runner
		want string
	}{
		"no git":         {missing{}, "git is not installed"},
		"no repository":  {git{home: t.TempDir()}, "run git init"},
		"no program run": {nil, "no program may be run"},
	} {
		t.Run(name, func(t *testing.T) {
			o := observed(t, env(t, c.run, t.TempDir()))
			if o.Presence != reconcile.Unknown || !strings.Contains(o.Reason, c.want) {
				t.Errorf("presence %d, %q", o.Presence, o.Reason)
			}
		})
	}
}

func TestAStaleValueIsLeftAlone(t *testing.T) {
	g, dir := git{home: t.TempDir()}, t.TempDir()
	g.must(t, dir, "init", "-q")
	r := env(t, g, dir)
	before := observed(t, r)
	g.must(t, dir, "config", "core.hooksPath", ".husky/_")
	_, err := Provider{}.Apply(t.Context(), change(before, reconcile.Create, "githooks"), reconcile.WriteEnv{ReadEnv: r})
	if !errors.Is(err, reconcile.ErrStale) {
		t.Errorf("apply: %v", err)
	}
	if got := g.must(t, dir, "config", "core.hooksPath"); got != ".husky/_" {
		t.Errorf("now %q", got)
	}
}
