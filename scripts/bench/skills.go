//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"aisync.dev/aisync/internal/realcli"
)

// skillSources is what others publish: a clone of 200 skills with 3,000 files that is
// added, and the plan of 100 skills with 800 files of a pinned source. The peer takes
// the same skills from the same folder.
func (w *world) skillSources() ([]row, error) {
	large, small := filepath.Join(w.dir, "skills-3000"), filepath.Join(w.dir, "skills-800")
	if err := errors.Join(w.skillSource(large, 200, 14), w.skillSource(small, 100, 7)); err != nil {
		return nil, err
	}
	var clone, folder, both []sample
	floor, err := medianOf(w.runs, func(i int) (time.Duration, error) {
		s, err := w.add(fmt.Sprintf("add-%d", i), "git::file://"+large)
		if err != nil {
			return 0, err
		}
		clone = append(clone, s)
		if s, err = w.add(fmt.Sprintf("folder-%d", i), large); err != nil {
			return 0, err
		}
		folder = append(folder, s)
		root := fmt.Sprintf("add-%d", i)
		again, err := run(w.dir, w.env(), w.skillsOf(root, "apply", "--yes", "--quiet")...)
		if err != nil {
			return 0, err
		}
		s.time, s.cpu, s.memory = s.time+again.time, s.cpu+again.cpu, max(s.memory, again.memory)
		both = append(both, s)
		bare, err := run(w.dir, nil, "git", "clone", "--quiet", "file://"+large, filepath.Join(w.dir, fmt.Sprintf("clone-%d", i)))
		return bare.time, err
	})
	if err != nil {
		return nil, err
	}
	rows := []row{
		{what: "add skill, a local clone of 3,000 files", cost: middle(clone), against: "git clone of it: " + ms(floor), floor: floor},
		{what: "add skill, the same as a folder", cost: middle(folder), against: "the target, 300 ms", floor: 300 * time.Millisecond},
	}
	if _, err := w.add("plan", "git::file://"+small); err != nil {
		return nil, err
	}
	plan, err := median(w.runs, w.dir, w.env(), w.skillsOf("plan", "plan")...)
	if err != nil {
		return nil, err
	}
	files, err := under(filepath.Join(small, "skills"))
	if err != nil {
		return nil, err
	}
	read, err := medianOf(w.runs, func(int) (time.Duration, error) { return readAndHash(files) })
	rows = append(rows,
		row{what: "plan, 800 new files of pinned skills", cost: plan, against: "the target, 100 ms", floor: 100 * time.Millisecond},
		row{what: "  the same", cost: plan, against: "reading and hashing them: " + ms(read), floor: read})
	for _, p := range peers() {
		if p.ID == "skills" && err == nil {
			var peer row
			peer, err = w.skillsPeer(p, large, middle(both))
			rows = append(rows, peer)
		}
	}
	return rows, err
}

// skillSource is a repository of n skills with some texts beside each SKILL.md.
func (w *world) skillSource(dir string, n, texts int) error {
	line := "Read the whole of `file-%d.md` before you change a line of it; then run the tests, and say what you saw.\n"
	for i := range n {
		at := filepath.Join(dir, "skills", fmt.Sprintf("skill-%03d", i))
		front := fmt.Sprintf("---\nname: skill-%03d\ndescription: Does the task number %d.\n---\n\n", i, i)
		if err := write(filepath.Join(at, "SKILL.md"), front+strings.Repeat(fmt.Sprintf(line, i), 30)); err != nil {
			return err
		}
		for k := range texts {
			if err := write(filepath.Join(at, "references", fmt.Sprintf("text-%d.md", k)), fmt.Sprintf("# Text %d of %d\n\n", k, i)+strings.Repeat(fmt.Sprintf(line, k), 30)); err != nil {
				return err
			}
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", "skills"}, {"repack", "-adq"}} { // packed, as a clone is
		if _, err := run(dir, nil, append([]string{"git"}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// skillsOf is a command line for the machine root, whose spec names claude.
func (w *world) skillsOf(root string, args ...string) []string {
	return append([]string{w.binary, "--root", filepath.Join(w.dir, root), "--config", filepath.Join(w.dir, root, "spec"), "--host", "bench"}, args...)
}

// add adds all skills of source on a new machine.
func (w *world) add(root, source string) (sample, error) {
	spec := "package aisync\n\nhosts: bench: runtimes: claude: {}\n"
	program := filepath.Join(w.dir, root, "usr/bin/claude")
	if err := errors.Join(w.root(root), write(filepath.Join(w.dir, root, "spec/bench.cue"), spec), write(program, "#!/bin/sh\necho 2.1.330\n"), os.Chmod(program, 0o755)); err != nil {
		return sample{}, err
	}
	return run(w.dir, []string{"HOME=/home/bench", "NO_COLOR=1"}, w.skillsOf(root, "add", "skill", source, "--scope", "host", "--quiet")...)
}

// skillsPeer is the peer's way from a folder to installed skills, against ours: add
// and apply.
func (w *world) skillsPeer(p realcli.Package, source string, ours sample) (row, error) {
	cache, err := realcli.DefaultCache()
	if err != nil {
		return row{}, err
	}
	var all []sample
	for i := range w.runs {
		home := filepath.Join(w.dir, fmt.Sprintf("peer-%d", i))
		if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o755); err != nil {
			return row{}, err
		}
		env := []string{"HOME=" + home, "NO_COLOR=1", "DISABLE_TELEMETRY=1", "PATH=" + cache.Bin(p) + ":" + cache.NodeBin() + ":" + os.Getenv("PATH")}
		s, err := run(home, env, filepath.Join(cache.Bin(p), p.Command), "add", source, "--global", "--agent", "claude-code", "--skill", "*", "--yes")
		if err != nil {
			return row{}, err
		}
		all = append(all, s)
		if files, err := under(filepath.Join(home, ".claude")); err != nil || len(files) < 3000 {
			return row{}, fmt.Errorf("%s installed %d files: %w", p.ID, len(files), err)
		}
	}
	return row{what: fmt.Sprintf("%s %s, add of the same folder", p.ID, p.Version), cost: middle(all), against: "aisync add skill and apply: " + ms(ours.time), floor: ours.time}, nil
}
