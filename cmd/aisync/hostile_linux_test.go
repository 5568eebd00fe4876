package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/crash"
)

// exFAT mounts a file system that takes two names of another case for one, has
// no links and no modes, and exchanges no two files. It is mounted with options.
func exFAT(t *testing.T, options string) string {
	t.Helper()
	at := t.TempDir()
	image := filepath.Join(t.TempDir(), "image")
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, 64<<20))
	step := func(name string, args ...string) string {
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Skipf("no exFAT can be mounted here: %s: %v %s", name, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if os.Getuid() != 0 {
		t.Skip("no exFAT can be mounted here: not root")
	}
	step("mkfs.exfat", image)
	loop := step("losetup", "-f", "--show", image)
	t.Cleanup(func() { _ = exec.Command("losetup", "-d", loop).Run() })
	step("mount.exfat-fuse", "-o", options, loop, at)
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", at).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	})
	return at
}

func TestAHomeWithoutCaseLinksAndModesLosesNothing(t *testing.T) {
	dir := exFAT(t, "rw")
	w := newHostileWorld(t, `hosts: velox: {match: {}, runtimes: {claude: {}, opencode: {}}, settings: claude: {permissions: {allow: ["Bash(ls)"]}}}`,
		`project: {name: "p", runtimes: ["claude", "opencode"], sources: {r: "good"}, bundles: ["r//elisp"], agents: {sessions: true, ledger: true}, mcp: notes: {command: "x"}}`)
	spec, err := os.ReadFile(filepath.Join(w.project, "aisync.cue"))
	must(t, err)
	w.root, w.project = filepath.Join(dir, "root"), filepath.Join(dir, "p")
	must(t, os.CopyFS(filepath.Join(w.project, "good"), os.DirFS(filepath.Join("..", "..", "golden", "contract", "rulesets"))))
	theirs := map[string]string{
		filepath.Join(w.project, "claude.md"):                       "# mine\n",
		filepath.Join(w.project, ".GitIgnore"):                      "mine\n",
		filepath.Join(w.project, ".Claude/Rules/ELISP.MD"):          "# my own rule\n",
		filepath.Join(w.root, "home/me/.CLAUDE/Settings.json"):      "{\"model\":  \"opus\"}\n",
		filepath.Join(w.root, "home/me/.claude/rules/untouched.md"): "# mine\n",
	}
	write := map[string]string{filepath.Join(w.project, "aisync.cue"): string(spec)}
	maps.Copy(write, theirs)
	for path, text := range write {
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	code, out, errs := w.say(t, "apply", "--yes", "--trust", "--keep-going")
	if code == cli.ExitError || strings.Contains(errs, "internal error") {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	for path, text := range theirs {
		got, err := os.ReadFile(path)
		if kept := strings.TrimRight(text, "}\n"); err != nil || !bytes.HasPrefix(got, []byte(kept)) {
			t.Errorf("%s: %q, %v; it was %q", path, got, err, text)
		}
	}
	if code, out, _ := w.say(t, "plan"); !strings.Contains(out, "rules/elisp.md") {
		t.Errorf("exit %d: the rule that somebody wrote is no conflict\n%s", code, out)
	}
	before, err := crash.Look(w.project, nil)
	must(t, err)
	if code, _, errs = w.say(t, "apply", "--yes", "--trust", "--keep-going"); code == cli.ExitError {
		t.Errorf("the second: exit %d\n%s", code, errs)
	}
	after, err := crash.Look(w.project, nil)
	must(t, err)
	if d := after.Diff(before); d != "" {
		t.Errorf("the second apply wrote %s", d)
	}
	if code, out, errs := w.say(t, "rollback", "--yes"); code != cli.ExitOK {
		t.Errorf("rollback: exit %d\n%s%s", code, out, errs)
	}
	for path, text := range theirs {
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%s after rollback: %q, %v; it was %q", path, got, err, text)
		}
	}
}

func TestAFileSystemWithoutModesMakesNobodyAnEditor(t *testing.T) {
	made := newHostileWorld(t, `hosts: velox: {match: {}, runtimes: {claude: {}, opencode: {}}, settings: claude: {permissions: {allow: ["Bash(ls)"]}}}`,
		`project: {name: "p", runtimes: ["claude", "opencode"], sources: {r: "good"}, bundles: ["r//elisp"], agents: {sessions: true, ledger: true}, mcp: notes: {command: "x"}}`)
	spec, err := os.ReadFile(filepath.Join(made.project, "aisync.cue"))
	must(t, err)
	in := func(dir string) hostileWorld {
		w := made
		w.root, w.project = filepath.Join(dir, "root"), filepath.Join(dir, "p")
		must(t, os.MkdirAll(filepath.Join(w.root, "home/me"), 0o755))
		must(t, os.CopyFS(filepath.Join(w.project, "good"), os.DirFS(filepath.Join("..", "..", "golden", "contract", "rulesets"))))
		must(t, os.WriteFile(filepath.Join(w.project, "aisync.cue"), spec, 0o644))
		return w
	}
	says := func(w hostileWorld, want int, args ...string) {
		t.Helper()
		if code, out, errs := w.say(t, args...); code != want {
			t.Errorf("%s: %s: exit %d, want %d\n%s%s", w.project, strings.Join(args, " "), code, want, out, errs)
		}
	}
	unwritten := func(dir string, do func()) {
		t.Helper()
		before, err := crash.Look(dir, nil)
		must(t, err)
		do()
		after, err := crash.Look(dir, nil)
		must(t, err)
		if d := after.Diff(before); d != "" {
			t.Errorf("written was %s", d)
		}
	}
	usual := in(t.TempDir())
	says(usual, cli.ExitOK, "apply", "--yes", "--trust")
	for _, options := range []string{"rw", "fmask=0133"} { // everything is executable, or no file is
		dir := exFAT(t, options)
		w := in(dir)
		says(w, cli.ExitOK, "apply", "--yes", "--trust")
		unwritten(dir, func() {
			says(w, cli.ExitOK, "plan", "--detailed-exitcode")
			says(w, cli.ExitOK, "drift", "--scope", "project", "--fail-on", "both")
			says(w, cli.ExitOK, "status")
		})
		unwritten(w.project, func() { says(w, cli.ExitOK, "apply", "--yes", "--trust") })

		// What was applied elsewhere is clean in a copy without any state.
		for i, from := range []hostileWorld{usual, w} {
			clone := w
			clone.root, clone.project = filepath.Join(dir, "nobody"), filepath.Join(dir, "clones", string(rune('a'+i)))
			must(t, os.MkdirAll(clone.root, 0o755))
			must(t, os.CopyFS(clone.project, os.DirFS(from.project)))
			unwritten(dir, func() { says(clone, cli.ExitOK, "drift", "--scope", "project", "--fail-on", "both") })
		}

		rule := filepath.Join(w.project, ".claude/rules/elisp.md")
		text, err := os.ReadFile(rule)
		must(t, err)
		must(t, os.WriteFile(rule, append(text, "mine\n"...), 0o644))
		says(w, cli.ExitDiff, "drift", "--scope", "project")
		must(t, os.WriteFile(rule, text, 0o644))
		says(w, cli.ExitOK, "rollback", "--yes")
		if _, err := os.Stat(rule); !os.IsNotExist(err) {
			t.Errorf("%s is there after rollback: %v", rule, err)
		}
	}
	hook := filepath.Join(usual.project, "githooks/pre-commit")
	must(t, os.Chmod(hook, 0o644))
	says(usual, cli.ExitDiff, "drift", "--scope", "project")
	must(t, os.Chmod(hook, 0o755))
	says(usual, cli.ExitOK, "drift", "--scope", "project")
	must(t, os.Chmod(filepath.Join(usual.project, ".claude/rules/elisp.md"), 0o755))
	says(usual, cli.ExitDiff, "drift", "--scope", "project")
}
