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

// ErrNone reports that a program cannot be isolated from the network.
var ErrNone = errors.New("network isolation refused by the kernel")

// Namespaces returns the attributes that start a process in a network namespace,
// with the right to set up its loopback.
func Namespaces() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET, AmbientCaps: []uintptr{unix.CAP_NET_ADMIN},
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
	}
}

// Command returns what starts argv, a program by its path, in a network namespace
// with only a loopback. Refused tells from its errors that the kernel allows none.
func Command(argv []string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Args, cmd.SysProcAttr = append([]string{"aisync", jailCommand, noWay}, argv...), Namespaces()
	return cmd, nil
}

// Refused reports whether err, of starting or of waiting for a Command, means that
// the kernel refuses a jail.
func Refused(err error) bool {
	var ran *exec.ExitError
	if errors.As(err, &ran) {
		return ran.ExitCode() == exitRefused
	}
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSPC)
}

// Run runs the program until it ends, kills its process group, and returns its
// output. If the kernel refuses a jail, it runs the program unjailed, with
// jailed false, or returns ErrNone if Must is set.
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
	output, err = p.runCaptured(ctx, self, append([]string{"aisync", jailCommand, way}, p.Argv...), pass, Namespaces())
	if !Refused(err) {
		return output, true, err
	}
	if p.Must != "" {
		return "", false, fmt.Errorf("%w, and %s (%v)", ErrNone, p.Must, err)
	}
	output, err = p.runCaptured(ctx, p.Argv[0], p.Argv, nil, &syscall.SysProcAttr{})
	return output, false, err
}

// runCaptured runs a program in a process group that ends with it.
func (p Program) runCaptured(ctx context.Context, program string, argv []string, pass []*os.File, attr *syscall.SysProcAttr) (string, error) {
	cmd := exec.CommandContext(ctx, program)
	cmd.Args, cmd.Env, cmd.Dir, cmd.ExtraFiles, cmd.SysProcAttr = argv, p.Env, p.Dir, pass, attr
	cmd.SysProcAttr.Setpgid = true
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // servers that it left running
	}
	return out.String(), err
}

const (
	noWay       = "-" // instead of the port
	lineFile    = 3   // the descriptor for passing the listener
	exitRefused = 213 // an exit code that no known program uses
)

// become implements Main: way is the forwarder's port, or noWay.
func become(way string, argv, environ []string) int {
	runtime.LockOSThread() // capabilities belong to a thread
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
