package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/session"
)

// Streams are the parts of this terminal that a program gets.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Runner runs one agent in this terminal.
type Runner struct {
	Start   Start
	Environ map[string]string // the launcher's
	Checks  []Check
	Streams Streams
	Pane    string                        // tmux pane in which to type the opening; "": none
	Roster  func() (roster.Roster, error) // all agents at work in the project
}

// Run runs the checks before, the program, and the checks after, and returns the
// program's exit code, 128+n if signal n ended it. A required check that fails
// before prevents the start; one that fails after turns code 0 into 1. The error
// describes failures beside the program's.
//
// The program gets the terminal's signals; the launcher outlives it. If ctx ends
// before the program runs, Run does not start it.
func (r Runner) Run(ctx context.Context) (int, error) {
	environ := r.Start.Environ(r.Environ)
	if err := r.Start.runChecks(ctx, r.Checks, before, environ, r.Streams.Err); err != nil {
		return 1, fmt.Errorf("%s was not started: %w", r.Start.Runtime, err)
	}
	program, err := LookPath(r.Start.Command[0], r.Environ["PATH"])
	if err != nil {
		return 1, err
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if ctx.Err() != nil {
		return 1, fmt.Errorf("%s was not started: %w", r.Start.Runtime, context.Cause(ctx))
	}

	cmd := exec.Command(program, r.Start.Command[1:]...)
	if cmd.Dir, cmd.Env = r.Start.Dir, environ; cmd.Dir == "" {
		cmd.Dir = r.Start.Root
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r.Streams.In, r.Streams.Out, r.Streams.Err
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("start %s: %w", r.Start.Command[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	done := make(chan struct{})
	typed := make(chan error, 1)
	go func() { typed <- r.typeOpening(done) }()
	code := r.wait(ctx, cmd.Process, signals, ended)
	close(done)
	err = <-typed

	if r.Start.ID != "" {
		err = errors.Join(err, session.SyncCopy(r.Start.Root, false))
	}
	if late := r.Start.runChecks(context.WithoutCancel(ctx), r.Checks, after, environ, r.Streams.Err); late != nil {
		err = errors.Join(err, late)
		if code == 0 {
			code = 1
		}
	}
	return code, err
}

// copyEvery is how often the copy of a context for old tools is updated.
const copyEvery = 2 * time.Second

// signalGrace is how long to wait for the signal that ended the context.
const signalGrace = 200 * time.Millisecond

func (r Runner) wait(ctx context.Context, p *os.Process, signals <-chan os.Signal, ended <-chan error) int {
	tick := time.NewTicker(copyEvery)
	defer tick.Stop()
	over, told := ctx.Done(), false
	var late <-chan time.Time
	for {
		select {
		case err := <-ended:
			return exitCode(err)
		case <-over:
			over, late = nil, time.After(signalGrace)
		case <-late: // it arrived before this listened, so the program did not get it
			if !told {
				_ = p.Signal(syscall.SIGTERM)
			}
		case s := <-signals:
			told = true
			if s == syscall.SIGTERM || s == syscall.SIGHUP {
				_ = p.Signal(s) // sent only to us; the terminal sends the others to both
			}
		case <-tick.C:
			r.syncCopy()
		}
	}
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		return 1
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// syncCopy gives old tools a copy of this agent's context while the agent is
// alone, and removes it when it is not. It retries after errors.
func (r Runner) syncCopy() {
	s := r.Start
	if s.ID == "" || r.Roster == nil {
		return
	}
	own, err := os.Stat(session.ByID(s.Root, s.ID).Path)
	if err != nil {
		return // the agent has written nothing yet
	}
	copied, err := session.Copied(s.Root)
	if err != nil {
		return
	}
	if info, err := os.Stat(filepath.Join(s.Root, project.Singleton)); err == nil && copied == s.ID && !info.ModTime().Before(own.ModTime()) {
		if Held(s.Root, "") {
			_ = session.DropCopy(s.Root, time.Now())
		}
		return
	}
	now, err := r.Roster()
	if err != nil {
		return
	}
	alone := len(now.Agents) <= 1 && !Held(s.Root, "")
	if err := session.SyncCopy(s.Root, alone); err == nil && !alone && copied == s.ID {
		_ = session.DropCopy(s.Root, time.Now())
	}
}

// LookPath finds a program in path, a list like PATH.
func LookPath(name, path string) (string, error) {
	if filepath.IsAbs(name) {
		return exec.LookPath(name)
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // a program in the project is not the agent's
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%w: no program %s in PATH", ErrMissing, name)
}

// ErrMissing reports that a runtime's program is not installed.
var ErrMissing = errors.New("not installed")
