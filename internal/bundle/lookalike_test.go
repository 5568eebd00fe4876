package bundle

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"aisync.dev/aisync/schema/spec"
)

// What a source has, and had, under a name.
func TestLookalikes(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	dir := t.TempDir()
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	put := func(name, text string) {
		t.Helper()
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("claude-rules/a.md", "one")
	put("claude-rules/old.md", "old")
	put("release/SKILL.md", "skill")
	run("git", "init", "-q")
	run("git", "add", "-A")
	run("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "one")
	put("claude-rules/a.md", "two")
	if err := os.Remove(filepath.Join(dir, "claude-rules/old.md")); err != nil {
		t.Fatal(err)
	}
	tree, err := (&Sources{}).Open(t.Context(), spec.Source{Name: "x", URL: dir})
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string][2]string{
		"rules/a.md":       {"two", "one"},
		"rules/old.md":     {"", "old"},
		"release/SKILL.md": {"skill", "skill"},
		"other/SKILL.md":   {"", ""},
		"rules/never.md":   {"", ""},
	} {
		now, past := tree.Lookalikes(at)
		var got [2]string
		for _, f := range now {
			text, err := tree.Read(f)
			if err != nil {
				t.Fatal(err)
			}
			got[0] += string(text)
		}
		for _, b := range past {
			got[1] += string(b)
		}
		if got != want {
			t.Errorf("%s is %q, want %q", at, got, want)
		}
	}
}
