//go:build linux

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// manyProjects is what it costs to look at 300 projects of 40 files, and to roll one
// changed rule out to them, with and without commits.
func (w *world) manyProjects() ([]row, error) {
	const count = 300
	top := filepath.Join(w.dir, "many")
	home := filepath.Join(top, "home")
	rule := func(i int, text string) error {
		return write(filepath.Join(top, "rulesets/languages/few/claude/rules", fmt.Sprintf("rule-%02d.md", i)), fmt.Sprintf("# Rule %02d\n\n%s\n", i, strings.Repeat(text+"\n", 8)))
	}
	for i := range 40 {
		if err := rule(i, "Read the whole file before you change a line of it."); err != nil {
			return nil, err
		}
	}
	if err := write(filepath.Join(home, ".config/aisync/bench.cue"), "package aisync\n\nhosts: bench: {roots: [\"~/code\"], runtimes: claude: {}}\n"); err != nil {
		return nil, err
	}
	env := append(w.env(), "HOME="+home, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	aisync := func(args ...string) []string { return append([]string{w.binary, "--host", "bench"}, args...) }
	git := func(dir string, args ...string) error {
		_, err := run(dir, env, append([]string{"git"}, args...)...)
		return err
	}
	var dirs []string
	for i := range count {
		dir := filepath.Join(home, "code", fmt.Sprintf("p%03d", i))
		dirs = append(dirs, dir)
		spec := fmt.Sprintf("package aisync\n\nproject: {\n\tname: \"p%03d\"\n\truntimes: [\"claude\"]\n\tsources: rulesets: \"../../../rulesets\"\n\tbundles: [\"rulesets//few\"]\n}\n", i)
		if err := errors.Join(write(filepath.Join(dir, "aisync.cue"), spec), git(dir, "init", "-q", "-b", "main"), git(dir, "add", "-A"), git(dir, "commit", "-q", "-m", "one")); err != nil {
			return nil, err
		}
	}
	if _, err := run(home, env, aisync("apply", "--all", "--yes", "--commit", "--quiet", "--diff", "none")...); err != nil {
		return nil, err
	}
	look, err := median(w.runs, home, env, aisync("drift", "--all")...)
	if err != nil {
		return nil, err
	}
	plan, err := median(w.runs, home, env, aisync("plan", "--all")...)
	if err != nil {
		return nil, err
	}
	rows := []row{
		{what: fmt.Sprintf("drift --all, %d projects of 40 files", count), cost: look, against: "the target, 1.5 s", floor: 1500 * time.Millisecond},
		{what: "plan --all, the same", cost: plan, against: "drift --all", floor: look.time},
	}
	for i, words := range [][]string{{"apply", "--all", "--yes"}, {"apply", "--all", "--yes", "--commit"}} {
		var samples []sample
		for n := range max(w.runs/5, 3) {
			if err := rule(7, fmt.Sprintf("Read the file %d times before you change a line of it.", i*100+n+2)); err != nil {
				return nil, err
			}
			s, err := run(home, env, aisync(words...)...)
			if err != nil {
				return nil, err
			}
			samples = append(samples, s)
			for _, dir := range dirs {
				_ = git(dir, "commit", "-q", "-a", "-m", "more") // with --commit there is nothing left
			}
		}
		rows = append(rows, row{what: strings.Join(words, " ") + ", one changed rule", cost: middle(samples), against: "the target, 10 s", floor: 10 * time.Second})
	}
	return rows, nil
}
