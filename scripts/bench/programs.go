//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	programRules  = 500
	programTarget = 600 * time.Millisecond
	programSpec   = `package aisync

project: {
	name: "bench"
	runtimes: ["claude", "codex", "opencode", "copilot", "gemini", "qwen", "pi"]
	sources: {here: "../rules"}
	bundles: ["here//."]
}
`
)

// programs is the first apply of 500 rules of 0.5 kB for the seven programs of
// make test-runtimes, and of an older binary in turns with it. Each run has a new
// project and a new home, and nothing is deleted in between: ext4 passes over each
// file that was deleted in the last minutes when it makes one in the same place,
// which can cost more than the apply. TMPDIR says on which disk.
func (w *world) programs() ([]row, error) {
	binaries := w.binaries()
	var rows []row
	for _, kind := range []struct {
		what  string
		every int // each n-th rule is for all files; 0: none is
	}{{"a third for all files", 3}, {"all for some files", 0}} {
		place := func(i, j int) string { return filepath.Join(w.dir, fmt.Sprintf("programs-%d-%d-%d", kind.every, i, j)) }
		for i := range w.runs {
			for j := range binaries {
				if err := programWorld(place(i, j), kind.every); err != nil {
					return nil, err
				}
			}
		}
		unix.Sync() // what is measured does not wait for what made its world
		all := make([][]sample, len(binaries))
		for i := range w.runs {
			for j, binary := range binaries {
				env := []string{"HOME=" + filepath.Join(place(i, j), "home"), "AISYNC_OFFLINE=1", "NO_COLOR=1"}
				s, err := run(filepath.Join(place(i, j), "project"), env, binary, "apply", "--yes", "--trust", "--scope", "project")
				if err != nil {
					return nil, err
				}
				all[j] = append(all[j], s)
			}
		}
		for j := range binaries {
			least := slices.MinFunc(all[j], func(a, b sample) int { return int(a.time - b.time) })
			name := fmt.Sprintf("%d rules, %s, 7 programs", programRules, kind.what)
			if j > 0 {
				name += ", older"
			}
			rows = append(rows, row{what: name, cost: middle(all[j]), against: "target " + ms(programTarget) + "; least " + ms(least.time), floor: programTarget})
		}
	}
	return rows, nil
}

// programWorld makes a project in dir, its rules and an empty home.
func programWorld(dir string, every int) error {
	err := errors.Join(write(filepath.Join(dir, "project/aisync.cue"), programSpec), os.Mkdir(filepath.Join(dir, "home"), 0o755))
	for n := range programRules {
		front := fmt.Sprintf("---\npaths: [\"pkg%d/**/*.go\"]\n---\n", n)
		if every > 0 && n%every == 0 {
			front = ""
		}
		text := front + fmt.Sprintf("# Rule %d\n\n", n) + strings.Repeat("Keep to what the team has agreed on, and say why.\n", 10)
		err = errors.Join(err, write(filepath.Join(dir, "rules/agent-rules", fmt.Sprintf("r%04d.md", n)), text))
	}
	return err
}
