package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// fleet is a machine with many repositories below ~/code, and rules in ~/rules.
type fleet struct {
	t    *testing.T
	home string
	env  []string
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	top, err := filepath.EvalSymlinks(memoryDir(t))
	must(t, err)
	f := &fleet{t: t, home: filepath.Join(top, "home")}
	f.env = []string{"HOME=" + f.home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", quickRaceExit,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org", "AISYNC_CLI_ARGS=--host me"}
	f.put(".config/aisync/host.cue", "package aisync\n\nhosts: me: {roots: [\"~/code\", \"~/code/group\", \"~/linked\"], runtimes: claude: {}}\n")
	f.put("rules/languages/house/common/rules/commits.md", "# Commits\n\nSay why.\n")
	must(t, os.Symlink("code", filepath.Join(f.home, "linked")))
	t.Chdir(f.home)
	return f
}

func (f *fleet) put(name, text string) {
	f.t.Helper()
	name = filepath.Join(f.home, name)
	must(f.t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(f.t, os.WriteFile(name, []byte(text), 0o644))
}

func (f *fleet) read(name string) string {
	b, err := os.ReadFile(filepath.Join(f.home, name))
	must(f.t, err)
	return string(b)
}

func (f *fleet) git(project string, args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = filepath.Join(f.home, "code", project), f.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("%s: git %v: %v\n%s", project, args, err, out)
	}
	return strings.TrimRight(string(out), "\n")
}

const houseRule = ".claude/rules/commits.md"

// houseSpec is the spec of a project that lies so many folders below ~/code.
func houseSpec(name string, depth int) string {
	return "package aisync\n\nproject: {\n\tname: \"" + name + "\"\n\truntimes: [\"claude\"]\n\tsources: rules: \"" + strings.Repeat("../", depth+1) + "rules\"\n\tbundles: [\"rules//house\"]\n}\n"
}

// repository makes a repository with a spec.
func (f *fleet) repository(project string) {
	f.put("code/"+project+"/README.md", "# "+project+"\n")
	f.put("code/"+project+"/aisync.cue", houseSpec(filepath.Base(project), strings.Count(project, "/")+1))
	f.git(project, "init", "-q", "-b", "main")
	f.git(project, "add", "-A")
	f.git(project, "commit", "-q", "-m", "first")
}

// aisync runs the program without a terminal, and returns its code and what it printed.
func (f *fleet) aisync(args ...string) (code int, out string) {
	f.t.Helper()
	var text bytes.Buffer
	code = execute(nil, append([]string{"aisync"}, args...), strings.NewReader(""), &text, &text, f.env)
	return code, text.String()
}

// at returns the lines of out that begin with name.
func at(out, name string) string {
	var found []string
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			found = append(found, strings.TrimSpace(rest))
		}
	}
	return strings.Join(found, " | ")
}

// A rule changes, and goes to thirty repositories in every state that repositories are
// in: each ends as it should, whatever the others do.
func TestThirtyProjectsGetOneChange(t *testing.T) {
	f := newFleet(t)
	var plain []string
	for i := range 18 {
		plain = append(plain, fmt.Sprintf("p%02d", i+1))
	}
	plain = append(plain, "group/one", "group/two")
	special := []string{"edited", "broken", "costly", "busy", "staged", "detached", "locked", "gone"}
	for _, p := range append(append([]string{}, plain...), special...) {
		f.repository(p)
	}
	code, out := f.aisync("apply", "--all", "--yes", "--commit")
	if code != 0 || !strings.Contains(out, "Applied in 28 projects: 28 resources.") {
		t.Fatalf("the first apply: %d\n%s", code, out)
	}

	f.put("rules/languages/house/common/rules/commits.md", "# Commits\n\nSay why, in a body.\n")
	f.put("code/edited/"+houseRule, "# Commits\n\nSay what.\n")
	f.put("code/broken/aisync.cue", "package aisync\n\nproject: {name: \"broken\", colour: \"red\"}\n")
	f.put("code/costly/aisync.cue", "package aisync\n\n"+tenfold(`"xxxxxxxxxx"`, `"`+strings.Repeat(`\(LAST)`, 10)+`"`))
	f.put("code/busy/.git/MERGE_HEAD", f.git("busy", "rev-parse", "HEAD")+"\n")
	f.put("code/staged/README.md", "# mine\n")
	f.git("staged", "add", "README.md")
	f.put("code/staged/notes", "not in git\n")
	f.git("detached", "checkout", "-q", "--detach")
	f.put("code/locked/.git/index.lock", "")
	f.git("p01", "worktree", "add", "-q", "../tree", "-b", "two")
	f.put("code/old/.cursor/rules/x.mdc", "x\n")
	must(t, os.Mkdir(filepath.Join(f.home, "code/old/.git"), 0o755))
	must(t, os.Symlink("..", filepath.Join(f.home, "code/group/loop")))
	remote := filepath.Join(f.home, "remote.git")
	f.git("p02", "clone", "-q", "--bare", ".", remote)
	f.git("p02", "remote", "add", "origin", remote)
	f.git("p02", "config", "core.hooksPath", "hooks")
	f.put("code/p02/hooks/pre-commit", "#!/bin/sh\ntouch ran\nexit 1\n")
	must(t, os.Chmod(filepath.Join(f.home, "code/p02/hooks/pre-commit"), 0o755))
	pushed := f.git("p02", "ls-remote", "origin", "main")

	// What comes is shown first: the same change once.
	code, out = f.aisync("plan", "--all")
	if code != 1 || !strings.Contains(out, "the spec moved  +1 −1  in 26 projects") || !strings.Contains(out, "29 projects: 26 to change, 0 in order, 1 waiting for you, 2 failed.") {
		t.Errorf("the plan: %d\n%s", code, out)
	}
	for name, want := range map[string]string{"broken": "failed: aisync.cue:3:", "costly": "cannot be evaluated", "edited": "1 undecided", "p07": "1 to change", "  code/old": "aisync import code/old  (cursor)"} {
		if name != "  code/old" {
			name = "code/" + name
		}
		if got := at(out, name); !strings.Contains(got, want) {
			t.Errorf("the plan says of %s: %q, want %q", name, got, want)
		}
	}

	// One question; a project goes away before it is answered.
	code, out = f.answer("y", func() { must(t, os.RemoveAll(filepath.Join(f.home, "code/gone"))) }, "apply", "--all", "--commit", "--color", "off")
	if code != 1 || !strings.Contains(out, "Apply these 26 changes in 26 projects? [y/N]") || !strings.Contains(out, "Applied in 25 projects: 25 resources. 1 left out, see above. 3 failed.") {
		t.Fatalf("the roll-out: %d\n%s", code, out)
	}
	_, results, _ := strings.Cut(out, "[y/N]")
	for name, want := range map[string]string{
		"code/gone": "the folder is gone", "code/edited": "1 resource is undecided; nothing was changed", "code/staged": "applied: 1 resource; committed as ",
		"code/busy": "applied: 1 resource; not committed: a merge is in progress there", "code/detached": "not committed: no branch is checked out",
		"code/locked": "not committed: git add: ", "code/tree": "applied: 1 resource; committed as ", "code/p02": "applied: 1 resource; committed as ",
	} {
		if got := at(results, name); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, p := range append(plain, "tree", "staged") {
		if got := f.git(p, "show", "--name-only", "--format=%s", "HEAD"); got != "aisync: update "+houseRule+"\n\n"+houseRule+"\naisync.lock" {
			t.Errorf("the commit in %s: %s", p, got)
		}
		if !strings.Contains(f.read("code/"+p+"/"+houseRule), "in a body") {
			t.Errorf("%s has the old rule", p)
		}
	}
	if got := f.git("staged", "status", "--porcelain"); got != "M  README.md\n?? notes" {
		t.Errorf("what the person had staged: %s", got)
	}
	if f.read("code/edited/"+houseRule) != "# Commits\n\nSay what.\n" {
		t.Error("the edit of the person is lost")
	}
	if got := f.git("p02", "ls-remote", "origin", "main"); got != pushed {
		t.Errorf("something was pushed: %s", got)
	}
	if _, err := os.Stat(filepath.Join(f.home, "code/p02/ran")); err == nil {
		t.Error("a hook of the repository ran")
	}

	// Twice is once, and the rest is decided.
	must(t, os.Remove(filepath.Join(f.home, "code/locked/.git/index.lock")))
	for _, p := range []string{"broken", "costly"} {
		f.put("code/"+p+"/aisync.cue", houseSpec(p, 1))
	}
	code, out = f.aisync("apply", "--all", "--yes", "--force")
	if code != 0 || !strings.Contains(out, "Applied in 3 projects: 3 resources.") {
		t.Errorf("the rest: %d\n%s", code, out)
	}
	code, out = f.aisync("drift", "--all")
	if code != 0 || !strings.Contains(out, "28 projects: 28 in order,") {
		t.Errorf("in the end: %d\n%s", code, out)
	}

	// It is undone where it was done.
	t.Chdir(filepath.Join(f.home, "code/p05"))
	if code, out = f.aisync("rollback", "--yes"); code != 0 {
		t.Errorf("%d %s", code, out)
	}
	if !strings.Contains(f.read("code/p05/"+houseRule), "Say why.") || !strings.Contains(f.read("code/p06/"+houseRule), "in a body") {
		t.Error("rollback undid more or less than the apply in this project")
	}
	if code, out = f.aisync("rollback", "--list"); code != 0 || strings.Count(out, "/code/p06") != 2 {
		t.Errorf("%d %s", code, out)
	}
}

// answer runs the program on a terminal. Where it asks, it calls before, and then types
// an answer.
func (f *fleet) answer(answer string, before func(), args ...string) (code int, out string) {
	f.t.Helper()
	outer, inner := terminal(f.t)
	self, err := os.Executable()
	must(f.t, err)
	cmd := exec.Command(self)
	cmd.Args = append([]string{"aisync"}, args...)
	cmd.Dir, cmd.Env = f.home, f.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inner, inner, inner
	must(f.t, cmd.Start())
	var all bytes.Buffer
	asked := make(chan struct{})
	read := make(chan struct{})
	go func() {
		defer close(read)
		waiting := asked
		for buf := make([]byte, 4096); ; {
			n, err := outer.Read(buf)
			all.Write(buf[:n])
			if waiting != nil && strings.HasSuffix(strings.TrimSpace(all.String()), "[y/N]") {
				close(waiting)
				waiting = nil
			}
			if err != nil || strings.Contains(all.String(), "\x00end") {
				return
			}
		}
	}()
	select {
	case <-asked:
		before()
		_, err := io.WriteString(outer, answer+"\n")
		must(f.t, err)
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		f.t.Fatal("it did not ask")
	}
	_ = cmd.Wait() // its code tells
	_, err = io.WriteString(inner, "\x00end")
	must(f.t, err)
	<-read
	return cmd.ProcessState.ExitCode(), all.String()
}
