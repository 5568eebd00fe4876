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

	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/internal/gitrepo"
	"aisync.dev/aisync/reconcile/fsys"
)

// Runner runs programs with the environment that was handed over. With it a
// provider looks (git config --list); what writes goes through it as well. git
// runs as internal/gitrepo has it.
type Runner struct {
	Env  environ.Env
	Gate Gate
}

// Runner runs programs for m.
func (m *Machine) Runner() Runner { return Runner{m.Env, Gate(m.Places.Hook)} }

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
	if err := r.Gate.through("run", argv...); err != nil {
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

// ignored tells which paths of the project git does not carry. Where there is
// no git, or no repository, it carries all of them.
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
