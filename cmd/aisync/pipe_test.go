package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// An apply finishes even when its output is closed.
func TestApplySurvivesClosedStdout(t *testing.T) {
	m := newMachine(t, "velox")
	run := func(args ...string) {
		t.Helper()
		reader, writer, err := os.Pipe()
		m.must(err)
		m.must(reader.Close())
		defer writer.Close()
		c := exec.Command("aisync", append([]string{"--root", filepath.Join(m.dir, "root"), "--config", filepath.Join(m.dir, "contract", "host"), "--facts", filepath.Join(m.dir, "facts.json")}, args...)...)
		c.Dir, c.Stdout, c.Stderr = m.project(), writer, writer
		c.Env = append(os.Environ(), "HOME=/home/me", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", quickRaceExit)
		if err := c.Run(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	rule := filepath.Join(m.project(), "AGENTS.md")
	run("apply", "--scope", "project", "--yes", "--trust", "--json")
	if _, err := os.Stat(rule); err != nil {
		t.Error("not applied:", err)
	}
	run("destroy", "--scope", "project", "--yes", "--verbose")
	if _, err := os.Stat(rule); err == nil {
		t.Error("not destroyed")
	}
	if _, err := os.Stat(filepath.Join(m.dir, "root", "home", "me", ".local", "state", "aisync", "journal.jsonl")); err == nil {
		t.Error("the journal was not ended")
	}
}
