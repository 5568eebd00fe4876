// Package worktree is the git work tree that a task is carried out in: made off a
// base on a branch of its own, compared with that base, committed, removed. It
// never reads or writes the work tree of the person. Git is run so that nothing
// which a repository, or a step, brings along runs as a program: no hooks, no
// drivers, no monitors. The person's own filters and signing count, as in their
// other work trees. Start reading at Open and Repo.Add.
package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/internal/filelock"
	"aisync.dev/aisync/internal/gitrepo"
)

// quiet is the configuration that git runs with, over what is in the
// repository: it believes no record of what has not changed, and looks at all.
var quiet = []gitrepo.Setting{
	{Key: "core.untrackedCache", Value: "false"}, {Key: "core.fileMode", Value: "true"}, {Key: "core.symlinks", Value: "true"}, {Key: "core.trustctime", Value: "true"},
	{Key: "core.checkStat", Value: "default"}, {Key: "core.ignoreStat", Value: "false"}, {Key: "core.sparseCheckout", Value: "false"}, {Key: "core.quotePath", Value: "false"},
	{Key: "core.filesRefLockTimeout", Value: "20000"}, {Key: "core.packedRefsTimeout", Value: "20000"}, {Key: "core.splitIndex", Value: "false"}, {Key: "index.sparse", Value: "false"},
	{Key: "diff.ignoreSubmodules", Value: "none"}, {Key: "diff.orderFile", Value: "/dev/null"}, {Key: "checkout.workers", Value: "1"},
}

// Repo is a repository as tasks use it.
type Repo struct {
	Dir      string // of the person's work tree; only git's own folder in it is touched
	common   string // git's own folder
	excludes string // what the person has git ignore everywhere
	identity []string
	signs    bool              // the person has git sign what they commit
	over     []gitrepo.Setting // that git runs with; nil: they are looked for each time
	held     *os.File          // the lock of alone, which git has too
}

// An Error is git's, with what it said.
type Error struct {
	Args []string
	Said string
	Err  error
}

func (e *Error) Error() string {
	said := strings.TrimSpace(e.Said)
	if said == "" {
		said = e.Err.Error()
	}
	return "git " + e.Args[0] + ": " + said
}

func (e *Error) Unwrap() error { return e.Err }

// call is one run of git.
type call struct {
	gitDir string   // "" is the repository's own
	tree   string   // "" none
	index  string   // "" the work tree's own
	env    []string // more
	in     []byte
	out    io.Writer // "" is returned
}

// git runs git with c's places.
func (r Repo) git(ctx context.Context, c call, args ...string) (string, error) {
	over := r.over
	if over == nil {
		var err error
		if over, err = r.overrides(ctx); err != nil {
			return "", err
		}
	}
	return again(ctx, func() (string, error) { return r.run(ctx, c, over, args) })
}

// Settled returns r with the settings that it has now. It is for where nothing
// can change them: what runs does so in a sandbox.
func (r Repo) Settled(ctx context.Context) (Repo, error) {
	var err error
	r.over, err = r.overrides(ctx)
	return r, err
}

// overrides is quiet, and what takes the programs of the repository out of its
// configuration.
func (r Repo) overrides(ctx context.Context) ([]gitrepo.Setting, error) {
	c, err := r.config(ctx)
	if err != nil {
		return nil, err
	}
	over := []gitrepo.Setting{{Key: "core.excludesFile", Value: r.excludes}, trusted}
	return slices.Concat(over, quiet, c.Programs()), nil
}

// trusted lets git read a repository that the person's own git, in Open, does.
var trusted = gitrepo.Setting{Key: "safe.directory", Value: "*"}

// config is the configuration of the repository.
func (r Repo) config(ctx context.Context) (*gitrepo.Config, error) {
	c, err := again(ctx, func() (*gitrepo.Config, error) {
		return gitrepo.ReadConfig(ctx, os.Environ(), gitrepo.Place{Dir: r.common, GitDir: r.common})
	})
	if err != nil {
		return nil, fmt.Errorf("read the settings of %s: %w", r.Dir, err)
	}
	return c, nil
}

// half is what git says where another process is just making a work tree: it
// does not expect one without all of its files.
const half = "commondir"

// alone keeps others that make or remove work trees of the repository waiting
// while f runs: git itself does not. A git that f started keeps them waiting even
// where this process is killed.
func (r Repo) alone(ctx context.Context, f func(Repo) error) error {
	lock, err := os.OpenFile(filepath.Join(r.common, "aisync-worktrees.lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return fmt.Errorf("make a work tree: %w", err)
	}
	defer lock.Close()
	if err := filelock.Wait(ctx, lock, filelock.Exclusive); err != nil {
		return fmt.Errorf("wait for other work trees to be made: %w", err)
	}
	r.held = lock
	return f(r)
}

// again runs git until it meets no work tree that is half made.
func again[T any](ctx context.Context, git func() (T, error)) (T, error) {
	for tries := 1; ; tries++ {
		out, err := git()
		if tries > 20 || err == nil || !strings.Contains(err.Error(), half) || ctx.Err() != nil {
			return out, err
		}
		time.Sleep(50 * time.Millisecond) // another process's, which does not wait for our lock
	}
}

func (r Repo) run(ctx context.Context, c call, over []gitrepo.Setting, args []string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, 10*time.Minute)
	defer stop()
	at := gitrepo.Place{Dir: c.tree, GitDir: c.gitDir, WorkTree: c.tree, IndexFile: c.index}
	if at.GitDir == "" {
		at.GitDir = r.common
	}
	if at.Dir == "" {
		at.Dir = r.common
	}
	cmd := gitrepo.Act(ctx, os.Environ(), at, over, args...)
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1")
	cmd.Env = append(cmd.Env, c.env...)
	if r.held != nil {
		cmd.ExtraFiles = []*os.File{r.held}
	}
	return execute(ctx, cmd, c, args)
}

// execute runs git and returns what it prints, unless that goes elsewhere.
func execute(ctx context.Context, cmd *exec.Cmd, c call, args []string) (string, error) {
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if c.out != nil {
		cmd.Stdout = c.out
	}
	if c.in != nil {
		cmd.Stdin = bytes.NewReader(c.in)
	}
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return "", errors.New("git is not installed, and tasks need it")
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", &Error{args, errs.String(), err}
	}
	return out.String(), nil
}
