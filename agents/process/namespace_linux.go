package process

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// VarNamespace names, in the environment of this process, the PID namespace that
// shows all agents of this machine, as `readlink /proc/self/ns/pid` prints it. A
// person sets it in a container that no agent outside works with. It says
// nothing about a namespace within that one, which has another name.
const VarNamespace = "AI_PID_NAMESPACE"

// Initial is the PID namespace that the kernel starts with: PROC_PID_INIT_INO.
// It shows the processes of all others.
const Initial = "pid:[4026531836]"

// System is the table of this machine. Its caller has the number that /proc
// gives it: a /proc of an outer namespace has other numbers than getpid(2).
func System() Table {
	self := os.Getpid()
	if name, err := os.Readlink("/proc/self"); err == nil {
		if pid, err := strconv.Atoi(name); err == nil {
			self = pid
		}
	}
	return Proc{dir: "/proc", self: self, system: true}
}

// Namespace implements Table. It is "" where /proc shows another namespace than
// that of this process.
func (t Proc) Namespace() string {
	if !t.system || t.self != os.Getpid() {
		return ""
	}
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return name
}

// Partial implements Table.
func (t Proc) Partial() string {
	if !t.system {
		return "" // the caller chose it
	}
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "/proc is hidden from this process"
	}
	env, err := t.Env(t.self)
	switch {
	case err == nil && env[VarNamespace] == name:
		return ""
	case name != Initial && !wsl():
		return "this process runs in a sandbox or container (" + name + "), which hides the processes outside"
	}
	// An option of the mount, hidepid, hides other users' processes, the first one
	// among them.
	if fd, err := unix.Open("/proc/1/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return "/proc hides the processes of other users (hidepid)"
	} else {
		_ = unix.Close(fd)
	}
	return ""
}

// wsl reports whether this is the namespace of a distribution of WSL, which each
// has one. It is untested.
func wsl() bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil || !strings.Contains(unix.ByteSliceToString(u.Release[:]), "microsoft") {
		return false
	}
	first, err := os.ReadFile("/proc/1/comm")
	name := strings.TrimSpace(string(first))
	return err == nil && (name == "systemd" || strings.HasPrefix(name, "init"))
}

// hidden reports whether a process that the table does not show exists.
func (t Proc) hidden(pid int) bool { return t.system && pid > 0 && unix.Kill(pid, 0) != unix.ESRCH }
