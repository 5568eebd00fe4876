package main

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

// runner runs programs with the environment that was handed over. With it a
// provider looks (git config --list); what writes goes through it as well. git
// runs as internal/gitrepo has it.
type runner struct {
	env  environ.Env
	gate gate
}

// runner runs programs for m.
func (m *Machine) runner() runner { return runner{m.Env, gate(m.Places.Hook)} }

// Run implements reconcile.Runner.
func (r runner) Run(ctx context.Context, dir string, argv ...string) ([]byte, error) {
	return r.feed(ctx, dir, nil, argv...)
}

// has reports whether a program is in PATH.
func (r runner) has(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

func (r runner) feed(ctx context.Context, dir string, stdin []byte, argv ...string) ([]byte, error) {
	if err := r.gate.through("run", argv...); err != nil {
		return nil, fmt.Errorf("%s: %w", argv[0], err)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, gitrepo.Outside(r.env.List())
	if argv[0] == "git" {
		cmd = gitrepo.For(ctx, r.env.List(), dir, argv[1:]...)
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
func (r runner) ignored(ctx context.Context, project string, paths []fsys.LogicalPath) map[fsys.LogicalPath]bool {
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
