// Package worktree manages the git work tree of a task: it creates one on a new
// branch from a base, compares it with that base, commits and removes it. It
// never reads or writes the person's work tree. Git runs no program that a
// repository or a step provides: no hooks, drivers or monitors; the person's
// filters and signing apply, as in their other work trees. Call Open, then
// Repo.Add.
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

// baseSettings is git's configuration on top of the repository's: it ignores caches of
// unchanged files, and checks everything.
var baseSettings = []gitrepo.Setting{
	{Key: "core.untrackedCache", Value: "false"}, {Key: "core.fileMode", Value: "true"}, {Key: "core.symlinks", Value: "true"}, {Key: "core.trustctime", Value: "true"},
	{Key: "core.checkStat", Value: "default"}, {Key: "core.ignoreStat", Value: "false"}, {Key: "core.sparseCheckout", Value: "false"}, {Key: "core.quotePath", Value: "false"},
	{Key: "core.filesRefLockTimeout", Value: "20000"}, {Key: "core.packedRefsTimeout", Value: "20000"}, {Key: "core.splitIndex", Value: "false"}, {Key: "index.sparse", Value: "false"},
	{Key: "diff.ignoreSubmodules", Value: "none"}, {Key: "diff.orderFile", Value: "/dev/null"}, {Key: "checkout.workers", Value: "1"},
}

// Repo is a repository for tasks.
type Repo struct {
	Dir      string // of the person's work tree; only git's folder in it is changed
	common   string // git's folder
	excludes string // the person's global ignore patterns
	identity []string
	signs    bool              // the person signs commits
	over     []gitrepo.Setting // git's configuration; nil: read each time
	held     *os.File          // the lock of alone, which git inherits
}

// Error is an error of git, with its output.
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
	gitDir string   // "" is the repository's
	tree   string   // "" none
	index  string   // "" the work tree's
	env    []string // additional
	in     []byte
	out    io.Writer // "": returned
}

// git runs git on c's folders.
func (r Repo) git(ctx context.Context, c call, args ...string) (string, error) {
	over := r.over
	if over == nil {
		var err error
		if over, err = r.overrides(ctx); err != nil {
			return "", err
		}
	}
	return retryHalfMade(ctx, func() (string, error) { return r.run(ctx, c, over, args) })
}

// Settled returns r with its present settings. Use it only where nothing can
// change them: a sandbox confines what runs.
func (r Repo) Settled(ctx context.Context) (Repo, error) {
	var err error
	r.over, err = r.overrides(ctx)
	return r, err
}

// overrides returns quiet, and settings that disable the programs in the
// repository's configuration.
func (r Repo) overrides(ctx context.Context) ([]gitrepo.Setting, error) {
	c, err := r.config(ctx)
	if err != nil {
		return nil, err
	}
	over := []gitrepo.Setting{{Key: "core.excludesFile", Value: r.excludes}, trusted}
	return slices.Concat(over, baseSettings, c.Programs()), nil
}

// trusted lets git read a repository that the person's git, in Open, trusts.
var trusted = gitrepo.Setting{Key: "safe.directory", Value: "*"}

// config reads the configuration of the repository.
func (r Repo) config(ctx context.Context) (*gitrepo.Config, error) {
	c, err := retryHalfMade(ctx, func() (*gitrepo.Config, error) {
		return gitrepo.ReadConfig(ctx, os.Environ(), gitrepo.Place{Dir: r.common, GitDir: r.common})
	})
	if err != nil {
		return nil, fmt.Errorf("read the settings of %s: %w", r.Dir, err)
	}
	return c, nil
}

// halfMade is part of git's error about a work tree that another process is
// creating.
const halfMade = "commondir"

// exclusive makes others that create or remove work trees of the repository wait
// while f runs, which git does not. A git started by f keeps them waiting even
// if this process is killed.
func (r Repo) exclusive(ctx context.Context, f func(Repo) error) error {
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

// retryHalfMade runs git until no work tree is half made.
func retryHalfMade[T any](ctx context.Context, git func() (T, error)) (T, error) {
	for tries := 1; ; tries++ {
		out, err := git()
		if tries > 20 || err == nil || !strings.Contains(err.Error(), halfMade) || ctx.Err() != nil {
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

// execute runs git and returns its output, unless that goes elsewhere.
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
			return "", errors.New("git is not installed, but tasks need it")
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", &Error{args, errs.String(), err}
	}
	return out.String(), nil
}
