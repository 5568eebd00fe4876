//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// world is a host and projects below one temp folder, in which nothing is
// shared with the machine's own configuration.
type world struct {
	dir, binary string
	older       string // another binary, for programs and hooks; "" for none
	runs, rules int
}

// binaries returns the one to measure, and then the other one if there is one.
func (w *world) binaries() []string {
	if w.older == "" {
		return []string{w.binary}
	}
	return []string{w.binary, w.older}
}

const rulesDir = "rulesets/languages/many/claude/rules"

// make writes a folder bundle with many rules and a host without wishes.
func (w *world) make() error {
	for i := range w.rules {
		name := filepath.Join(w.dir, rulesDir, fmt.Sprintf("rule-%04d.md", i))
		if err := write(name, fmt.Sprintf("# Rule %04d\n\n%s\n", i, strings.Repeat("Read the whole file before you change a line of it. ", 8))); err != nil {
			return err
		}
	}
	return write(filepath.Join(w.dir, "host/bench.cue"), "package aisync\n\nhosts: bench: {}\n")
}

// root makes an empty machine: what was done on one costs nothing on another.
func (w *world) root(name string) error {
	return os.MkdirAll(filepath.Join(w.dir, name, "home/bench"), 0o755)
}

// project writes the spec of a project that uses the bundle.
func (w *world) project(name string) (string, error) {
	dir := filepath.Join(w.dir, name)
	return dir, write(filepath.Join(dir, "aisync.cue"), `package aisync

project: {
	name:     "`+name+`"
	runtimes: ["claude"]
	sources: {rulesets: "../rulesets"}
	bundles: ["rulesets//many"]
}
`)
}

func write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// aisync is a command line with the machine's root in a folder below w.dir.
func (w *world) aisync(root string, args ...string) []string {
	return append([]string{w.binary, "--root", filepath.Join(w.dir, root), "--config", filepath.Join(w.dir, "host"), "--host", "bench"}, args...)
}

func (w *world) env() []string { return []string{"HOME=/home/bench", "AISYNC_OFFLINE=1", "NO_COLOR=1"} }

// start is what an agent pays each time it calls.
func (w *world) start() ([]row, error) {
	floor, err := median(w.runs*3, w.dir, nil, "/bin/true")
	if err != nil {
		return nil, err
	}
	s, err := median(w.runs*3, w.dir, w.env(), w.binary, "version")
	if err != nil {
		return nil, err
	}
	whole, err := median(w.runs*3, w.dir, w.env(), w.binary, "version", "--json") // as any other command begins
	return []row{
		{what: "/bin/true, for comparison", cost: floor},
		{what: "aisync version", cost: s, against: "target 10 ms, 20 MB", floor: 10 * time.Millisecond},
		{what: "  with all of the program begun", cost: whole},
	}, err
}

// firstApply writes every rule into fresh projects.
func (w *world) firstApply() ([]row, error) {
	var names []string
	var contents [][]byte
	files, err := under(filepath.Join(w.dir, rulesDir))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		names, contents = append(names, filepath.Base(f)), append(contents, b)
	}
	// Both sides take turns, so that a slow minute of the disk hits both.
	var all []sample
	bare, err := medianOf(max(w.runs/3, 3), func(i int) (time.Duration, error) {
		root := fmt.Sprintf("root-%d", i)
		project, err := w.project(fmt.Sprintf("first-%d", i))
		if err := errors.Join(err, w.root(root)); err != nil {
			return 0, err
		}
		s, err := run(project, w.env(), w.aisync(root, "apply", "--scope", "project", "--yes", "--trust", "--quiet")...)
		if err != nil {
			return 0, err
		}
		if got, _ := under(filepath.Join(project, ".claude/rules")); len(got) != w.rules {
			return 0, fmt.Errorf("the apply wrote %d rules, want %d", len(got), w.rules)
		}
		all = append(all, s)
		dir := filepath.Join(w.dir, fmt.Sprintf("bare-%d", i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return 0, err
		}
		return writeSynced(dir, contents, names)
	})
	if err != nil {
		return nil, err
	}
	s := middle(all)
	return []row{{fmt.Sprintf("first apply, %d files", w.rules), s, "bare loop of atomic, synced writes, " + ms(bare), bare,
		"survives the death of the process at any point, and a loss of power once it has returned; so does the bare loop, without journal, records or backups"}}, nil
}

// noChange plans what firstApply applied first.
func (w *world) noChange() ([]row, error) {
	project := filepath.Join(w.dir, "first-0")
	targets, err := under(filepath.Join(project, ".claude/rules"))
	if err != nil {
		return nil, err
	}
	sources, err := under(filepath.Join(w.dir, rulesDir))
	if err != nil {
		return nil, err
	}
	files := append(targets, sources...)
	bare, err := medianOf(w.runs, func(int) (time.Duration, error) { return readAndHash(files) })
	if err != nil {
		return nil, err
	}
	s, err := median(w.runs, project, w.env(), w.aisync("root-0", "plan", "--scope", "project", "--detailed-exitcode")...)
	return []row{{what: fmt.Sprintf("plan, nothing to do, %d rules", w.rules), cost: s,
		against: fmt.Sprintf("reading and hashing those %d files, %s", len(files), ms(bare)), floor: bare, durability: "writes nothing"}}, err
}
