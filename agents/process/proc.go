package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Proc is the process table below a folder such as /proc.
type Proc struct {
	dir    string
	self   int
	system bool // it is this machine's
}

// At returns the table in another folder, for tests and other namespaces. self
// is the calling process, 0 if it is not in the table.
func At(dir string, self int) Table { return Proc{dir: strings.TrimSuffix(dir, "/"), self: self} }

// Self implements Table.
func (t Proc) Self() int { return t.self }

// PIDs implements Table.
func (t Proc) PIDs() ([]int, error) {
	d, err := os.Open(t.dir)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	pids := make([]int, 0, len(names))
	for _, n := range names {
		if n[0] < '0' || n[0] > '9' {
			continue
		}
		if pid, err := strconv.Atoi(n); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

func (t Proc) path(pid int, file string) string {
	return t.dir + "/" + strconv.Itoa(pid) + "/" + file
}

// known maps a system error to ErrGone or ErrHidden.
func known(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ESRCH):
		return ErrGone
	case errors.Is(err, os.ErrPermission):
		return ErrHidden
	}
	return err
}

// Cwd implements Table.
func (t Proc) Cwd(pid int) (string, error) {
	var buf [4096]byte
	n, err := unix.Readlink(t.path(pid, "cwd"), buf[:])
	if err != nil {
		return "", known(err)
	}
	return t.standing(string(buf[:n])), nil
}

// standing removes the suffix that the kernel adds to a deleted folder: an agent
// in it still belongs to the project.
func (t Proc) standing(cwd string) string {
	bare, gone := strings.CutSuffix(cwd, " (deleted)")
	if !gone {
		return cwd
	}
	if _, err := os.Lstat(cwd); err == nil {
		return cwd // the folder has that name
	}
	return bare
}

// Look implements Table.
func (t Proc) Look(pid int) (Process, error) {
	comm, _, err := t.file(pid, "comm")
	if err != nil {
		return t.Read(pid) // it has ended, or the table has no cmdline
	}
	return Process{PID: pid, UID: -1, Comm: strings.TrimSuffix(string(comm), "\n"), Args: t.args(pid), Exe: t.exe(pid)}, nil
}

// Read implements Table.
func (t Proc) Read(pid int) (Process, error) {
	p := Process{PID: pid, UID: -1}
	stat, owner, err := t.file(pid, "stat")
	if err == ErrGone && t.hidden(pid) {
		return p, ErrHidden
	}
	if err != nil {
		return p, err
	}
	// pid (comm) state ppid …: comm may hold spaces and parentheses.
	open, shut := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || shut < open {
		return p, fmt.Errorf("process %d: %s does not have the format of proc(5)", pid, t.path(pid, "stat"))
	}
	p.Comm, p.UID = string(stat[open+1:shut]), owner
	rest := strings.Fields(string(stat[shut+1:]))
	if len(rest) > 0 && strings.ContainsAny(rest[0], "ZX") {
		return p, ErrGone // it has ended; its parent has not reaped it yet
	}
	if len(rest) > 1 {
		p.Parent, _ = strconv.Atoi(rest[1]) // a number, by proc(5)
	}
	if len(rest) > 19 {
		p.Start, _ = strconv.ParseUint(rest[19], 10, 64) // likewise; in clock ticks since boot
	}
	p.Args, p.Exe = t.args(pid), t.exe(pid)
	return p, nil
}

// args returns a process's arguments; none where they are unreadable.
func (t Proc) args(pid int) []string {
	text, _, err := t.file(pid, "cmdline")
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
}

// exe returns a process's program; "" where it is unreadable.
func (t Proc) exe(pid int) string {
	var buf [4096]byte
	n, err := unix.Readlink(t.path(pid, "exe"), buf[:])
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(buf[:n]), " (deleted)")
}

// file reads one of a process's files and returns its owner. It makes as few
// system calls as possible: there are thousands of such files.
func (t Proc) file(pid int, name string) (text []byte, owner int, err error) {
	fd, err := ignoringEINTR(func() (int, error) { return unix.Open(t.path(pid, name), unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, -1, known(err)
	}
	defer unix.Close(fd)
	owner = -1
	if name == "stat" {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil {
			owner = int(st.Uid)
		}
	}
	text = make([]byte, 0, 1024)
	for {
		n, err := ignoringEINTR(func() (int, error) { return unix.Read(fd, text[len(text):cap(text)]) })
		if err != nil {
			return nil, owner, known(err)
		}
		text = text[:len(text)+n]
		switch {
		case n == 0:
			return text, owner, nil
		case len(text) == cap(text):
			text = slices.Grow(text, len(text))
		}
	}
}

func ignoringEINTR(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

// Env implements Table.
func (t Proc) Env(pid int) (map[string]string, error) {
	text, _, err := t.file(pid, "environ")
	if err != nil {
		return nil, err
	}
	env := map[string]string{}
	for pair := range strings.SplitSeq(string(text), "\x00") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			env[name] = value
		}
	}
	return env, nil
}
