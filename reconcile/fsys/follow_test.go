package fsys

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFollow(t *testing.T) {
	w := newWorld(t, nil)
	home, out := filepath.Join(w.root, "home/me"), filepath.Join(filepath.Dir(w.root), "outside")
	mkdir(t, out)
	mkdir(t, filepath.Join(home, "dotfiles/claude"))
	mkdir(t, filepath.Join(home, ".claude"))
	mkdir(t, filepath.Join(w.root, "etc"))
	mkdir(t, filepath.Join(w.project, "docs"))
	put(t, filepath.Join(home, "dotfiles/claude/settings.json"), "{}")
	put(t, filepath.Join(w.root, "etc/settings.json"), "{}")
	put(t, filepath.Join(w.project, "AGENTS.md"), "a")
	put(t, filepath.Join(out, "AGENTS.md"), "a")
	symlink(t, "../dotfiles/claude/settings.json", filepath.Join(home, ".claude/settings.json"))
	symlink(t, "/home/me/dotfiles/claude/settings.json", filepath.Join(home, ".claude/absolute.json"))
	symlink(t, "/etc/settings.json", filepath.Join(home, ".claude/etc.json"))
	symlink(t, "dotfiles/claude", filepath.Join(home, ".config"))
	symlink(t, "settings.json", filepath.Join(home, "dotfiles/claude/again.json"))
	symlink(t, "AGENTS.md", filepath.Join(w.project, "CLAUDE.md"))
	symlink(t, filepath.Join(w.project, "AGENTS.md"), filepath.Join(w.project, "docs/absolute.md"))
	symlink(t, "CLAUDE.md", filepath.Join(w.project, "GEMINI.md"))
	symlink(t, "new.md", filepath.Join(w.project, "docs/dangling.md"))
	symlink(t, "gone/new.md", filepath.Join(w.project, "docs/lost.md"))
	symlink(t, "two.md", filepath.Join(w.project, "one.md"))
	symlink(t, "one.md", filepath.Join(w.project, "two.md"))
	symlink(t, "self.md", filepath.Join(w.project, "self.md"))
	symlink(t, "docs", filepath.Join(w.project, "folder.md"))
	symlink(t, "../outside/AGENTS.md", filepath.Join(w.project, "out.md"))
	symlink(t, ".git/config", filepath.Join(w.project, "git.md"))
	for _, c := range []struct {
		in, want LogicalPath
		err      error
		says     string
	}{
		{in: "AGENTS.md", want: "AGENTS.md"},
		{in: "none.md", want: "none.md"},
		{in: "CLAUDE.md", want: "AGENTS.md"},
		{in: "GEMINI.md", want: "AGENTS.md"},
		{in: "docs/absolute.md", want: "AGENTS.md"},
		{in: "docs/dangling.md", want: "docs/new.md"},
		{in: "docs/lost.md", err: ErrBlocked, says: "docs/lost.md is a dangling link, to gone/new.md; create its target, or remove the link"},
		{in: "one.md", err: ErrBlocked, says: "one.md -> two.md -> one.md is a circle of links; remove one of them"},
		{in: "self.md", err: ErrBlocked, says: "self.md -> self.md is a circle of links; remove one of them"},
		{in: "folder.md", err: ErrBlocked, says: "folder.md is a link to docs, which is no file"},
		{in: "out.md", err: ErrEscapes, says: "out.md is a link to ../outside/AGENTS.md, which leaves its scope; put a copy in place of the link"},
		{in: "git.md", err: ErrEscapes},
		{in: "/home/me/.claude/settings.json", want: "/home/me/dotfiles/claude/settings.json"},
		{in: "/home/me/.claude/absolute.json", want: "/home/me/dotfiles/claude/settings.json"},
		{in: "/home/me/.config/again.json", want: "/home/me/dotfiles/claude/settings.json"},
		{in: "/home/me/.claude/etc.json", err: ErrEscapes},
	} {
		got, err := Follow(w.Disk, "/home/me", c.in)
		if !errors.Is(err, c.err) || c.err == nil && (err != nil || got != c.want) {
			t.Errorf("%s: got %s, %v", c.in, got, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("%s: %v", c.in, err)
		}
	}
	if os.Geteuid() != 0 {
		return // only root can give a file away
	}
	if err := os.Chown(filepath.Join(w.project, "AGENTS.md"), 4711, 4711); err != nil {
		t.Fatal(err)
	}
	if _, err := Follow(w.Disk, "/home/me", "CLAUDE.md"); !errors.Is(err, ErrBlocked) || !strings.Contains(err.Error(), "is a link of user 0 to AGENTS.md of user 4711") {
		t.Errorf("another user's file: %v", err)
	}
}

// A home that is a link itself may be spelled by its own path in links within it.
func TestFollowInLinkedHome(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	mkdir(t, filepath.Join(root, "data/me/dotfiles"))
	mkdir(t, filepath.Join(root, "home"))
	mkdir(t, filepath.Join(root, "etc"))
	put(t, filepath.Join(root, "data/me/dotfiles/a.json"), "{}")
	put(t, filepath.Join(root, "etc/a.json"), "{}")
	symlink(t, "/data/me", filepath.Join(root, "home/me"))
	symlink(t, "/home/me/dotfiles/a.json", filepath.Join(root, "data/me/by-home.json"))
	symlink(t, "/data/me/dotfiles/a.json", filepath.Join(root, "data/me/by-data.json"))
	symlink(t, "/home/me/../../etc/a.json", filepath.Join(root, "data/me/out.json"))
	disk, err := New(Options{Root: root, Home: "/home/me", Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"by-home.json", "by-data.json"} {
		if to, err := Follow(disk, "/home/me", LogicalPath("/home/me/"+name)); err != nil || to != "/home/me/dotfiles/a.json" {
			t.Errorf("%s leads to %s, %v", name, to, err)
		}
	}
	if to, err := Follow(disk, "/home/me", "/home/me/out.json"); !errors.Is(err, ErrEscapes) {
		t.Errorf("out.json leads to %s, %v", to, err)
	}
}
