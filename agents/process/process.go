// Package process reads the processes of this machine as far as needed to
// recognise agent programs: names, arguments, working folder, parent. It starts
// and signals nothing. A process that ends while it is read counts as gone. See
// Table.
package process

import (
	"path"
	"slices"
	"strings"
)

// Process is one process; unreadable fields are empty.
type Process struct {
	PID    int
	Parent int
	Comm   string   // the kernel's short name, at most 15 bytes on Linux
	Args   []string // with the program's name
	Exe    string   // "" where it cannot be read: another user's
	UID    int
	Start  uint64 // when it began, in the table's unit; with PID it identifies a process for good
}

// Table reads processes. Reads go to the system each time.
type Table interface {
	// PIDs lists all processes.
	PIDs() ([]int, error)
	// Cwd returns a process's working folder. ErrHidden: it is unreadable to us.
	// ErrGone: there is no such process.
	Cwd(pid int) (string, error)
	// Look returns the cheap fields that tell an agent from another process:
	// names, arguments, program. The process may have ended.
	Look(pid int) (Process, error)
	// Read returns all fields of a process. Unreadable ones stay empty.
	Read(pid int) (Process, error)
	// Env returns a process's environment, as it was when it started.
	Env(pid int) (map[string]string, error)
	// Self returns the calling process.
	Self() int
	// Namespace names the PID namespace of the numbers, "" where it has no name.
	// A number means the same process only within one namespace.
	Namespace() string
	// Partial returns why the table may lack processes of this machine, "" where
	// it shows them all: from a process that it lacks follows nothing else.
	Partial() string
}

type problem string

func (p problem) Error() string { return string(p) }

// Reasons why a process cannot be read.
const (
	ErrGone   = problem("no such process")
	ErrHidden = problem("another user's process")
)

// Names returns the names of a process: its short name, its program's, and where
// an interpreter runs a script, the script's without .js.
func (p Process) Names() []string {
	names := []string{p.Comm}
	if p.Exe != "" {
		names = append(names, path.Base(p.Exe))
	}
	if len(p.Args) == 0 {
		return names
	}
	names = append(names, path.Base(title(p.Args[0])))
	if script := p.Script(); script != "" {
		base := path.Base(script)
		for _, ext := range []string{".js", ".mjs", ".cjs", ".py"} {
			base = strings.TrimSuffix(base, ext)
		}
		names = append(names, base)
	}
	return names
}

// title is the first word of argv[0]: what follows is what a program says of
// itself there ("sshd: me@pts/3"), paths among it, and no name.
func title(arg string) string {
	word, _, _ := strings.Cut(arg, " ")
	return strings.TrimSuffix(word, ":")
}

// Script returns what an interpreter runs: a file, or the name of a module; ""
// where the process is no interpreter or runs a text.
func (p Process) Script() string {
	if len(p.Args) < 2 {
		return ""
	}
	kind := interpreter(path.Base(p.Args[0]))
	if kind == nil {
		kind = interpreter(path.Base(p.Exe))
	}
	if kind == nil {
		return ""
	}
	for i := 1; i < len(p.Args); i++ {
		switch arg := p.Args[i]; {
		case arg == "--":
		case kind.text(arg):
			return ""
		case kind.module != "" && arg == kind.module:
			if i+1 < len(p.Args) {
				return p.Args[i+1]
			}
			return ""
		case slices.Contains(kind.withValue, arg):
			i++
		case strings.HasPrefix(arg, "-"), kind.run && arg == "run":
		default:
			return arg
		}
	}
	return ""
}

// language describes how an interpreter reads its arguments.
type language struct {
	names     []string
	letters   string   // a one-hyphen option with one of these letters takes a program text
	words     []string // so do these
	module    string   // names a module to run
	run       bool     // the word run may stand before the script
	withValue []string // options that take the next word as a value
}

var languages = []language{
	{names: []string{"node", "nodejs", "bun", "deno"}, letters: "ep", words: []string{"--eval", "--print"}, run: true,
		withValue: []string{"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"}},
	{names: []string{"python", "pypy"}, letters: "c", module: "-m", withValue: []string{"-W", "-X"}},
	{names: []string{"bash", "sh", "dash", "zsh", "ksh", "ash"}, letters: "c", withValue: []string{"-o", "+o", "-O", "+O", "--rcfile", "--init-file"}},
	{names: []string{"ruby", "perl"}, letters: "e", withValue: []string{"-I"}},
}

// text reports whether an option takes a program text instead of a file.
func (l *language) text(arg string) bool {
	if slices.Contains(l.words, arg) {
		return true
	}
	return len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && !slices.Contains(l.withValue, arg) && strings.ContainsAny(arg[1:], l.letters)
}

// interpreter returns the argument syntax of a program name; nil if it is no
// known interpreter. A version may follow the name, a hyphen precede it.
func interpreter(name string) *language {
	for i := range languages {
		for _, known := range languages[i].names {
			if rest, ok := strings.CutPrefix(strings.TrimPrefix(name, "-"), known); ok && strings.Trim(rest, "0123456789.") == "" {
				return &languages[i]
			}
		}
	}
	return nil
}

// Descendants returns the processes below pid, parents before their children.
func Descendants(t Table, pid int) []Process {
	pids, err := t.PIDs()
	if err != nil {
		return nil
	}
	children := map[int][]Process{}
	for _, id := range pids {
		if p, err := t.Read(id); err == nil && p.Parent > 0 {
			children[p.Parent] = append(children[p.Parent], p)
		}
	}
	var out []Process
	seen := map[int]bool{pid: true}
	for todo := children[pid]; len(todo) > 0; todo = todo[1:] {
		if p := todo[0]; !seen[p.PID] {
			seen[p.PID] = true
			out = append(out, p)
			todo = append(todo, children[p.PID]...)
		}
	}
	return out
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
