//go:build unix

package git

import (
	"os/exec"
	"syscall"
)

// inGroup lets cmd be ended with everything that it started: git talks to a
// host through programs of its own.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
