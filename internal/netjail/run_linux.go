package netjail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNone says that a program cannot be kept from the network here.
var ErrNone = errors.New("this kernel does not let it be kept from the network")

// Namespaces starts a process in a network namespace, with the right to set up
// its loopback.
func Namespaces() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET, AmbientCaps: []uintptr{unix.CAP_NET_ADMIN},
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
	}
}

// Run runs the program until it ends, and all that it left in its process group,
// and returns what it printed. Where the kernel refuses a jail it runs as usual,
// and jailed is false, or is ErrNone where it must not.
func (p Program) Run(ctx context.Context) (output string, jailed bool, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", false, err
	}
	way := noWay
	var pass []*os.File
	if p.To != "" {
		if _, way, err = net.SplitHostPort(p.To); err != nil {
			return "", false, err
		}
		outside, inside, err := Line()
		if err != nil {
			return "", false, err
		}
		defer inside.Close()
		f := Forwarder{Sent: p.Sent, Got: p.Got}
		f.Admit(outside, p.To)
		defer f.Close()
		pass = append(pass, inside)
	}
	output, err = p.captured(ctx, self, append([]string{"aisync", word, way}, p.Argv...), pass, Namespaces())
	var ran *exec.ExitError
	switch {
	case errors.As(err, &ran) && ran.ExitCode() == exitRefused:
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ENOSPC):
	default:
		return output, true, err
	}
	if p.Must != "" {
		return "", false, fmt.Errorf("%w, and %s (%v)", ErrNone, p.Must, err)
	}
	output, err = p.captured(ctx, p.Argv[0], p.Argv, nil, &syscall.SysProcAttr{})
	return output, false, err
}

// captured runs a program in a process group, which ends with it.
func (p Program) captured(ctx context.Context, program string, argv []string, pass []*os.File, attr *syscall.SysProcAttr) (string, error) {
	cmd := exec.CommandContext(ctx, program)
	cmd.Args, cmd.Env, cmd.Dir, cmd.ExtraFiles, cmd.SysProcAttr = argv, p.Env, p.Dir, pass, attr
	cmd.SysProcAttr.Setpgid = true
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

const (
	noWay       = "-" // in place of the port
	lineFile    = 3   // the descriptor through which the socket is handed out
	exitRefused = 213 // no program is known to use it
)

// become is Main: way is the port of the way out, or noWay.
func become(way string, argv, environ []string) int {
	runtime.LockOSThread() // powers are a thread's
	if err := LoopbackUp(); err != nil {
		return exitRefused
	}
	if way != noWay {
		port, err := strconv.ParseUint(way, 10, 16)
		if err == nil {
			err = HandOut(lineFile, int(port))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "door:", err)
			return exitRefused
		}
		unix.Close(lineFile)
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	err := syscall.Exec(argv[0], argv, environ)
	fmt.Fprintln(os.Stderr, err)
	return 127
}
