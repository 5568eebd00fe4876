//go:build unix

package git

import (
	"os/exec"
	"syscall"
)

// inGroup makes cmd killable with all its children: git talks to a host through
// other programs.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
