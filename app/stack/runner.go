package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"aisync.dev/aisync/app/stack/gate"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/internal/gitrepo"
	"aisync.dev/aisync/reconcile/fsys"
)

// Runner runs programs with Env, for providers that look and for those that write.
// It runs git as internal/gitrepo does.
type Runner struct {
	Env  environ.Env
	Gate gate.Gate
}

// Runner returns what runs programs for m.
func (m *Machine) Runner() Runner { return Runner{m.Env, gate.Gate(m.Places.Hook)} }

// Run implements reconcile.Runner.
func (r Runner) Run(ctx context.Context, dir string, argv ...string) ([]byte, error) {
	return r.feed(ctx, dir, nil, argv...)
}

// Has reports whether a program is in PATH.
func (r Runner) Has(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

func (r Runner) feed(ctx context.Context, dir string, stdin []byte, argv ...string) ([]byte, error) {
	if err := r.Gate.Ask("run", argv...); err != nil {
		return nil, fmt.Errorf("%s: %w", argv[0], err)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, gitrepo.Outside(r.Env.List())
	if argv[0] == "git" {
		cmd = gitrepo.For(ctx, r.Env.List(), dir, argv[1:]...)
	}
	cmd.Stdin = bytes.NewReader(stdin)
	// A program that is killed leaves its lock files behind (.git/config.lock);
	// one that is asked to end takes them along.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		if text := strings.TrimSpace(complaint.String()); text != "" {
			return out, fmt.Errorf("%s: %w: %s", argv[0], err, text)
		}
		return out, fmt.Errorf("%s: %w", argv[0], err)
	}
	return out, nil
}

// ignored returns which of paths git ignores in project; none where there is no
// git or no repository.
func (r Runner) ignored(ctx context.Context, project string, paths []fsys.LogicalPath) map[fsys.LogicalPath]bool {
	var in bytes.Buffer
	for _, p := range paths {
		in.WriteString(string(p))
		in.WriteByte(0)
	}
	out, err := r.feed(ctx, project, in.Bytes(), "git", "check-ignore", "-z", "--stdin")
	var none *exec.ExitError
	if err != nil && !(errors.As(err, &none) && none.ExitCode() == 1) {
		return nil
	}
	ignored := map[fsys.LogicalPath]bool{}
	for _, p := range strings.Split(string(out), "\x00") {
		if p != "" {
			ignored[fsys.LogicalPath(p)] = true
		}
	}
	return ignored
}

// catchPanics returns f for a goroutine: a panic becomes an error, instead of
// ending the program with Go's exit code 2, which means drift.
func catchPanics(f func() error) func() error {
	return func() (err error) {
		defer fsys.Caught(&err)
		return f()
	}
}
