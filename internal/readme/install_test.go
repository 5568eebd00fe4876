package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program is a stand-in for aisync that has two links: this version's own may
// have none, and the real one is installed by the README's make install.
const program = `#!/bin/sh
case $1 in
version) echo ai; echo ensemble ;;
gen-docs) mkdir -p "$2/man1"; echo aisync >"$2/man1/aisync.1"; echo plan >"$2/man1/aisync-plan.1" ;;
completion) echo "completion of $2" ;;
esac
`

func TestInstallAndUninstallMatchList(t *testing.T) {
	dir := t.TempDir()
	aisync := filepath.Join(dir, "aisync")
	to := filepath.Join(dir, "to")
	mine := filepath.Join(to, "usr/bin/ensemble")
	for name, text := range map[string]string{aisync: program, mine: "mine\n", filepath.Join(to, "usr/share/man/man1/aisync-gone.1"): "of an older version\n"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	install := func(args ...string) string {
		cmd := exec.Command("../../scripts/install", args...)
		cmd.Env = append(os.Environ(), "AISYNC="+aisync, "DESTDIR="+to, "PREFIX=/usr")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	for range 2 { // twice is once
		if out := install(); !strings.Contains(out, "kept      "+mine) {
			t.Errorf("the program of another is not said:\n%s", out)
		}
		want := []string{
			"bin/ai", "bin/aisync", "bin/ensemble",
			"share/bash-completion/completions/aisync", "share/fish/vendor_completions.d/aisync.fish",
			"share/man/man1/aisync-plan.1", "share/man/man1/aisync.1", "share/zsh/site-functions/_aisync",
		}
		if got := below(t, filepath.Join(to, "usr")); !slices.Equal(got, want) {
			t.Errorf("installed %q", got)
		}
	}
	if to, err := os.Readlink(filepath.Join(to, "usr/bin/ai")); err != nil || to != "aisync" {
		t.Errorf("ai is %q, %v", to, err)
	}
	install("--remove")
	if got := below(t, filepath.Join(to, "usr")); !slices.Equal(got, []string{"bin/ensemble"}) {
		t.Errorf("left %q", got)
	}
}

// below lists files and links, sorted.
func below(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, p)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The Makefile that docs/bundles.md gives to a repository of rules, and the
// targets of this one, do what such a repository's own have done.
func TestMakeInstallsRulesThroughAisync(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Fatal("needs make")
	}
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	bin := binary(t)
	doc, err := os.ReadFile(filepath.Join(top, "docs", "bundles.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks(string(doc)) {
		if b.kind != "make" {
			continue
		}
		if n := strings.Count(b.text, "\n"); n > 10 {
			t.Errorf("the Makefile has %d lines", n)
		}
		t.Run("a repository of rules", func(t *testing.T) {
			w := newRules(t, top, bin)
			if err := os.WriteFile(filepath.Join(w.dir, "rulesets", "Makefile"), []byte(b.text), 0o644); err != nil {
				t.Fatal(err)
			}
			w.check(t, "make install ARGS=--yes", "make install-lang ARGS='--yes --trust'")
		})
	}
	t.Run("this one", func(t *testing.T) {
		w := newRules(t, top, bin)
		script := "AISYNC=aisync ARGS='--yes --trust' " + top + "/scripts/install-rules"
		w.check(t, script+" runtime claude .", script+` lang "$RUNTIME" . "$LANG" "$PROJECT" #`)
	})
}

// The locale's variable of that name is in every environment.
func TestLANGOnlyFromCommandLine(t *testing.T) {
	recipe := func(args ...string) string {
		cmd := exec.Command("make", append([]string{"-C", "../..", "-n", "install-lang", "PROJECT=/app"}, args...)...)
		cmd.Env = append(os.Environ(), "LANG=elisp")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	if out := recipe(); strings.Contains(out, "elisp") {
		t.Errorf("LANG of the environment counts:\n%s", out)
	}
	if out := recipe("LANG=python"); !strings.Contains(out, "'python' '/app'") {
		t.Errorf("LANG of the command line does not count:\n%s", out)
	}
}

// newRules is a machine without any spec, with claude and opencode on it, and a
// repository of rules.
func newRules(t *testing.T, top, bin string) world {
	w := newWorld(t, top, bin)
	for _, name := range []string{"claude", "opencode"} {
		if err := os.WriteFile(filepath.Join(w.dir, "home", name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.env = append(w.env, "HOME="+w.dir+"/home", "AISYNC_CLI_ARGS=", "LANG=C", "PATH="+w.dir+"/home:"+bin+":"+os.Getenv("PATH"))
	return w
}

func (w world) check(t *testing.T, install, installLang string) {
	t.Helper()
	rules := filepath.Join(w.dir, "rulesets")
	run := func(command string, env ...string) string {
		t.Helper()
		out, err := w.shell(rules, command, env...)
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return out
	}
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(w.dir, name))
		return err == nil
	}
	for range 2 {
		run(install)
	}
	if !has("home/.claude/rules/commits.md") || !has("home/.claude/skills/review-notes/SKILL.md") || !has("home/.config/aisync") {
		t.Errorf("%s has not installed into the home", install)
	}
	for runtime, want := range map[string]string{"claude": ".claude/rules/elisp.md", "local-openai": "AGENTS.md"} {
		project := "app " + runtime
		if out, err := exec.Command("git", "init", "-q", filepath.Join(w.dir, project)).CombinedOutput(); err != nil {
			t.Fatalf("git init: %v\n%s", err, out)
		}
		arguments := []string{"LANG=elisp", "RUNTIME=" + runtime, "PROJECT=" + filepath.Join(w.dir, project)}
		if strings.HasPrefix(installLang, "make ") {
			for _, a := range arguments {
				installLang += " '" + a + "'"
			}
			arguments = nil
		}
		run(installLang, arguments...)
		if !has(filepath.Join(project, want)) {
			t.Errorf("%s: %s is missing", installLang, want)
		}
		if runtime != "claude" && has(filepath.Join(project, ".claude")) {
			t.Error("what is for another runtime touches .claude")
		}
	}
	if strings.HasPrefix(installLang, "make ") {
		if out, err := w.shell(rules, "make install-lang PROJECT=.", "LANG=elisp"); err == nil || !strings.Contains(out, "LANG=elisp PROJECT=DIR") {
			t.Errorf("LANG of the environment counts: %v\n%s", err, out)
		}
	}
}
