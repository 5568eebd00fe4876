package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What others publish is added by one line, applied, in order after that, and gone
// again; the second time nothing changes.
func TestPublishedSourcesComeAndGo(t *testing.T) {
	for _, c := range []struct {
		snapshot, repo string
		add            []string
		want           []string // files of the project
	}{
		{"vercel-agent-skills", "vercel-labs/agent-skills", []string{"skill", "vercel-labs/agent-skills", "react-best-practices", "web-*"},
			[]string{".claude/skills/react-best-practices/SKILL.md", ".agents/skills/web-design-guidelines/SKILL.md"}},
		{"superpowers", "obra/superpowers", []string{"plugin", "superpowers@obra/superpowers"},
			[]string{".claude/skills/brainstorming/SKILL.md", ".claude/hooks/superpowers/hooks/session-start", ".claude/hooks/superpowers/skills/using-superpowers/SKILL.md", ".codex/hooks.json", ".gemini/settings.json", ".opencode/plugins/aisync-hooks.js"}},
		{"wshobson-agents", "wshobson/agents", []string{"plugin", "python-development@claude-code-workflows"},
			[]string{".claude/agents/python-pro.md", ".codex/agents/python-pro.toml", ".opencode/agents/python-pro.md", ".claude/skills/python-packaging/SKILL.md"}},
		{"claude-plugins-official", "anthropics/claude-plugins-official", []string{"plugin", "hookify@claude-plugins-official"},
			[]string{".claude/commands/hookify.md", ".claude/hooks/hookify/core/rule_engine.py", ".agents/hooks/hookify/hooks/stop.py", ".gemini/commands/hookify.toml"}},
	} {
		t.Run(c.snapshot, func(t *testing.T) {
			t.Parallel()
			repos, home, project := t.TempDir(), t.TempDir(), t.TempDir()
			publish(t, c.snapshot, filepath.Join(repos, c.repo+".git"))
			must(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[url \"file://"+repos+"/\"]\n\tinsteadOf = https://github.com/\n"), 0o644))
			spec := "package aisync\n\nproject: {\n\tname: \"p\"\n\truntimes: [\"claude\", \"codex\", \"gemini\", \"opencode\", \"qwen\", \"copilot\"]\n}\n"
			must(t, os.WriteFile(filepath.Join(project, "aisync.cue"), []byte(spec), 0o644))
			say := func(code int, args ...string) string {
				t.Helper()
				cmd := exec.Command("aisync", args...)
				cmd.Dir = project
				cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"}
				out, err := cmd.CombinedOutput()
				if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
					t.Fatalf("%s: %v, want %d\n%s", strings.Join(args, " "), err, code, out)
				}
				return string(out)
			}
			say(0, append([]string{"add"}, c.add...)...)
			added, err := os.ReadFile(filepath.Join(project, "aisync.cue"))
			must(t, err)
			say(0, "validate")
			apply := []string{"apply", "--scope", "project", "--yes", "--trust", "--offline"}
			for _, id := range regexp.MustCompile(`aisync apply (--accept \w+)\n`).FindAllStringSubmatch(say(0, "plan", "--scope", "project", "--offline"), -1) {
				say(4, apply...) // flagged text waits for its own yes
				apply = append(apply, strings.Fields(id[1])...)
			}
			say(0, apply...)
			for _, name := range c.want {
				if _, err := os.Stat(filepath.Join(project, name)); err != nil {
					t.Error(err)
				}
			}
			if out := say(0, "plan", "--scope", "project", "--offline"); !strings.Contains(out, "No changes.") {
				t.Errorf("after the apply: %s", out)
			}
			say(0, "drift", "--offline")
			say(0, append([]string{"add"}, c.add...)...)
			if again, err := os.ReadFile(filepath.Join(project, "aisync.cue")); err != nil || string(again) != string(added) {
				t.Errorf("twice is not once: %v\n%s", err, again)
			}
			say(0, "destroy", "--scope", "project", "--yes")
			left, err := filepath.Glob(filepath.Join(project, "*"))
			must(t, err)
			hidden, err := filepath.Glob(filepath.Join(project, ".[a-z]*"))
			must(t, err)
			if len(left) != 2 || len(hidden) != 0 {
				t.Errorf("destroy left %v %v", left, hidden)
			}
		})
	}
}

// publish makes a bare repository at to of a snapshot.
func publish(t *testing.T, snapshot, to string) {
	t.Helper()
	archive, err := os.Open(filepath.Join(world, snapshot+".tar.gz"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the snapshots of repositories are not here")
	}
	must(t, err)
	defer archive.Close()
	tree := t.TempDir()
	unpack(t, archive, tree)
	must(t, os.MkdirAll(filepath.Dir(to), 0o755))
	for _, args := range [][]string{{"init", "-q", "-b", "main", "."}, {"add", "-A", "-f"}, {"-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "-qm", "as found"}, {"clone", "-q", "--bare", ".", to}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = tree
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tree, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
}

// unpack unpacks a compressed archive into dir.
func unpack(t *testing.T, archive io.Reader, dir string) {
	t.Helper()
	z, err := gzip.NewReader(archive)
	must(t, err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		must(t, err)
		if !filepath.IsLocal(h.Name) {
			t.Fatalf("the archive has %q", h.Name)
		}
		at := filepath.Join(dir, h.Name)
		must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		switch h.Typeflag {
		case tar.TypeDir:
			must(t, os.MkdirAll(at, 0o755))
		case tar.TypeSymlink:
			must(t, os.Symlink(h.Linkname, at))
		case tar.TypeReg:
			b, err := io.ReadAll(r)
			must(t, err)
			must(t, os.WriteFile(at, b, h.FileInfo().Mode().Perm()))
		}
	}
}
