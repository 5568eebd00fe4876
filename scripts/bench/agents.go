//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// crowd is how many processes the machine has while its agents are looked for.
const crowd = 1000

// atWork is what agents call many times a minute, on a machine with a crowd of
// processes.
func (w *world) atWork() ([]row, error) {
	project := filepath.Join(w.dir, "at work")
	if err := os.MkdirAll(filepath.Join(project, ".ai"), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(project, ".ai", "protocols.org"), nil, 0o644); err != nil {
		return nil, err
	}
	there, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	for range max(0, crowd-len(there)) {
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		defer func() {
			_ = cmd.Process.Kill() // at the latest it ends by itself
			_ = cmd.Wait()
		}()
	}
	var rows []row
	for _, c := range []struct {
		name   string // of the program, or of a link to it
		args   []string
		target time.Duration
	}{
		{"aisync", []string{"roster"}, 15 * time.Millisecond},
		{"agent-roster", nil, 15 * time.Millisecond},
		{"aisync", []string{"session", "path"}, 10 * time.Millisecond},
		{"session-context-path", nil, 10 * time.Millisecond},
		{"aisync", []string{"detect"}, 10 * time.Millisecond},
		{"aisync", []string{"detect", "--json"}, 10 * time.Millisecond},
	} {
		program := filepath.Join(w.dir, c.name)
		if err := os.Symlink(w.binary, program); err != nil && !errors.Is(err, fs.ErrExist) {
			return rows, err
		}
		s, err := median(w.runs*3, project, append(w.env(), "AI_AGENT_ID=helper-1f3a"), append([]string{program}, c.args...)...)
		if err != nil {
			return rows, err
		}
		what := strings.Join(append([]string{c.name}, c.args...), " ")
		rows = append(rows, row{what: fmt.Sprintf("%s, %d processes", what, max(crowd, len(there))), cost: s, against: fmt.Sprintf("target %s", ms(c.target)), floor: c.target})
	}
	return rows, nil
}
