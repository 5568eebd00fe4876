//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Find returns ErrNone: aisync has a sandbox only on Linux.
func Find(context.Context) (Way, error) {
	return "", fmt.Errorf("%w: aisync has one only on Linux", ErrNone)
}

// Main is never called here.
func Main([]string) int { return 1 }

// IsInside is false.
func IsInside([]string) bool { return false }

// run runs an unconfined command and kills what it leaves in its process group.
// It is untested.
func (b Box) run(ctx context.Context, c Command) (Result, error) {
	if b.Way != None {
		return Result{}, fmt.Errorf("run %s: %w", c.Argv[0], ErrNone)
	}
	for _, dir := range []string{"tmp", "home"} {
		if err := os.MkdirAll(filepath.Join(b.Scratch, dir), 0o700); err != nil {
			return Result{}, err
		}
	}
	limit := ctx
	if c.Timeout > 0 {
		var stop context.CancelFunc
		limit, stop = context.WithTimeout(ctx, c.Timeout)
		defer stop()
	}
	out, errs := &kept{limit: c.Keep}, &kept{limit: c.Keep}
	transcript := &log{to: c.Log, room: c.Limit}
	defer transcript.close()
	cmd := exec.CommandContext(limit, c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.Dir, environment(b, c.Env), c.Stdin
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, transcript), io.MultiWriter(errs, transcript)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	began := time.Now()
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	r := Result{Stdout: out.String(), Stderr: errs.String(), Took: time.Since(began)}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case limit.Err() != nil:
		r.TimedOut, r.Exit = true, -1
	case errors.As(err, &exit):
		r.Exit = exit.ExitCode()
	case err != nil:
		return r, fmt.Errorf("run %s: %w", c.Argv[0], err)
	}
	return r, nil
}
