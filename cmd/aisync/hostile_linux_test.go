package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/internal/crash"
)

// exFAT mounts a file system that takes two names of another case for one, has
// no links and no modes, and exchanges no two files.
func exFAT(t *testing.T) string {
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
	step("mount.exfat-fuse", loop, at)
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", at).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	})
	return at
}

func TestAHomeWithoutCaseLinksAndModesLosesNothing(t *testing.T) {
	dir := exFAT(t)
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
	if code == exitError || strings.Contains(errs, "internal error") {
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
	if code, _, errs = w.say(t, "apply", "--yes", "--trust", "--keep-going"); code == exitError {
		t.Errorf("the second: exit %d\n%s", code, errs)
	}
	after, err := crash.Look(w.project, nil)
	must(t, err)
	if d := after.Diff(before); d != "" {
		t.Errorf("the second apply wrote %s", d)
	}
	// All of ours look executable here, and thus edited: that is to be decided.
	if code, out, errs := w.say(t, "rollback", "--yes", "--force"); code != exitOK {
		t.Errorf("rollback: exit %d\n%s%s", code, out, errs)
	}
	for path, text := range theirs {
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%s after rollback: %q, %v; it was %q", path, got, err, text)
		}
	}
}
