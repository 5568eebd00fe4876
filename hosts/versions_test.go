package hosts

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"aisync.dev/aisync/hosts/facts"
)

func TestVersions(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return p
	}
	// Of npm's: never started.
	write("lib/node_modules/@own/agent/package.json", `{"name": "@own/agent", "version": "2.1.0"}`)
	write("lib/node_modules/@own/agent/dist/package.json", `{"type": "module"}`)
	started := filepath.Join(dir, "started")
	main := write("lib/node_modules/@own/agent/dist/main.js", "#!/bin/sh\n: >"+started+"\n")
	agent := filepath.Join(dir, "agent")
	if err := os.Symlink(main, agent); err != nil {
		t.Fatal(err)
	}
	f := facts.Facts{Managers: []string{"apt-get"}, Programs: map[string]string{
		"agent": agent,
		"git":   write("git", "#!/bin/sh\n[ \"$1\" = --version ] && echo git version 2.39.5 '(of a vendor)'\n"),
		"tmux":  write("tmux", "#!/bin/sh\n[ \"$1\" = -V ] && echo tmux 3.3a\n"),
		"shy":   write("shy", "#!/bin/sh\necho 1.2.3; exit 1\n"),
		"wordy": write("wordy", "#!/bin/sh\necho no number here\n"),
	}}
	write("apt-get", "#!/bin/sh\necho apt 2.6.1.\n")
	got := Versions(t.Context(), f, []string{dir}, os.Environ())
	want := map[string]string{"agent": "2.1.0", "git": "2.39.5", "tmux": "3.3a", "apt-get": "2.6.1"}
	if !maps.Equal(got, want) {
		t.Errorf("versions %v, want %v", got, want)
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("the program of an npm package was started")
	}
}
