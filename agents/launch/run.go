package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"aisync.dev/aisync/agents/detect"
	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/seat"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/schema/spec"
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
	Pane    string                   // tmux pane in which to type the opening; "": none
	Roster  func() roster.Roster     // all agents at work in the project
	Piped   bool                     // no terminal is the program's: this process alone gets signals
	Seated  func(*seat.Room, string) // called with the agent's seat before the program starts, if it has one

	alive *keeper.Holding // while the program runs
	seat  heldSeat
}

// Run runs the checks before, the program, and the checks after, and returns the
// program's exit code, 128+n if signal n ended it. A required check that fails
// before prevents the start; one that fails after turns code 0 into 1. The error
// describes failures beside the program's.
//
// The program gets the terminal's signals; the launcher outlives it. If ctx ends
// before the program runs, Run does not start it.
func (r Runner) Run(ctx context.Context) (int, error) {
	once := fmt.Sprintf("%016x", rand.Uint64()) // not a secret: knowing it grants nothing
	environ := append(r.Start.Environ(r.Environ), identity.VarLaunch+"="+once)
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

	var unseated error
	if r.seat, unseated = takeSeat(r.Start, r.Environ, once); r.seat.name != "" {
		environ = append(environ, identity.VarLedger+"="+r.seat.name)
	}
	defer r.seat.leave()
	if r.Seated != nil && r.seat.name != "" {
		r.Seated(r.seat.room, r.seat.name)
	}
	cmd := exec.Command(program, r.Start.Command[1:]...)
	if cmd.Dir, cmd.Env = r.Start.Dir, environ; cmd.Dir == "" {
		cmd.Dir = r.Start.Root
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r.Streams.In, r.Streams.Out, r.Streams.Err
	defer r.watched()()
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("start %s: %w", r.Start.Command[0], err)
	}
	r.alive, err = r.hold(cmd.Process.Pid, once)
	unrecorded := errors.Join(unseated, err)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	done := make(chan struct{})
	typed := make(chan error, 1)
	go func() { typed <- r.typeOpening(done) }()
	code := r.wait(ctx, cmd.Process, signals, ended)
	r.alive.Release()
	close(done)
	err = errors.Join(unrecorded, <-typed)

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

// hold records the agent while its program runs, for those that cannot see its
// process.
func (r Runner) hold(pid int, launch string) (*keeper.Holding, error) {
	t := process.System()
	p, err := t.Read(pid)
	if err != nil {
		return nil, nil // it has ended, or /proc is hidden: its hooks record it
	}
	s := r.Start
	r.seat.bind(pid, p.Start)
	return keeper.Hold(t, s.Root, keeper.Agent{
		ID: s.ID, Seat: r.seat.name, Runtime: s.Runtime, Helper: s.Role == "helper", Launch: launch, PID: pid, Start: p.Start, UID: os.Getuid(), Cwd: cmp.Or(s.Dir, s.Root),
	})
}

// watched has the keeper watch the agent from before its start until end: a program
// asks some questions, such as whether to trust a folder, before its first hook.
func (r Runner) watched() (end func()) {
	known, _ := catalog.With(spec.Catalog{}).Find(cmp.Or(r.Start.Program, r.Start.Runtime))
	if r.seat.name == "" || r.Piped || len(known.Launch.Dialogs) == 0 {
		return func() {}
	}
	getenv := func(name string) string { return r.Environ[name] }
	_ = keeper.Moves(r.Start.Root, r.seat.name, detect.StallAfter(known, getenv)) // without it the first hook begins
	return func() { _ = keeper.Rests(r.Start.Root, r.seat.name) }
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
			if s == syscall.SIGTERM || s == syscall.SIGHUP || r.Piped {
				_ = p.Signal(s) // sent only to us; the terminal sends the others to both
			}
		case <-tick.C:
			r.alive.Renew()
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
	now := r.Roster()
	alone := len(now.Agents) <= 1 && now.Complete() && !Held(s.Root, "")
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
