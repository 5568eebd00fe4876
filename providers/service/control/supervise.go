package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"aisync.dev/aisync/internal/atomicfile"
)

// A service that ends with an error is restarted, later each time; after tries
// failures within window it stays down, as with systemd's StartLimitBurst.
const (
	firstPause = 500 * time.Millisecond
	longPause  = 30 * time.Second
	tries      = 5
	window     = 5 * time.Minute
)

// Supervise runs the service of the definition in file until ctx ends, and
// keeps its state in the folder logs. The server's output goes to the standard
// output and error of this process.
func Supervise(ctx context.Context, file, logs string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read definition: %w", err)
	}
	var d Definition
	if err := json.Unmarshal(b, &d); err != nil || d.Name == "" || len(d.Command) == 0 {
		return fmt.Errorf("%s is not a service definition (%w)", file, err)
	}
	// The server ends with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := supervisor{Definition: d, logs: logs}
	s.note.Supervisor = process{os.Getpid(), began(os.Getpid())}
	return s.run(ctx)
}

type supervisor struct {
	Definition
	logs string
	note note
}

func (s *supervisor) run(ctx context.Context) error {
	var failures []time.Time
	pause := firstPause
	for {
		started := time.Now()
		err := s.once(ctx)
		s.note.Server, s.note.Since = process{}, time.Time{}
		if ctx.Err() != nil || err == nil {
			s.note.Activity, s.note.Ended = Stopped, ""
			return s.save()
		}
		s.note.Ended = saidBy(err)
		fmt.Fprintf(os.Stderr, "aisync: service %s ended: %s\n", s.Name, s.note.Ended)
		now := time.Now()
		failures = append(failures, now)
		for now.Sub(failures[0]) > window {
			failures = failures[1:]
		}
		if len(failures) >= tries {
			s.note.Activity = Failed
			return errors.Join(fmt.Errorf("service %s ended %d times within %s: %w", s.Name, len(failures), window, err), s.save())
		}
		if now.Sub(started) > window {
			pause = firstPause
		}
		s.note.Activity = Starting
		if err := s.save(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			s.note.Activity = Stopped
			return s.save()
		case <-time.After(pause):
		}
		s.note.Restarts++
		pause = min(2*pause, longPause)
	}
}

// once runs the server until it or ctx ends; in the latter case it asks the
// server to end, and kills it after ten seconds.
func (s *supervisor) once(ctx context.Context) error {
	if err := s.beside(ctx, s.Before); err != nil {
		return err
	}
	cmd := s.command(ctx, s.Command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	withParent(cmd.SysProcAttr)
	cmd.Cancel = func() error {
		_ = s.beside(context.WithoutCancel(ctx), s.Ending) // it says why
		return cmd.Process.Signal(syscall.SIGTERM)
	}
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		return err
	}
	s.note.Server = process{cmd.Process.Pid, began(cmd.Process.Pid)}
	s.note.Activity, s.note.Since = Running, time.Now().UTC()
	if err := s.save(); err != nil {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		return errors.Join(err, cmd.Wait())
	}
	running, ended := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); _ = s.beside(running, s.Started) }()
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what a killed server leaves holds its memory
	ended()
	<-done
	return err
}

func (s *supervisor) command(ctx context.Context, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = os.Environ()
	for name, value := range s.Environment {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", os.Stdout, os.Stderr
	return cmd
}

// besideLimit is how long a command beside the server may take to end the server.
const besideLimit = 18 * time.Second

// beside runs a command beside the server, if there is one. One that outlives
// ctx is killed.
func (s *supervisor) beside(ctx context.Context, argv []string) error {
	if len(argv) == 0 {
		return nil
	}
	if ctx.Done() == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, besideLimit)
		defer cancel()
	}
	if err := s.command(ctx, argv).Run(); err != nil {
		return fmt.Errorf("%s: %w", argv[0], err)
	}
	return nil
}

func saidBy(err error) string {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err.Error()
	}
	if st, ok := exit.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		return "signal " + st.Signal().String()
	}
	return fmt.Sprintf("exit code %d", exit.ExitCode())
}

// save writes the note; a reader sees the old or the new one.
func (s *supervisor) save() error {
	b, err := json.Marshal(s.note)
	if err != nil {
		return err
	}
	file := noteFile(s.logs, s.Name)
	err = atomicfile.Write(file, b, atomicfile.Options{Temp: filepath.Base(file) + ".new", Survives: atomicfile.Content})
	if err != nil {
		return fmt.Errorf("save state of service %s: %w", s.Name, err)
	}
	return nil
}
