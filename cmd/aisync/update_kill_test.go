package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/providers/providertest"
)

// An update that is killed, with all that it had started in its group, leaves the
// old spec or the new one, and the next one takes what is left to take.
func TestKilledUpdateLeavesWholeSpec(t *testing.T) {
	top := memoryDir(t)
	env := []string{"HOME=" + filepath.Join(top, "home"), "PATH=" + os.Getenv("PATH"), "LANG=C", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", quickRaceExit,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org"}
	command := func(dir string, argv ...string) *exec.Cmd {
		c := exec.Command(argv[0], argv[1:]...)
		c.Dir, c.Env = dir, env
		return c
	}
	run := func(dir string, argv ...string) {
		t.Helper()
		if out, err := command(dir, argv...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
	}
	const files = 1500 // that git takes a while for
	work, config := filepath.Join(top, "work"), filepath.Join(top, "home", ".config", "aisync")
	write := func(round int) {
		t.Helper()
		for i := range files {
			must(t, os.WriteFile(filepath.Join(work, fmt.Sprintf("f%04d", i)), fmt.Append(nil, round, "\n"), 0o644))
		}
		run(work, "git", "add", "-A")
		run(work, "git", "commit", "-q", "-m", fmt.Sprint(round))
		run(work, "git", "push", "-q", "origin", "HEAD:main")
	}
	must(t, os.MkdirAll(filepath.Join(top, "home"), 0o755))
	run(top, "git", "init", "-q", "--bare", "-b", "main", "machines.git")
	run(top, "git", "clone", "-q", "machines.git", work)
	must(t, os.WriteFile(filepath.Join(work, "here.cue"), []byte("package aisync\n\nhosts: here: roots: [\"~/code\"]\n"), 0o644))
	write(0)
	run(top, "aisync", "init", "--from", filepath.Join(top, "machines.git"))
	rounds := func() (seen []string) {
		for i := range files {
			b, err := os.ReadFile(filepath.Join(config, fmt.Sprintf("f%04d", i)))
			must(t, err)
			if len(seen) == 0 || seen[len(seen)-1] != string(b) {
				seen = append(seen, string(b))
			}
		}
		return seen
	}
	r := providertest.Random(t)
	killed := 0
	var whole time.Duration
	for round := 1; round <= 8; round++ {
		write(round)
		c := command(top, "aisync", "update", "--spec", "--yes")
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		began := time.Now()
		must(t, c.Start())
		if round > 1 {
			time.Sleep(time.Duration(r.Float64() * float64(whole)))
			_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // it may be at its end
		}
		_ = c.Wait() // says that it was killed
		if !c.ProcessState.Exited() {
			killed++
		} else if round == 1 {
			whole = time.Since(began)
		}
		for until := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) { // a git that outlives it ends by itself
			if _, err := os.Stat(filepath.Join(config, ".git", "index.lock")); err != nil || time.Now().After(until) {
				break
			}
		}
		time.Sleep(150 * time.Millisecond)
		if seen := rounds(); len(seen) != 1 {
			t.Fatalf("round %d: the spec is of %d commits", round, len(seen))
		}
		run(top, "aisync", "update", "--spec", "--yes")
		if seen := rounds(); len(seen) != 1 || seen[0] != fmt.Sprintln(round) {
			t.Fatalf("round %d: after the next update the spec is %q", round, seen)
		}
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(config), ".aisync-update-*")); err != nil || len(left) > 0 {
			t.Fatalf("round %d: left %v, %v", round, left, err)
		}
	}
	if killed < 2 {
		t.Errorf("only %d of 7 updates were killed", killed)
	}
}
