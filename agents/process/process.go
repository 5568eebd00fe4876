// Package process reads the processes of this machine as far as they tell which
// agent program they are: names, arguments, working folder, parent. It starts
// and signals nothing. A process that ends while it is read is one that is not
// there. Start reading at Table.
package process

import (
	"path"
	"slices"
	"strings"
)

// Process is one process, or what could be read of it.
type Process struct {
	PID    int
	Parent int
	Comm   string   // the kernel's short name, at most 15 bytes on Linux
	Args   []string // with the program's name
	Exe    string   // "" where it cannot be read: another user's
	Cwd    string   // without links; "" where it cannot be read
	UID    int
	Start  uint64 // when it began, in a unit of its own: with PID it names a process for good
}

// Table reads processes. Reads go to the system each time.
type Table interface {
	// PIDs lists all processes.
	PIDs() ([]int, error)
	// Cwd returns a process's working folder; ErrHidden where it is not ours to
	// know, ErrGone where there is no such process.
	Cwd(pid int) (string, error)
	// Read returns a process. What is not ours to know stays empty.
	Read(pid int) (Process, error)
	// Env returns a process's environment, as it was when it started.
	Env(pid int) (map[string]string, error)
	// Self is our own process.
	Self() int
}

type problem string

func (p problem) Error() string { return string(p) }

// What keeps a process from being read.
const (
	ErrGone   = problem("no such process")
	ErrHidden = problem("another user's process")
)

// Names are the names that a process goes by: its short name, that of its
// program, and where an interpreter runs a script, the script's, without .js.
func (p Process) Names() []string {
	names := []string{p.Comm}
	if p.Exe != "" {
		names = append(names, path.Base(p.Exe))
	}
	if len(p.Args) == 0 {
		return names
	}
	names = append(names, path.Base(p.Args[0]))
	if script := p.Script(); script != "" {
		base := path.Base(script)
		for _, ext := range []string{".js", ".mjs", ".cjs", ".py"} {
			base = strings.TrimSuffix(base, ext)
		}
		names = append(names, base)
	}
	return names
}

// Script is the file that an interpreter was given to run, "" where the process
// is none.
func (p Process) Script() string {
	if len(p.Args) < 2 || !interpreter(path.Base(p.Args[0])) && !interpreter(path.Base(p.Exe)) {
		return ""
	}
	for i := 1; i < len(p.Args); i++ {
		switch arg := p.Args[i]; {
		case arg == "-e" || arg == "-c" || arg == "-p" || arg == "--eval" || arg == "-m" || arg == "--print":
			return ""
		case slices.Contains(withValue, arg):
			i++
		case strings.HasPrefix(arg, "-"):
		default:
			return arg
		}
	}
	return ""
}

// withValue are the options of interpreters whose value is a word of its own.
var withValue = []string{"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "-W", "-X"}

func interpreter(name string) bool {
	for _, known := range []string{"node", "nodejs", "bun", "deno", "python", "ruby", "bash", "sh", "dash", "zsh"} {
		if rest, ok := strings.CutPrefix(name, known); ok && strings.Trim(rest, "0123456789.") == "" {
			return true
		}
	}
	return false
}

// Ancestors returns the parents of pid, nearest first, without pid itself.
func Ancestors(t Table, pid int) []Process {
	var out []Process
	seen := map[int]bool{pid: true}
	p, err := t.Read(pid)
	for err == nil && p.Parent > 0 && !seen[p.Parent] {
		seen[p.Parent] = true
		if p, err = t.Read(p.Parent); err == nil {
			out = append(out, p)
		}
	}
	return out
}
