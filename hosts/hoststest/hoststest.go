// Package hoststest lays out machines that others published, for tests. It knows
// nothing of what a test expects of them. Call Machines.
package hoststest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
)

// Machine is a machine that others published.
type Machine struct {
	Name    string
	Title   string
	Sources []string // addresses, each with what it shows
	Facts   facts.Facts
}

// Machines returns the machines of the txtar files in dir, by name. The first line
// of a file is the title; "documented: " begins a source, and "system: " the name
// of an operating system other than linux. A file that begins with "-> " is a
// link; commands/NAME is what a program prints, after "exit N" where it fails.
func Machines(t testing.TB, dir string) []Machine {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no machines in %s: %v", dir, err)
	}
	var out []Machine
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := Machine{Name: strings.TrimSuffix(filepath.Base(file), ".txtar")}
		system := "linux"
		for line := range strings.Lines(string(archive.Comment)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch {
			case key == "documented":
				m.Sources = append(m.Sources, value)
			case key == "system":
				system = value
			case m.Title == "":
				m.Title = strings.TrimSpace(line)
			}
		}
		root := t.TempDir()
		Lay(t, root, archive)
		m.Facts = hosts.Detect(context.Background(), hosts.Options{Root: root, Kernel: root, Home: "/home/me", Path: []string{}, Hostname: m.Name, OS: system, Run: Commands(root)})
		out = append(out, m)
	}
	return out
}

// Lay writes the files of archive below root.
func Lay(t testing.TB, root string, archive *txtar.Archive) {
	t.Helper()
	for _, f := range archive.Files {
		p := filepath.Join(root, f.Name)
		err := os.MkdirAll(filepath.Dir(p), 0o755)
		if target, link := strings.CutPrefix(string(f.Data), "-> "); link && err == nil {
			err = os.Symlink(strings.TrimSpace(target), p)
		} else if err == nil {
			err = os.WriteFile(p, f.Data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Commands runs no program: it prints the files of root/commands. Lines of sysctl
// begin with its names.
func Commands(root string) func(context.Context, ...string) ([]byte, error) {
	return func(_ context.Context, argv ...string) ([]byte, error) {
		b, err := os.ReadFile(filepath.Join(root, "commands", argv[0]))
		if err != nil {
			return nil, exec.ErrNotFound
		}
		if argv[0] == "sysctl" {
			_, rest, ok := strings.Cut("\n"+string(b), "\n"+argv[2]+": ")
			if value, _, _ := strings.Cut(rest, "\n"); ok {
				return []byte(value), nil
			}
			return nil, fmt.Errorf("unknown oid %q", argv[2])
		}
		if rest, failed := strings.CutPrefix(string(b), "exit "); failed {
			code, text, _ := strings.Cut(rest, "\n")
			return []byte(text), fmt.Errorf("exit status %s", code)
		}
		return b, nil
	}
}
