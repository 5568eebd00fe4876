package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// errNotIsolated says that a program cannot be kept from the network here.
var errNotIsolated = errors.New("this kernel does not let it be kept from the network, and --offline was asked for")

// isolated runs a program in a network namespace of its own, in which there is
// not even loopback, and returns what it prints. Where the kernel refuses that,
// it runs as usual, or not at all where it must not dial.
func isolated(ctx context.Context, env []string, dir string, must bool, argv []string) (string, error) {
	text, err := captured(ctx, env, dir, argv, &syscall.SysProcAttr{
		Setpgid: true, Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
	})
	var ran *exec.ExitError
	if err == nil || errors.As(err, &ran) || !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOSPC) {
		return text, err
	}
	if must {
		return "", fmt.Errorf("%w (%v)", errNotIsolated, err)
	}
	return captured(ctx, env, dir, argv, &syscall.SysProcAttr{Setpgid: true})
}

// captured runs a program in a process group, which ends with it.
func captured(ctx context.Context, env []string, dir string, argv []string, attr *syscall.SysProcAttr) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = env, dir, attr
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // servers that it started and left behind
	}
	return out.String(), err
}
