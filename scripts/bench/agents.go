//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
		args   []string
		target time.Duration
	}{
		{[]string{"roster"}, 15 * time.Millisecond},
		{[]string{"session", "path"}, 10 * time.Millisecond},
		{[]string{"detect"}, 10 * time.Millisecond},
	} {
		s, err := median(w.runs*3, project, append(w.env(), "AI_AGENT_ID=helper-1f3a"), append([]string{w.binary}, c.args...)...)
		if err != nil {
			return rows, err
		}
		what := "aisync " + c.args[0]
		if len(c.args) > 1 {
			what += " " + c.args[1]
		}
		rows = append(rows, row{what: fmt.Sprintf("%s, %d processes", what, max(crowd, len(there))), cost: s, against: fmt.Sprintf("target %s", ms(c.target)), floor: c.target})
	}
	return rows, nil
}
