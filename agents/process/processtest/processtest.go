// Package processtest writes process tables into folders, in the format of
// proc(5), for tests of code that reads processes. Call Table.
package processtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// P is one process of a table. Comm is that of Args[0] where it is empty.
type P struct {
	PID, Parent int
	Comm        string
	Args        []string
	Exe, Cwd    string
	Env         []string
	State       string // S where it is empty
	Start       int    // PID where it is 0
}

// Table writes a table into a temporary folder and returns the folder.
func Table(t testing.TB, ps ...P) string {
	t.Helper()
	dir := t.TempDir()
	for _, p := range ps {
		Add(t, dir, p)
	}
	return dir
}

// Add writes one more process into a table's folder.
func Add(t testing.TB, dir string, p P) {
	t.Helper()
	at := filepath.Join(dir, strconv.Itoa(p.PID))
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if p.Comm == "" && len(p.Args) > 0 {
		p.Comm = filepath.Base(p.Args[0])
	}
	if p.State == "" {
		p.State = "S"
	}
	if p.Start == 0 {
		p.Start = p.PID
	}
	comm := p.Comm[:min(15, len(p.Comm))]
	files := map[string]string{
		"stat":    fmt.Sprintf("%d (%s) %s %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0\n", p.PID, comm, p.State, p.Parent, p.Start),
		"comm":    comm + "\n",
		"cmdline": strings.Join(append(p.Args, ""), "\x00"),
		"environ": strings.Join(append(p.Env, ""), "\x00"),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"exe": p.Exe, "cwd": p.Cwd} {
		if to == "" {
			continue
		}
		if err := os.Symlink(to, filepath.Join(at, name)); err != nil {
			t.Fatal(err)
		}
	}
}
