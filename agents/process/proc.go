package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Proc is the process table below a folder such as /proc.
type Proc struct {
	dir  string
	self int
}

// At is the table in another folder, for tests and for other namespaces. self
// is the process that asks, 0 if it is none of them.
func At(dir string, self int) Table { return Proc{strings.TrimSuffix(dir, "/"), self} }

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

// known turns an error of the system into what it says of a process.
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

// standing takes off what the kernel adds to a folder that has been removed: an
// agent in it is still one of the project.
func (t Proc) standing(cwd string) string {
	bare, gone := strings.CutSuffix(cwd, " (deleted)")
	if !gone {
		return cwd
	}
	if _, err := os.Lstat(cwd); err == nil {
		return cwd // it is called so
	}
	return bare
}

// Read implements Table.
func (t Proc) Read(pid int) (Process, error) {
	p := Process{PID: pid, UID: -1}
	stat, err := os.ReadFile(t.path(pid, "stat"))
	if err != nil {
		return p, known(err)
	}
	// pid (comm) state ppid …: comm may hold spaces and parentheses.
	open, shut := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || shut < open {
		return p, fmt.Errorf("process %d: %s is not as proc(5) says", pid, t.path(pid, "stat"))
	}
	p.Comm = string(stat[open+1 : shut])
	rest := strings.Fields(string(stat[shut+1:]))
	if len(rest) > 0 && strings.ContainsAny(rest[0], "ZX") {
		return p, ErrGone // it has ended; its parent has not looked yet
	}
	if len(rest) > 1 {
		p.Parent, _ = strconv.Atoi(rest[1]) // a number, by proc(5)
	}
	if len(rest) > 19 {
		p.Start, _ = strconv.ParseUint(rest[19], 10, 64) // likewise; in clock ticks since boot
	}
	if args, err := os.ReadFile(t.path(pid, "cmdline")); err == nil && len(args) > 0 {
		p.Args = strings.Split(strings.TrimRight(string(args), "\x00"), "\x00")
	}
	if exe, err := os.Readlink(t.path(pid, "exe")); err == nil {
		p.Exe = strings.TrimSuffix(exe, " (deleted)")
	}
	if cwd, err := t.Cwd(pid); err == nil {
		p.Cwd = cwd
	}
	if info, err := os.Stat(t.path(pid, "stat")); err == nil {
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			p.UID = int(s.Uid)
		}
	}
	return p, nil
}

// Env implements Table.
func (t Proc) Env(pid int) (map[string]string, error) {
	text, err := os.ReadFile(t.path(pid, "environ"))
	if err != nil {
		return nil, known(err)
	}
	env := map[string]string{}
	for pair := range strings.SplitSeq(string(text), "\x00") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			env[name] = value
		}
	}
	return env, nil
}
