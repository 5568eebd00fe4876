package worker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/internal/filelock"
)

// Grace is how long a command that was asked to end has before it is killed.
var Grace = 5 * time.Second

// Exit codes of a keeper that ran nothing.
const (
	exitFailed = 1
	exitVoid   = 75 // EX_TEMPFAIL of sysexits(3): another process has the ticket
)

// Keep runs the worker of a folder and returns the keeper's exit code, which is
// that of the command. It runs the command only with the worker's ticket, so
// that a worker never runs twice.
func Keep(folder, marker string) int {
	k, err := newKeeper(folder, marker)
	if err == nil {
		err = os.Chdir(k.job.Dir)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "aisync: worker in %s: %v\n", folder, err)
		return exitFailed
	}
	first, err := createOnce(folder, ticketFile, k.ticket)
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "aisync: worker %s: %v\n", k.job.Worker, err)
		return exitFailed
	case !first:
		fmt.Fprintf(os.Stderr, "aisync: worker %s has run already, or was called off\n", k.job.Worker)
		return exitVoid
	}
	e := k.run()
	e.Schema, e.Marker, e.At = schema, marker, time.Now().UTC()
	if _, err := createOnce(folder, endFile, e); err != nil {
		fmt.Fprintf(os.Stderr, "aisync: worker %s: %v\n", k.job.Worker, err)
		return exitFailed
	}
	if k.ticket.Pane != nil {
		time.Sleep(50 * time.Millisecond) // tmux drops output that is not in the log yet
	}
	return e.Code
}

// keeper runs one worker.
type keeper struct {
	folder string
	job    Job
	lock   *os.File
	ticket Ticket
	tmux   Server
	asks   string // the question that waits for an answer, as recorded
}

func newKeeper(folder, marker string) (*keeper, error) {
	k := &keeper{folder: folder}
	there, err := read(folder, startFile, &k.job)
	switch {
	case err != nil:
		return nil, err
	case !there:
		return nil, fmt.Errorf("there is no %s", startFile)
	case k.job.Marker != marker || marker == "":
		return nil, fmt.Errorf("%s belongs to another worker", startFile)
	case len(k.job.Command) == 0:
		return nil, fmt.Errorf("%s has no command", startFile)
	}
	if k.lock, err = hold(folder); err != nil {
		return nil, err
	}
	self, err := Self(process.System())
	if err != nil {
		return nil, fmt.Errorf("identify this process: %w", err)
	}
	k.ticket = Ticket{Schema: schema, Worker: k.job.Worker, Marker: marker, Keeper: &self, At: time.Now().UTC()}
	if k.job.Substrate == Tmux {
		socket, _, _ := strings.Cut(os.Getenv("TMUX"), ",")
		k.ticket.Pane = &Pane{Socket: socket, ID: os.Getenv("TMUX_PANE")}
		k.tmux = Server{Socket: socket}
		if socket == "" || k.ticket.Pane.ID == "" {
			return nil, errors.New("not in a tmux pane")
		}
		if err := k.tmux.setMarker(k.ticket.Pane.ID, marker, k.job.Log); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// hold takes the lock of a worker for the lifetime of this process and of all
// that inherit it. Observers hold it for a moment.
func hold(folder string) (*os.File, error) {
	f, err := openLock(folder, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if err := filelock.WaitFor(5*time.Second, f, filelock.Exclusive); err != nil {
		f.Close()
		return nil, fmt.Errorf("hold the lock of the worker: %w", err)
	}
	return f, nil
}

// run runs the command and returns how it ended.
func (k *keeper) run() Exit {
	signals := make(chan os.Signal, 8)
	// They stay caught: a second request must not end the keeper before it has
	// written how the command ended.
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	if k.job.Sandbox {
		return k.runConfined(signals)
	}
	cmd := exec.Command(k.job.Command[0], k.job.Command[1:]...)
	cmd.Dir = k.job.Dir
	cmd.Env = append(os.Environ(), "PWD="+k.job.Dir, VarMarker+"="+k.job.Marker) // programs trust PWD
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{k.lock} // so that the lock shows when a process that we started outlives us
	if k.ticket.Pane != nil {
		cmd.Stdin = os.Stdin // in the pane's process group, where Ctrl-C reaches it
	} else {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	}
	if k.job.Agent {
		if err := inheritOrphans(); err != nil {
			fmt.Fprintf(os.Stderr, "aisync: inherit the processes that the agent leaves: %v\n", err)
		}
	}
	if err := cmd.Start(); err != nil {
		return Exit{Code: 127, Error: err.Error()}
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	done := make(chan struct{})
	go k.recordReady(done)
	if k.job.Agent {
		go reapOrphans(cmd.Process.Pid, done)
	}
	e := exitOf(k.wait(cmd.Process.Pid, signals, ended), cmd.ProcessState)
	close(done)
	if k.job.Agent {
		e.Left = k.endDescendants()
	}
	return e
}

// wait forwards signals to the command. After a request to end it kills the
// command when Grace is over.
func (k *keeper) wait(pid int, signals <-chan os.Signal, ended <-chan error) error {
	target := -pid // its process group
	if k.ticket.Pane != nil {
		target = pid
	}
	var late <-chan time.Time
	for {
		select {
		case err := <-ended:
			return err
		case s := <-signals:
			switch s {
			case syscall.SIGTERM:
				if k.ticket.Pane != nil {
					_ = unix.Kill(target, unix.SIGHUP) // what a shell in a terminal ends by
				}
				_ = unix.Kill(target, unix.SIGTERM)
				if late == nil {
					late = time.After(Grace)
				}
			case syscall.SIGHUP:
				_ = unix.Kill(target, unix.SIGHUP)
			}
		case <-late:
			_ = unix.Kill(target, unix.SIGKILL)
		}
	}
}

func exitOf(err error, state *os.ProcessState) Exit {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return Exit{}
	case !errors.As(err, &exit):
		return Exit{Code: exitFailed, Error: err.Error()}
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return Exit{Code: 128 + int(status.Signal()), Signal: status.Signal().String()}
	}
	return Exit{Code: state.ExitCode()}
}
