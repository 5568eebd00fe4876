package bundle

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"aisync.dev/aisync/schema/spec"
)

func TestHistoryFollowsLayouts(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
	dir := t.TempDir()
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
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	put("claude-rules/a.md", "# A\none\n")
	put("one/SKILL.md", "# One\n")
	put("two/SKILL.md", "# Two\n")
	put("languages/go/claude/rules/go.md", "# Go\none\n")
	git("add", "-A")
	git("commit", "-qm", "old layout")
	git("mv", "claude-rules", "agent-rules")
	git("mv", "one", "skills-of-mine")
	put("agent-rules/a.md", "# A\ntwo\n")
	git("add", "-A")
	git("commit", "-qm", "new layout")

	tree, err := (&Sources{}).Open(t.Context(), spec.Source{Name: "x", URL: dir})
	if err != nil {
		t.Fatal(err)
	}
	texts := func(src string) []string {
		var out []string
		for _, b := range tree.versions.past(src) {
			out = append(out, string(b))
		}
		return out
	}
	for src, want := range map[string][]string{
		"agent-rules/a.md":                     {"# A\ntwo\n", "# A\none\n"},
		"two/SKILL.md":                         {"# Two\n"},
		"languages/go/common/rules/go.md":      {"# Go\none\n"},
		"languages/go/common/rules/missing.md": nil,
	} {
		if got := texts(src); !slices.Equal(got, want) {
			t.Errorf("%s was %q, want %q", src, got, want)
		}
	}
	core, err := tree.Core()
	if err != nil || len(core.Rules) != 1 || len(core.Rules[0].Past()) != 2 {
		t.Errorf("rule: %v, %v", core, err)
	}
}
