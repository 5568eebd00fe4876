package ledger

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// gitIn runs git in a folder, without a person's settings.
func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func TestLinkedWorkTreesFindLedger(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(names ...string) string { return filepath.Join(append([]string{top}, names...)...) }
	mkdir := func(dirs ...string) {
		t.Helper()
		for _, dir := range dirs {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	write := func(name, text string) {
		t.Helper()
		mkdir(filepath.Dir(name))
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	mkdir(at("home/main/part/src"), at("home/none"), at("home/sub"))
	for _, repo := range []string{"home/main", "home/none", "home/sub"} {
		gitIn(t, at(repo), "init", "-q")
		gitIn(t, at(repo), "commit", "-q", "--allow-empty", "-m", "x")
	}
	gitIn(t, at("home/main"), "worktree", "add", "-q", at("home/linked"))
	gitIn(t, at("home/main"), "worktree", "add", "-q", at("elsewhere"))
	gitIn(t, at("home/main"), "worktree", "add", "-q", at("home/main/.trees/inner"))
	gitIn(t, at("home/none"), "worktree", "add", "-q", at("home/linked-none"))
	gitIn(t, at("home/main"), "submodule", "add", "-q", at("home/sub"), "module")
	gitIn(t, at("home"), "clone", "-q", "--bare", at("home/main"), "bare.git")
	gitIn(t, at("home/bare.git"), "worktree", "add", "-q", "-b", "free", at("home/of-bare"))
	mkdir(at("home/linked/part/src"), at("home/linked/other"), at("home/main/.pi-ensemble"), at("home/main/part/.pi-ensemble"), at("home/.pi-ensemble"))
	// A folder that says it is a work tree of main, of which main knows nothing.
	write(at("forged/.git"), "gitdir: "+at("home/main/.git/worktrees/linked")+"\n")
	// A work tree whose pointers are relative, as newer versions of git write them.
	gitIn(t, at("home/main"), "worktree", "add", "-q", at("relative"))
	write(at("relative/.git"), "gitdir: ../home/main/.git/worktrees/relative\n")
	write(at("home/main/.git/worktrees/relative/gitdir"), "../../../../../relative/.git\n")

	for start, want := range map[string][2]string{
		"home/main":              {"home/main", "home/main"},
		"home/main/part/src":     {"home/main/part", "home/main/part"},
		"home/linked":            {"home/main", "home/linked"}, // and not home, which is above it
		"home/linked/other":      {"home/main", "home/linked"},
		"home/linked/part/src":   {"home/main/part", "home/linked/part"},
		"elsewhere":              {"home/main", "elsewhere"},
		"relative":               {"home/main", "relative"},
		"home/main/.trees/inner": {"home/main", "home/main/.trees/inner"},
		"home/linked-none":       {"home", "home"},
		"home/main/module":       {"home/main", "home/main"},
		"home/of-bare":           {"home", "home"},
		"forged":                 {"", ""},
	} {
		l, err := Find(at(start))
		if want[0] == "" {
			if !errors.Is(err, ErrNoLedger) {
				t.Errorf("%s: %v, %+v", start, err, l)
			}
			continue
		}
		if err != nil || l.Root != at(want[0]) || l.Base() != at(want[1]) {
			t.Errorf("%s: %+v, %v; want the ledger of %s, and paths from %s", start, l, err, want[0], want[1])
		}
	}
	// A work tree with a ledger has that one.
	mkdir(at("home/linked/.pi-ensemble"))
	if l, err := Find(at("home/linked/other")); err != nil || l.Root != at("home/linked") {
		t.Errorf("%+v, %v", l, err)
	}
}

// In a linked work tree a claim is of its file, and the agents of both see it.
func TestClaimsInLinkedWorkTree(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	main, linked := filepath.Join(top, "main"), filepath.Join(top, "linked")
	gitIn(t, top, "init", "-q", "main")
	gitIn(t, main, "commit", "-q", "--allow-empty", "-m", "x")
	gitIn(t, main, "worktree", "add", "-q", linked)
	here, _, err := Init(main, "pi")
	if err != nil {
		t.Fatal(err)
	}
	there, err := Find(linked)
	if err != nil {
		t.Fatal(err)
	}
	for l, agent := range map[*Ledger]string{here: "pi", there: "codex"} {
		if _, err := l.ClaimAll(agent, []string{"src/x.go"}, false); err != nil {
			t.Fatal(err)
		}
	}
	claims, err := here.Claims()
	if err != nil || len(claims) != 2 {
		t.Fatalf("%+v, %v", claims, err)
	}
	for _, c := range claims {
		if want := map[string]string{"pi": main, "codex": linked}[c.Agent] + "/src/x.go"; c.Path != want {
			t.Errorf("%s claims %s, want %s", c.Agent, c.Path, want)
		}
	}
	if _, held, err := there.Release("codex", "src/x.go", false); err != nil || !held {
		t.Error(held, err)
	}
	if _, err := there.ClaimAll("codex", []string{main + "/src/x.go"}, false); !errors.Is(err, ErrClaimed) {
		t.Error(err)
	}
}
