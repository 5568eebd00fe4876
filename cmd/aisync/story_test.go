package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Thirty projects have what a script once copied into them, some of it from an
// older version. They get a spec, follow a rule that is edited and one that is
// renamed, and get a second program: each program then has each rule once, in the
// present words, and each project's notes.
func TestThirtyOldProjectsEndWithOneCopyOfEachRule(t *testing.T) {
	top, err := filepath.EvalSymlinks(memoryDir(t))
	must(t, err)
	t.Chdir(top)
	home, source := filepath.Join(top, "home"), filepath.Join(top, "rulesets")
	must(t, os.MkdirAll(filepath.Join(home, ".codex"), 0o755))
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", quickRaceExit,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org"}
	git := func(dir string, args ...string) {
		t.Helper()
		c := exec.Command("git", args...)
		c.Dir, c.Env = dir, env
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	put := func(dir, rel, text string) {
		t.Helper()
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, rel)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, rel), []byte(text), 0o644))
	}
	aisync := func(project string, args ...string) string {
		t.Helper()
		must(t, os.Chdir(project))
		var out, said bytes.Buffer
		if code := execute(nil, append([]string{"aisync"}, args...), strings.NewReader(""), &out, &said, env); code != 0 {
			t.Fatalf("%s: aisync %v: exit code %d\n%s%s", filepath.Base(project), args, code, &out, &said)
		}
		return out.String()
	}

	// What the script copied from, in two versions.
	words := map[string]string{
		"agent-rules/commits.md":                        "Say in each commit why the change was made.",
		"agent-rules/subagents.md":                      "Give a helper one task, and say what done means.",
		"agent-rules/testing.md":                        "Run the tests before you say that it works.",
		"languages/elisp/claude/rules/elisp.md":         "Byte-compile each file without a warning.",
		"languages/elisp/claude/rules/elisp-testing.md": "Write an ert test for each command.",
		"languages/elisp/gitignore-add.txt":             "*.elc",
		"languages/elisp/claude/settings.json":          `{"permissions": {"allow": ["Bash(make test)"]}}`,
	}
	text := func(rel, sentence string) string {
		if !strings.HasSuffix(rel, ".md") {
			return sentence + "\n"
		}
		return "# " + strings.TrimSuffix(filepath.Base(rel), ".md") + "\n\nApplies to: everything.\n\n" + sentence + "\n"
	}
	git(top, "init", "-q", "-b", "main", source)
	for rel, sentence := range words {
		put(source, rel, text(rel, sentence))
	}
	older := text("agent-rules/commits.md", "Say why in each commit.")
	put(source, "agent-rules/commits.md", older)
	git(source, "add", "-A")
	git(source, "commit", "-q", "-m", "one")
	put(source, "agent-rules/commits.md", text("agent-rules/commits.md", words["agent-rules/commits.md"]))
	git(source, "commit", "-q", "-a", "-m", "two")

	var projects []string
	for i := 1; i <= 30; i++ {
		dir := filepath.Join(top, fmt.Sprintf("code/p%02d", i))
		git(top, "init", "-q", "-b", "main", dir)
		for rel, sentence := range words {
			base := filepath.Base(rel)
			switch {
			case base == "commits.md" && i%3 == 0:
				put(dir, ".claude/rules/"+base, older)
			case strings.HasSuffix(rel, ".md"):
				put(dir, ".claude/rules/"+base, text(rel, sentence))
			case base == "settings.json":
				put(dir, ".claude/settings.json", text(rel, sentence))
			default:
				put(dir, ".gitignore", "# --- elisp ruleset ---\n"+text(rel, sentence))
			}
		}
		if i%4 != 0 {
			put(dir, "CLAUDE.md", fmt.Sprintf("# Project %d\n\nThis one is about number %d.\n", i, i))
		}
		git(dir, "add", "-A")
		git(dir, "commit", "-q", "-m", "as the script left it")
		projects = append(projects, dir)
	}

	for _, p := range projects {
		aisync(p, "init", "--here", "--runtime", "claude", "--source", "../../rulesets")
		aisync(p, "apply", "--yes", "--trust")
	}
	words["agent-rules/testing.md"] = "Run all tests before you say that it works, and show what they said."
	put(source, "agent-rules/testing.md", text("agent-rules/testing.md", words["agent-rules/testing.md"]))
	git(source, "mv", "agent-rules/subagents.md", "agent-rules/delegation.md")
	git(source, "commit", "-q", "-a", "-m", "three")
	for _, p := range projects {
		aisync(p, "apply", "--yes", "--trust")
		aisync(p, "add", "runtime", "codex", "--scope", "project", "--move-notes")
		aisync(p, "apply", "--yes", "--trust")
	}

	for i, p := range projects {
		if said := aisync(p, "plan"); !strings.Contains(said, "No changes") || strings.Contains(said, "twice") {
			t.Errorf("%s: the plan says\n%s", filepath.Base(p), said)
		}
		aisync(p, "drift")
		expected := []string{words["agent-rules/commits.md"], words["agent-rules/testing.md"], words["agent-rules/subagents.md"],
			words["languages/elisp/claude/rules/elisp.md"], words["languages/elisp/claude/rules/elisp-testing.md"]}
		if (i+1)%4 != 0 {
			expected = append(expected, fmt.Sprintf("This one is about number %d.", i+1))
		}
		for _, program := range []string{"claude", "codex"} {
			all := textsLoaded(t, aisync(p, "context", program, "--json"))
			for _, sentence := range expected {
				if n := strings.Count(all, sentence); n != 1 {
					t.Errorf("%s: %s has %q %d times", filepath.Base(p), program, sentence, n)
				}
			}
			for _, old := range []string{"Say why in each commit.", "Run the tests before"} {
				if strings.Contains(all, old) {
					t.Errorf("%s: %s still has %q", filepath.Base(p), program, old)
				}
			}
		}
		if left, _ := filepath.Glob(filepath.Join(p, ".claude/rules/subagents.md")); len(left) > 0 {
			t.Errorf("%s: the renamed rule is still there", filepath.Base(p))
		}
	}
}

// textsLoaded is the contents of the files that a program loads at its start by a
// context in JSON, each file once.
func textsLoaded(t *testing.T, context string) string {
	t.Helper()
	var doc struct {
		Programs []struct {
			Loaded []struct{ From []struct{ Path string } }
		}
	}
	must(t, json.Unmarshal([]byte(context), &doc))
	var files []string
	var all strings.Builder
	for _, item := range doc.Programs[0].Loaded {
		for _, from := range item.From {
			real, err := filepath.EvalSymlinks(from.Path)
			must(t, err)
			if slices.Contains(files, real) {
				continue
			}
			files = append(files, real)
			b, err := os.ReadFile(real)
			must(t, err)
			all.Write(b)
		}
	}
	return all.String()
}
