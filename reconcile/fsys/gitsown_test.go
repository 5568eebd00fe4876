package fsys

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestGitsOwn(t *testing.T) {
	for name, want := range map[string]bool{
		".git": true, ".git/config": true, "a/.git": true, "a/.GIT/x": true, ".git.": true, ".git ": true, ".git . /x": true,
		"git~1": true, "GIT~1/x": true, "git~1. ": true, ".g\u200cit": true, "\ufeff.git": true, ".gi\u202et/hooks": true,
		".git::$INDEX_ALLOCATION/config": true, `a\.git\config`: true,
		".gitignore": false, ".github/x": false, "git": false, "..git": false, "git~2": false, "x.git": false, ".git~1": false, "githooks/pre-commit": false,
	} {
		if got := GitsOwn(name); got != want {
			t.Errorf("GitsOwn(%q) = %v", name, got)
		}
	}
}

// TestNothingReachesGitsOwnFolder calls every method that writes, by the
// folder's own name and by a link that leads into it.
func TestNothingReachesGitsOwnFolder(t *testing.T) {
	root := t.TempDir()
	project := filepath.Join(root, "home", "me", "p")
	if err := os.MkdirAll(filepath.Join(project, ".git", "hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".git/config", "plain"} {
		if err := os.WriteFile(filepath.Join(project, name), []byte("theirs"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(".git", filepath.Join(project, "by")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("by/hooks", filepath.Join(project, "far")); err != nil {
		t.Fatal(err)
	}
	d, err := New(Options{Root: root, Home: "/home/me", Project: project, Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	info, err := d.Lstat("plain")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []LogicalPath{".git", ".GIT", "git~1", ".git ", "by", "far", "/home/me/p/.git", "/home/me/p/by", "/home/me/.git"} {
		p := folder.Join("config")
		for name, err := range map[string]error{
			"Replace":  d.Replace(p, Content{Bytes: []byte("ours")}, Expect{Absent: true}, nil),
			"over":     d.Replace(p, Content{Bytes: []byte("ours")}, Expect{Digest: Digest([]byte("theirs"))}, nil),
			"Symlink":  d.Symlink(p, "x", Expect{Absent: true}, nil),
			"Remove":   d.Remove(p, Expect{Digest: Digest([]byte("theirs"))}, nil),
			"Move to":  d.Move("plain", p),
			"Move of":  d.Move(p, "moved"),
			"Link to":  d.Link("plain", p),
			"Link of":  d.Link(p, "linked"),
			"Clone to": d.Clone("plain", p, 0o644),
			"Discard":  d.Discard(p, info),
			"Chmod":    d.Chmod(p, 0o755),
			"Rmdir":    d.Rmdir(folder.Join("hooks")),
			"Append":   d.Append(p, []byte("ours"), 0o644),
			"Note":     d.Note(p, []byte("ours")),
			"Writable": d.Writable(p),
			"MkdirAll": func() error { _, err := d.MkdirAll(folder.Join("new"), 0o755); return err }(),
			"OpenPart": func() error { _, err := d.OpenPart(p); return err }(),
			"ReadFile": func() error { _, err := d.ReadFile(p); return err }(),
		} {
			if !errors.Is(err, ErrEscapes) {
				t.Errorf("%s of %s: %v", name, p, err)
			}
		}
	}
	for name, want := range map[string]string{".git/config": "theirs", "plain": "theirs"} {
		if b, err := os.ReadFile(filepath.Join(project, name)); err != nil || string(b) != want {
			t.Errorf("%s is %q, %v", name, b, err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(project, ".git"))
	if err != nil || len(entries) != 2 {
		t.Errorf("%v %v", entries, err)
	}
}

// TestAProjectInGitsOwnFolder shows that a project that lies below a .git, as
// the work tree of a tool may, is a project like others.
func TestAProjectInGitsOwnFolder(t *testing.T) {
	project := filepath.Join(t.TempDir(), ".git", "trees", "a")
	if err := os.MkdirAll(project, 0o755); err != nil {
		t.Fatal(err)
	}
	d, err := New(Options{Project: project, Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Replace("x", Content{Bytes: []byte("ours")}, Expect{Absent: true}, nil); err != nil {
		t.Error(err)
	}
	if err := d.Replace(".git", Content{Bytes: []byte("gitdir: x")}, Expect{Absent: true}, nil); !errors.Is(err, ErrEscapes) {
		t.Error(err)
	}
}
