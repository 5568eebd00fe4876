package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/internal/netns"
)

// errNotIsolated says that a program cannot be kept from the network here.
var errNotIsolated = errors.New("this kernel does not let it be kept from the network, and --offline was asked for")

// isolated runs a program in a network namespace of its own, in which there is
// nothing but a loopback, and returns what it prints. On that loopback nobody
// answers but at the port of door, which may be nil. Where the kernel refuses
// that, it runs as usual, or not at all where it must not dial.
func isolated(ctx context.Context, env []string, dir string, must bool, door *door, argv []string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	var pass []*os.File
	if door != nil {
		end, err := door.open()
		if err != nil {
			return "", err
		}
		defer door.close()
		defer end.Close()
		pass = append(pass, end)
	}
	text, err := captured(ctx, env, dir, self, append([]string{"aisync", aloneCommand, door.flag()}, argv...), pass, &syscall.SysProcAttr{
		Setpgid: true, Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET, AmbientCaps: []uintptr{unix.CAP_NET_ADMIN},
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
	})
	var ran *exec.ExitError
	switch {
	case errors.As(err, &ran) && ran.ExitCode() == exitAlone:
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ENOSPC):
	default:
		return text, err
	}
	if must {
		return "", fmt.Errorf("%w (%v)", errNotIsolated, err)
	}
	if door != nil {
		door.around = true
	}
	return captured(ctx, env, dir, argv[0], argv, nil, &syscall.SysProcAttr{Setpgid: true})
}

// captured runs a program in a process group, which ends with it.
func captured(ctx context.Context, env []string, dir, program string, argv []string, pass []*os.File, attr *syscall.SysProcAttr) (string, error) {
	cmd := exec.CommandContext(ctx, program)
	cmd.Args, cmd.Env, cmd.Dir, cmd.ExtraFiles, cmd.SysProcAttr = argv, env, dir, pass, attr
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

// exitAlone is the exit code of alone where it cannot do its part, one that no
// program is known to use.
const exitAlone = 213

// alone is what this program does when isolated calls it in the new namespace:
// it brings loopback up, hands the socket of the door out, and becomes the
// program. It returns only on failure.
func alone(argv, environ []string) int {
	runtime.LockOSThread() // powers are a thread's
	if err := netns.LoopbackUp(); err != nil {
		return exitAlone
	}
	if argv[0] != noDoor {
		if err := handOut(argv[0]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return exitAlone
		}
	}
	argv = argv[1:]
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	err := syscall.Exec(argv[0], argv, environ)
	fmt.Fprintln(os.Stderr, err)
	return 127
}
