// Package tree is the git work tree that a task is carried out in: made off a
// base on a branch of its own, compared with that base, committed, removed. It
// never reads or writes the work tree of the person. Git is run so that nothing
// which a repository, or a step, brings along runs as a program: no hooks, no
// filters, no drivers, no monitors. Start reading at Open and Repo.Add.
package tree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// quiet is the configuration that git runs with, over what is in the
// repository: it runs no program, believes no record of what has not changed,
// and tidies nothing up.
var quiet = []string{
	"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.untrackedCache=false", "core.pager=cat", "core.editor=false", "core.alternateRefsCommand=",
	"core.fileMode=true", "core.symlinks=true", "core.trustctime=true", "core.checkStat=default", "core.ignoreStat=false", "core.sparseCheckout=false",
	"core.attributesFile=/dev/null", "core.quotePath=false", "core.filesRefLockTimeout=20000", "core.packedRefsTimeout=20000", "core.splitIndex=false", "index.sparse=false",
	"gc.auto=0", "maintenance.auto=false", "commit.gpgSign=false", "tag.gpgSign=false", "submodule.recurse=false", "diff.external=", "diff.ignoreSubmodules=none", "diff.orderFile=/dev/null",
	"interactive.diffFilter=", "credential.helper=", "advice.detachedHead=false", "protocol.allow=never", "checkout.workers=1", "log.showSignature=false",
}

// programs are the names of settings that make git run something.
var programs = regexp.MustCompile(`(?is)^(filter\..*\.(clean|smudge|process|required)|diff\..*\.(command|textconv|cachetextconv)|merge\..*\.driver|core\.(sshcommand|gitproxy|askpass)|gpg\..*program|trailer\..*\.(command|cmd)|remote\..*\.(uploadpack|receivepack|vcs)|uploadpack\.packobjectshook)$`)

// Repo is a repository as tasks use it.
type Repo struct {
	Dir      string // of the person's work tree; only git's own folder in it is touched
	common   string // git's own folder
	excludes string // what the person has git ignore everywhere
	identity []string
	over     []string // the settings that git runs with; nil: they are looked for each time
	held     *os.File // the lock of alone, which git has too
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
	return r.bare(ctx, c, over, args...)
}

// Settled returns r with the settings that it has now. It is for where nothing
// can change them: what runs does so in a sandbox.
func (r Repo) Settled(ctx context.Context) (Repo, error) {
	var err error
	r.over, err = r.overrides(ctx)
	return r, err
}

// overrides is quiet, and empty values for every setting of the repository
// that names a program.
func (r Repo) overrides(ctx context.Context) ([]string, error) {
	names, err := r.bare(ctx, call{}, nil, "config", "--list", "--includes", "--name-only", "-z")
	if err != nil {
		return nil, fmt.Errorf("read the settings of %s: %w", r.Dir, err)
	}
	over := append([]string{"core.excludesFile=" + r.excludes, "safe.directory=*"}, quiet...)
	for name := range strings.SplitSeq(names, "\x00") {
		switch {
		case !programs.MatchString(name):
		case strings.HasSuffix(strings.ToLower(name), ".required"), strings.HasSuffix(strings.ToLower(name), ".cachetextconv"):
			over = append(over, name+"=false")
		default:
			over = append(over, name+"=")
		}
	}
	return over, nil
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
	for {
		err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for other work trees to be made: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for other work trees to be made: %w", context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
	r.held = lock
	return f(r)
}

func (r Repo) bare(ctx context.Context, c call, over []string, args ...string) (string, error) {
	for tries := 1; ; tries++ {
		out, err := r.run(ctx, c, over, args)
		var e *Error
		if tries > 20 || !errors.As(err, &e) || !strings.Contains(e.Said, half) || ctx.Err() != nil {
			return out, err
		}
		time.Sleep(50 * time.Millisecond) // somebody else's, who does not wait for our lock
	}
}

func (r Repo) run(ctx context.Context, c call, over, args []string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, 10*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "git", args...)
	gitDir := c.gitDir
	if gitDir == "" {
		gitDir = r.common
	}
	cmd.Dir = c.tree
	if cmd.Dir == "" {
		cmd.Dir = r.common
	}
	cmd.Env = append(cleaned(), "GIT_DIR="+gitDir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=", "LC_ALL=C", "GIT_CONFIG_COUNT="+strconv.Itoa(len(over)))
	if c.tree != "" {
		cmd.Env = append(cmd.Env, "GIT_WORK_TREE="+c.tree)
	}
	if c.index != "" {
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+c.index)
	}
	for i, pair := range over {
		// A name may hold = itself; no value of ours does, but a path's.
		at := strings.LastIndexByte(pair, '=')
		if strings.HasPrefix(pair, "core.excludesFile=") {
			at = len("core.excludesFile")
		}
		cmd.Env = append(cmd.Env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, pair[:at]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, pair[at+1:]))
	}
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

// cleaned is the environment without git's variables.
func cleaned() []string {
	return slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "GIT_") })
}

// elsewhere are the variables that make git look at other places than it is
// told, as in a hook.
var elsewhere = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX"}

// personal is the person's environment for git in a given folder.
func personal() []string {
	return slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(elsewhere, name)
	})
}
