package projects_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aisync.dev/aisync/app/projects"
	"aisync.dev/aisync/app/stack/stacktest"
)

const hostWithRoots = "package aisync\n\nhosts: me: {match: {}, roots: [\"~/code\", \"~/code/a\", \"~/gone\"]}\n"

// machine has a project in each of folders, below home/code.
func machine(t *testing.T, folders ...string) *stacktest.Stage {
	t.Helper()
	s := stacktest.New(t, map[string]string{stacktest.HostSpec: hostWithRoots})
	for _, name := range folders {
		s.Write("home/code/"+name+"/aisync.cue", "package aisync\n")
	}
	return s
}

// find returns what is found, below home/code, and all of it.
func find(t *testing.T, s *stacktest.Stage, roots ...string) (string, *projects.Found) {
	t.Helper()
	for i := range roots {
		roots[i] = s.Path(roots[i])
	}
	found, err := projects.Find(t.Context(), s.Machine(), roots)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range found.Projects {
		names = append(names, strings.TrimPrefix(p.Dir, s.Path("home/code")+"/"))
	}
	return strings.Join(names, " "), found
}

func link(t *testing.T, s *stacktest.Stage, to, at string) {
	t.Helper()
	if err := os.Symlink(to, s.Path(at)); err != nil {
		t.Fatal(err)
	}
}

func TestFindLooksBelowTheRoots(t *testing.T) {
	s := machine(t, "a", "b/c", "node_modules/x", "vendor/x", ".hidden/x", "1/2/3/4/5", "1/2/3/4/5/6")
	s.Write("home/code/a/packages/api/aisync.cue", "package aisync\n\nproject: extends: \"../..\"\n")
	if got, _ := find(t, s); got != "1/2/3/4/5 a b/c" {
		t.Errorf("the host's roots: %s", got)
	}
	if got, _ := find(t, s, "home/code/b", "home/code/b/c"); got != "b/c" {
		t.Errorf("two roots of which one lies in the other: %s", got)
	}
	if got, _ := find(t, s, "home/code/1"); got != "1/2/3/4/5 1/2/3/4/5/6" {
		t.Errorf("a root closer to a project: %s", got)
	}
	s.Write(stacktest.HostSpec, "package aisync\n\nhosts: me: match: {}\n")
	if _, err := projects.Find(t.Context(), s.Machine(), nil); err == nil || !strings.Contains(err.Error(), "no roots") {
		t.Errorf("a host without roots: %v", err)
	}
	if got, _ := find(t, s, "home/code/a"); got != "a" {
		t.Errorf("a root that was named needs no host: %s", got)
	}
	if _, err := projects.Find(t.Context(), s.Machine(), []string{s.Path("home/none")}); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a missing folder that was named: %v", err)
	}
}

func TestFindAndLinks(t *testing.T) {
	s := machine(t, "a")
	link(t, s, s.Path("home/code"), "home/code/loop")
	link(t, s, "round", "home/code/round")
	link(t, s, s.Path("home/code"), "home/linked")
	if got, _ := find(t, s); got != "a" {
		t.Errorf("beside links that lead in circles: %s", got)
	}
	if got, _ := find(t, s, "home/linked", "home/code"); got != "a" {
		t.Errorf("a root that is a link, and its target: %s", got)
	}
	if _, err := projects.Find(t.Context(), s.Machine(), []string{s.Path("home/code/round")}); err == nil {
		t.Error("a root that is a link to itself was searched")
	}
}

func TestFindReportsWhatItCouldNotRead(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads every folder")
	}
	s := machine(t, "a", "closed/b")
	if err := os.Chmod(s.Path("home/code/closed"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(s.Path("home/code/closed"), 0o755) })
	got, found := find(t, s)
	if got != "a" || len(found.Unread) != 1 || !strings.Contains(found.Unread[0], "closed: permission denied") {
		t.Errorf("%s; unread: %q", got, found.Unread)
	}
}

func TestFindNamesTheMainWorkTree(t *testing.T) {
	s := machine(t, "a")
	s.Write("home/code/tree/.git", "gitdir: "+s.Path("home/code/a")+"/.git/worktrees/tree\n")
	s.Write("home/code/tree/aisync.cue", "package aisync\n")
	s.Write("home/code/module/.git", "gitdir: ../a/.git/modules/module\n")
	s.Write("home/code/module/aisync.cue", "package aisync\n")
	_, found := find(t, s)
	for _, p := range found.Projects {
		if want := map[bool]string{true: s.Path("home/code/a")}[filepath.Base(p.Dir) == "tree"]; p.Worktree != want {
			t.Errorf("%s is a work tree of %q, want %q", p.Dir, p.Worktree, want)
		}
	}
}

func TestFindNamesRepositoriesWithoutASpec(t *testing.T) {
	s := machine(t, "a/.git")
	for name, text := range map[string]string{
		"old/.git/HEAD": "", "old/.cursor/rules/x.mdc": "x", "old/CLAUDE.md": "x",
		"plain/.git/HEAD": "", "plain/README.md": "x",
		"lost/.git/HEAD": "", "lost/aisync.lock": "{}",
		"no-repository/CLAUDE.md": "x",
		"managed/aisync.cue":      "package aisync\n", "managed/.git/HEAD": "", "managed/CLAUDE.md": "x",
		"managed/module/.git": "", "managed/module/CLAUDE.md": "x",
	} {
		s.Write("home/code/"+name, text)
	}
	_, found := find(t, s)
	var got []string
	for _, u := range found.Unmanaged {
		got = append(got, filepath.Base(u.Dir)+": "+strings.Join(u.Has, ","))
	}
	if want := "lost: aisync.lock; old: claude,cursor"; strings.Join(got, "; ") != want {
		t.Errorf("%s, want %s", strings.Join(got, "; "), want)
	}
}

func TestFilter(t *testing.T) {
	s := machine(t, "web/shop", "web/blog", "tools/shop", "web")
	_, found := find(t, s)
	for patterns, want := range map[string]string{
		"":                          "tools/shop web web/blog web/shop",
		"shop":                      "tools/shop web/shop",
		"web":                       "web web/blog web/shop",
		"web/":                      "web web/blog web/shop",
		"web/*":                     "web/blog web/shop",
		"web/shop tools":            "tools/shop web/shop",
		"!shop":                     "web web/blog",
		"web !*/blog":               "web web/shop",
		"[sb]*":                     "tools/shop web/blog web/shop",
		s.Path("home/code/tools"):   "tools/shop",
		s.Path("home/code") + "/w*": "web web/blog web/shop",
		"none":                      "",
	} {
		list, err := projects.Filter(found.Projects, strings.Fields(patterns))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range list {
			got = append(got, strings.TrimPrefix(p.Dir, s.Path("home/code")+"/"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %s, want %s", patterns, strings.Join(got, " "), want)
		}
	}
	for _, bad := range []string{"[", "!", ""} {
		var wrong *projects.PatternError
		if _, err := projects.Filter(found.Projects, []string{bad}); !errors.As(err, &wrong) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	_, root := find(t, s, "home/code/web/shop")
	if list, err := projects.Filter(root.Projects, []string{"sh*"}); err != nil || len(list) != 1 {
		t.Errorf("the root itself: %v, %v", list, err)
	}
}
