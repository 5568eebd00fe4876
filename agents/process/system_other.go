//go:build !linux

package process

import (
	"errors"
	"os"

	"github.com/shirou/gopsutil/v4/process"
)

// host is the process table through gopsutil. It is untested.
type host struct{}

// System is the table of this machine.
func System() Table { return host{} }

// Self implements Table.
func (host) Self() int { return os.Getpid() }

// PIDs implements Table.
func (host) PIDs() ([]int, error) {
	pids, err := process.Pids()
	out := make([]int, len(pids))
	for i, p := range pids {
		out[i] = int(p)
	}
	return out, err
}

// Initial is the one namespace of such a system.
const Initial = "pid"

// Namespace implements Table.
func (host) Namespace() string { return Initial }

// Partial implements Table: such a system hides no process.
func (host) Partial() string { return "" }

// why maps gopsutil's errors to ErrGone or ErrHidden.
func why(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, process.ErrorProcessNotRunning), errors.Is(err, os.ErrNotExist):
		return ErrGone
	}
	return ErrHidden
}

// Cwd implements Table.
func (host) Cwd(pid int) (string, error) {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return "", why(err)
	}
	cwd, err := p.Cwd()
	return cwd, why(err)
}

// Look implements Table.
func (h host) Look(pid int) (Process, error) { return h.Read(pid) }

// Read implements Table.
func (h host) Read(pid int) (Process, error) {
	out := Process{PID: pid, UID: -1}
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return out, why(err)
	}
	// Unreadable fields stay empty.
	parent, _ := p.Ppid()
	out.Parent = int(parent)
	out.Comm, _ = p.Name()
	out.Args, _ = p.CmdlineSlice()
	out.Exe, _ = p.Exe()
	if uids, err := p.Uids(); err == nil && len(uids) > 0 {
		out.UID = int(uids[0])
	}
	if start, err := p.CreateTime(); err == nil {
		out.Start = uint64(start)
	}
	return out, nil
}

// Env implements Table.
func (host) Env(pid int) (map[string]string, error) {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return nil, why(err)
	}
	pairs, err := p.Environ()
	if err != nil {
		return nil, why(err)
	}
	env := map[string]string{}
	for _, pair := range pairs {
		for i := range pair {
			if pair[i] == '=' {
				env[pair[:i]] = pair[i+1:]
				break
			}
		}
	}
	return env, nil
}
