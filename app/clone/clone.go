// Package clone follows the git repository that the folder of the host specs is a
// clone of: it fetches, compares, merges beside the folder, and changes the folder
// only once the result is whole. It loads no spec and prints nothing. Call Make for a
// new clone, Open for one that is there.
package clone

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/gitrepo"
	"aisync.dev/aisync/internal/shellquote"
)

// Options say how git is run.
type Options struct {
	Env      []string
	Terminal bool // git may ask the person for a password
	Named    bool // a flag named the folder: programs in its repository's configuration are not run
	// Chown gives what is written to UID and GID, for root who works for a user.
	Chown    bool
	UID, GID int
}

// Clone is a work tree with the host specs at its top.
type Clone struct {
	Dir string // its folder
	Options
	settings []gitrepo.Setting
}

// ErrNone means that a folder is not the top of a git work tree.
var ErrNone = errors.New("no git clone")

// Open returns the clone in dir. The error wraps ErrNone if dir is none.
func Open(ctx context.Context, dir string, o Options) (*Clone, error) {
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !gitrepo.IsTop(real) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNone)
	}
	if err != nil {
		return nil, err
	}
	c := &Clone{Dir: dir, Options: o}
	if o.Chown {
		c.settings = append(c.settings, gitrepo.Setting{Key: "safe.directory", Value: real})
	}
	if o.Named {
		config, err := gitrepo.ReadConfig(ctx, o.Env, c.at())
		if err != nil {
			return nil, err
		}
		c.settings = append(c.settings, config.Programs()...)
	}
	return c, nil
}

func (c *Clone) at() gitrepo.Place { return gitrepo.Place{Dir: c.Dir} }

// run runs git in dir, without a network, and returns its output.
func (c *Clone) run(ctx context.Context, dir string, args ...string) (string, error) {
	return output(gitrepo.Act(ctx, c.Env, gitrepo.Place{Dir: dir}, c.settings, args...), args[0])
}

// whole is run for a command that changes the clone's files: neither the end of ctx nor
// the death of this process, or a key pressed at its terminal, ends it half-way.
func (c *Clone) whole(ctx context.Context, args ...string) error {
	cmd := gitrepo.Act(context.WithoutCancel(ctx), c.Env, c.at(), c.settings, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	_, err := output(cmd, args[0])
	return err
}

// line is run in the clone for a command that prints one line.
func (c *Clone) line(ctx context.Context, args ...string) (string, error) {
	out, err := c.run(ctx, c.Dir, args...)
	return strings.TrimSpace(out), err
}

// dial runs git in dir with a network. A server that sends nothing for a minute is
// given up.
func dial(ctx context.Context, o Options, dir string, settings []gitrepo.Setting, args ...string) error {
	_, err := dialed(ctx, o, dir, settings, args...)
	return err
}

// dialed is dial for a command that prints something.
func dialed(ctx context.Context, o Options, dir string, settings []gitrepo.Setting, args ...string) (string, error) {
	run := gitrepo.Dial
	if o.Terminal {
		run = gitrepo.DialAsking
	}
	settings = append([]gitrepo.Setting{{Key: "http.lowSpeedLimit", Value: "1"}, {Key: "http.lowSpeedTime", Value: "60"}}, settings...)
	cmd := run(ctx, o.Env, gitrepo.Place{Dir: dir}, settings, args...)
	cmd.WaitDelay = 2 * time.Second
	return output(cmd, args[0])
}

// output runs cmd; its error has what git said.
func output(cmd *exec.Cmd, name string) (string, error) {
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	switch {
	case err == nil:
		return out.String(), nil
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("git is not installed")
	}
	return out.String(), &Error{name, said.String(), err}
}

// Error is a git command that failed.
type Error struct {
	Command string
	Output  string // standard error
	Err     error
}

// Error says what git said, without passwords.
func (e *Error) Error() string {
	var lines []string
	for line := range strings.Lines(e.Output) {
		line = strings.TrimSpace(line)
		for _, word := range []string{"fatal: ", "error: ", "remote: ", "ssh: ", "! "} {
			line = strings.TrimPrefix(line, word)
		}
		line = strings.TrimSuffix(line, ".")
		if line != "" && len(lines) < 4 && !idle.MatchString(line) {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "; ")
	if text == "" {
		text = e.Err.Error()
	}
	return "git " + e.Command + ": " + Shown(text)
}

// idle matches lines of git and ssh that add nothing to the others.
var idle = regexp.MustCompile(`^(Cloning into |hint: |[Ww]arning: |Please make sure you have|and the repository exists|\*\*\* Please tell me|Run$|git config --global |to set your account|Omit --global|To \S+$)`)

// Unwrap returns the error of the process.
func (e *Error) Unwrap() error { return e.Err }

// said reports whether git said one of the texts.
func said(err error, texts ...string) bool {
	var e *Error
	if errors.As(err, &e) {
		for _, t := range texts {
			if strings.Contains(e.Output, t) {
				return true
			}
		}
	}
	return false
}

// refusals are what git prints where a server refuses who asks.
var refusals = []string{"Authentication failed", "Host key verification failed", "could not read Username", "could not read Password", "Permission denied", "HTTP 403", "error: 403", "error: 401", "Invalid username or token"}

// Explained adds to err, what another run of git printed for the source at url, what to
// do where the server refused who asks.
func Explained(err error, url string) error {
	at, ok := strings.CutPrefix(url, "git::")
	if !ok || err == nil || !slices.ContainsFunc(refusals, func(r string) bool { return strings.Contains(err.Error(), r) }) {
		return err
	}
	at, _, _ = strings.Cut(at, "?")
	return advice.New(fmt.Errorf("the server does not let you in: %w", err), "log in as git does: a key for ssh, a credential helper or a token for https; try git ls-remote "+shellquote.Terminal(at))
}

// Denied reports whether a server refused who asked.
func Denied(err error) bool {
	return said(err, refusals...)
}

// Nameless reports whether git does not know who commits.
func Nameless(err error) bool { return said(err, "tell me who you are", "empty ident name") }

// login matches name and password in a URL.
var login = regexp.MustCompile(`([a-z][a-z0-9+.-]*://)[^/@\s']*:[^/@\s']*@`)

// Shown is a text with URLs, without the passwords in them.
func Shown(text string) string { return login.ReplaceAllString(text, "$1") }

// give gives what lies below dir to the person that root works for.
func (o Options) give(dir string) error {
	if !o.Chown {
		return nil
	}
	return filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(p, o.UID, o.GID)
	})
}
