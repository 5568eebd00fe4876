package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/internal/netjail"
)

// boxCommand is the first argument of this program as the inside of a box.
const boxCommand = "__box"

// grace is how long the inside may take to end its processes, where only it can.
const grace = 5 * time.Second

func (b Box) run(ctx context.Context, c Command) (Result, error) {
	p, err := b.plan(c)
	if err != nil {
		return Result{}, fmt.Errorf("run %s: %w", c.Argv[0], err)
	}
	cmd, err := b.outside(p)
	if err != nil {
		return Result{}, fmt.Errorf("run %s: %w", c.Argv[0], err)
	}
	said, err := newPipes(cmd, p)
	if err != nil {
		return Result{}, fmt.Errorf("run %s: %w", c.Argv[0], err)
	}
	defer said.close()
	out, errs := &kept{limit: c.Keep}, &kept{limit: c.Keep}
	transcript := &log{to: c.Log, room: c.Limit}
	defer transcript.close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, io.MultiWriter(out, transcript), io.MultiWriter(errs, transcript)
	cmd.WaitDelay = grace

	limit := ctx
	if c.Timeout > 0 {
		var stop context.CancelFunc
		limit, stop = context.WithTimeout(ctx, c.Timeout)
		defer stop()
	}
	began := time.Now()
	st, err := said.wait(limit, cmd, b.Doors)
	r := Result{Exit: st.Exit, Stdout: out.String(), Stderr: errs.String(), Took: time.Since(began)}
	switch {
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case limit.Err() != nil:
		r.TimedOut, r.Exit = true, -1
		return r, nil
	case st.Error != "":
		return r, fmt.Errorf("run %s: sandbox (%s): %s", c.Argv[0], b.Way, st.Error)
	case err != nil:
		// Not wrapped: a kernel without room for namespaces is not a full disk.
		return r, fmt.Errorf("run %s: sandbox (%s): %s", c.Argv[0], b.Way, strings.TrimSpace(err.Error()+" "+r.Stderr))
	}
	if advice := p.unseen(r); advice != "" {
		r.Stderr += advice
		_, _ = io.WriteString(transcript, advice)
	}
	return r, nil
}

// outside returns the command that makes the box.
func (b Box) outside(p plan) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Dir = "/"
	cmd.Env = p.Env
	switch b.Way {
	case Namespaces:
		cmd.Args = []string{"aisync", boxCommand, "mounts"}
		flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS)
		if !p.Network {
			flags |= unix.CLONE_NEWNET
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags: flags, Pdeathsig: syscall.SIGKILL,
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE},
			UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
		}
	case Bubblewrap:
		program, err := exec.LookPath("bwrap")
		if err != nil {
			return nil, err
		}
		cmd.Path, cmd.Args = program, append([]string{"bwrap"}, p.bwrap(self)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	case None:
		cmd.Args = []string{"aisync", boxCommand, "inside"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it outlives us to end its children
	default:
		return nil, fmt.Errorf("%w: unknown way %q", ErrNone, b.Way)
	}
	return cmd, nil
}

// pipes connect the outside and the inside.
type pipes struct {
	files  []*os.File // of the inside, closed here once it has started
	status *os.File
	life   *os.File
	door   *net.UnixConn
}

func newPipes(cmd *exec.Cmd, p plan) (pipes, error) {
	var l pipes
	planned, err := p.file()
	if err != nil {
		return l, err
	}
	l.files = append(l.files, planned)
	status, statusEnd, err := os.Pipe()
	if err != nil {
		l.close()
		return l, err
	}
	l.status, l.files = status, append(l.files, statusEnd)
	lifeEnd, life, err := os.Pipe()
	if err != nil {
		l.close()
		return l, err
	}
	l.life, l.files = life, append(l.files, lifeEnd)
	door, doorEnd, err := netjail.Line()
	if err != nil {
		l.close()
		return l, err
	}
	l.door, l.files = door, append(l.files, doorEnd)
	cmd.ExtraFiles = slices.Clone(l.files)
	return l, nil
}

func (l pipes) close() {
	for _, f := range append(l.files, l.status, l.life) {
		if f != nil {
			f.Close()
		}
	}
	if l.door != nil {
		l.door.Close()
	}
}

// wait starts cmd and waits until all its processes have ended, which it
// enforces when ctx ends.
func (l pipes) wait(ctx context.Context, cmd *exec.Cmd, doors []Door) (status, error) {
	// The death signal reaches the inside when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return status{}, err
	}
	for _, f := range l.files {
		f.Close()
	}
	var out netjail.Forwarder
	defer out.Close()
	var to []string
	for _, d := range doors {
		to = append(to, d.To)
	}
	out.Admit(l.door, to...)
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		l.life.Close()
		if cmd.SysProcAttr.Cloneflags == 0 && cmd.Args[0] != "bwrap" {
			select { // only the inside finds all its processes
			case <-ended:
				return
			case <-time.After(grace):
			}
		}
		_ = cmd.Process.Kill()
	})
	var st status
	heard := json.NewDecoder(l.status).Decode(&st)
	err := cmd.Wait()
	close(ended)
	stop()
	switch {
	case heard == nil:
		return st, nil // its exit code is irrelevant
	case err == nil:
		err = errors.New("it ended without a result")
	}
	return st, err
}
