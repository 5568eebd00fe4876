package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestProgramFolders(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	file := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := func(from, to string) {
		if err := os.MkdirAll(filepath.Dir(at(from)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(at(to), at(from)); err != nil {
			t.Fatal(err)
		}
	}
	file("npm/lib/node_modules/agent/cli.js", "#!/usr/bin/env -S FOO=1 node\n")
	link("npm/bin/agent", "npm/lib/node_modules/agent/cli.js")
	file("node/bin/node", "\x7fELF")
	file("plain/agent", "no script")
	file("venv/bin/agent", "#!"+at("venv/bin/python")+"\n")
	file("venv/bin/python", "\x7fELF")
	look := func(name string) string {
		if name == "node" {
			return at("node/bin/node")
		}
		if filepath.IsAbs(name) {
			return name
		}
		return ""
	}
	for program, want := range map[string][]string{
		"npm/bin/agent":  {"npm/bin", "npm/lib/node_modules", "node/bin", "node/bin"},
		"plain/agent":    {"plain", "plain"},
		"venv/bin/agent": {"venv/bin", "venv/bin", "venv/bin", "venv/bin"},
	} {
		for i := range want {
			want[i] = at(want[i])
		}
		if got := ProgramFolders(at(program), look); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
	if got := ProgramFolders("", look); got != nil {
		t.Errorf("of no program: %q", got)
	}
}
