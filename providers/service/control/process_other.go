//go:build !linux

package control

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// Variable is not supported here: launchd knows the environment.
func Variable(int, string) (string, error) { return "", errors.ErrUnsupported }

// StartedOtherwise cannot be told here.
func StartedOtherwise(int, []string, map[string]string) bool { return false }

// began is the start of a process as ps prints it; "" if it is gone.
func began(pid int) string {
	out, err := exec.Command("ps", "-o", "lstart=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func withParent(*syscall.SysProcAttr) {}
