// Package git clones a git repository into a folder, at one ref, with the
// machine's git. It never asks for a password, runs no hook and no transport
// that runs commands, fetches no submodule, and gives up a silent host. Call
// Clone.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"aisync.dev/aisync/internal/gitrepo"
)

// Source is a repository at a ref.
type Source struct {
	URL   string        // for git: https://, ssh://, git://, file://
	Ref   string        // a branch, a tag or a commit; "" is the repository's default
	Depth int           // commits of history; 0: all
	Stall time.Duration // time limit without output; 0: a minute

	Folder string // the only folder that is wanted, "" for all; where it is none, all files come
	Beside string // a folder of earlier clones: what one of the same repository has is not fetched again; may be ""
}

var (
	// ErrNoRef means that the repository has no branch, tag or commit with that
	// name.
	ErrNoRef = errors.New("no such branch, tag or commit")
	// ErrGone means that a commit is not, or no longer, in the repository.
	ErrGone = errors.New("not in the repository: its history was rewritten (a forced push), or it is another repository now")
)

// commit matches a full commit id.
var commit = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

// Clone creates the folder dst with the files of s and its history in .git, and
// returns the commit of the ref. Files get the committed bytes, whatever line
// ends and filters this machine configures. After a failure the caller removes
// dst.
func Clone(ctx context.Context, s Source, dst string) (string, error) {
	from := s.lender()
	id, err := s.clone(ctx, dst, from)
	if err == nil || from == "" || ctx.Err() != nil || errors.As(err, new(*StallError)) || errors.Is(err, ErrNoRef) || errors.Is(err, ErrGone) {
		return id, err
	}
	// What was lent may be broken.
	if err := os.RemoveAll(dst); err != nil {
		return "", err
	}
	return s.clone(ctx, dst, "")
}

// clone is Clone with what the clone at from has, "" for none.
func (s Source) clone(ctx context.Context, dst, from string) (string, error) {
	g := s.in(dst)
	if err := g.initialize(ctx, s); err != nil {
		return "", err
	}
	if from != "" {
		if err := g.borrow(ctx, from); err != nil {
			return "", err
		}
	}
	if err := g.fetch(ctx, s); err != nil {
		return "", err
	}
	id, err := g.resolve(ctx, s)
	if err != nil {
		return "", err
	}
	return id, g.checkout(ctx, id, s.Folder)
}

// in is git in the folder dir, for s.
func (s Source) in(dir string) git {
	g := git{dir: dir, url: s.URL, stall: s.Stall}
	if g.stall <= 0 {
		g.stall = time.Minute
	}
	return g
}

// initialize makes the empty repository of a clone of s.
func (g git) initialize(ctx context.Context, s Source) error {
	if err := os.MkdirAll(g.dir, 0o755); err != nil {
		return err
	}
	if _, err := g.run(ctx, "init", "-q", "--template="); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(g.dir, ".git", "info"), 0o755); err != nil {
		return err
	}
	// Filters, such as git-lfs, differ between machines.
	if err := os.WriteFile(filepath.Join(g.dir, ".git", "info", "attributes"), []byte("* -filter\n"), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(g.dir, ".git", origin), []byte(s.digest()), 0o600)
}

// checkout writes the files of the commit id, those of folder alone if it is one.
func (g git) checkout(ctx context.Context, id, folder string) error {
	if folder != "" {
		folder = path.Clean(filepath.ToSlash(folder))
		kind, err := g.run(ctx, "cat-file", "-t", id+":"+folder)
		if err == nil && strings.TrimSpace(string(kind)) == "tree" {
			if _, err := g.run(ctx, "update-ref", "--no-deref", "HEAD", id); err != nil {
				return err
			}
			_, err := g.run(ctx, "checkout", "-q", id, "--", ":(literal)"+folder)
			return err
		}
	}
	_, err := g.run(ctx, "checkout", "-q", "--detach", id)
	return err
}

const (
	branches = "refs/remotes/origin/"
	tags     = "refs/tags/"
	chosen   = branches + "HEAD"
)

// fetch fetches everything that a ref could mean.
func (g git) fetch(ctx context.Context, s Source) error {
	args := []string{"fetch", "--progress", "--prune", "--no-tags", "--no-recurse-submodules"}
	if s.Depth > 0 {
		args = append(args, "--depth", strconv.Itoa(s.Depth))
	}
	args = append(args, "--", s.URL, "+refs/heads/*:"+branches+"*", "+refs/tags/*:"+tags+"*")
	if s.Ref == "" {
		args = append(args, "+HEAD:"+chosen)
	}
	_, err := g.run(ctx, args...)
	return err
}

// resolve returns the commit that s.Ref names.
func (g git) resolve(ctx context.Context, s Source) (string, error) {
	names := []string{chosen}
	switch short, full := strings.CutPrefix(s.Ref, "refs/heads/"); {
	case s.Ref == "":
	case full:
		names = []string{branches + short}
	case strings.HasPrefix(s.Ref, tags):
		names = []string{s.Ref}
	default:
		names = []string{branches + s.Ref, tags + s.Ref}
	}
	var found []string
	for _, name := range names {
		if id, err := g.commitOf(ctx, name); err == nil {
			found = append(found, id)
		}
	}
	switch {
	case len(found) == 2 && found[0] != found[1]:
		return "", fmt.Errorf("%s is both a branch and a tag, of different commits; use ref=refs/heads/%s or ref=refs/tags/%s", s.Ref, s.Ref, s.Ref)
	case len(found) > 0:
		return found[0], nil
	}
	if id, err := g.commitOf(ctx, s.Ref); err == nil {
		return id, nil
	}
	if !commit.MatchString(s.Ref) {
		return "", fmt.Errorf("%q: %w%s", s.Ref, ErrNoRef, g.near(ctx))
	}
	// Many hosts serve commits that no branch contains any more.
	_, err := g.run(ctx, "fetch", "--progress", "--no-tags", "--no-recurse-submodules", "--", s.URL, s.Ref)
	if id, gone := g.commitOf(ctx, s.Ref); gone == nil {
		return id, nil
	}
	if stalled := new(StallError); errors.As(err, &stalled) || ctx.Err() != nil {
		return "", err
	}
	return "", fmt.Errorf("commit %.12s: %w", s.Ref, ErrGone)
}

func (g git) commitOf(ctx context.Context, name string) (string, error) {
	out, err := g.run(ctx, "rev-parse", "--verify", "-q", "--end-of-options", name+"^{commit}")
	return strings.TrimSpace(string(out)), err
}

// near lists the refs that exist.
func (g git) near(ctx context.Context) string {
	const most = 8
	out, err := g.run(ctx, "for-each-ref", "--count="+strconv.Itoa(most+1), "--format=%(refname:lstrip=2)", branches, tags)
	names := strings.Fields(strings.ReplaceAll(string(out), "origin/", ""))
	if err != nil || len(names) == 0 {
		return "; the repository is empty"
	}
	if len(names) > most {
		names = append(names[:most], "…")
	}
	return "; known: " + strings.Join(names, ", ")
}

// git runs git in one repository.
type git struct {
	dir, url string
	stall    time.Duration
}

// settings make every machine write the same bytes.
var settings = []gitrepo.Setting{
	{Key: "core.autocrlf", Value: "false"}, {Key: "core.eol", Value: "lf"}, {Key: "core.attributesFile", Value: "/dev/null"},
	{Key: "core.symlinks", Value: "true"}, {Key: "core.fileMode", Value: "true"},
}

// run runs a git command and returns its output. It kills one that is silent on
// both streams, with all its children.
func (g git) run(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := gitrepo.Dial(ctx, os.Environ(), gitrepo.Place{Dir: g.dir}, settings, args...)
	inGroup(cmd)
	cmd.WaitDelay = 2 * time.Second
	alive := time.AfterFunc(g.stall, func() { cancel(&StallError{g.stall}) })
	defer alive.Stop()
	var out, complaint watched
	out.alive, complaint.alive = func() { alive.Reset(g.stall) }, func() { alive.Reset(g.stall) }
	complaint.most = 64 << 10
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err := cmd.Run()
	switch cause := context.Cause(ctx); {
	case err == nil:
		return out.Bytes(), nil
	case errors.Is(err, exec.ErrNotFound):
		return nil, errors.New("git is not installed")
	case cause != nil:
		return nil, cause
	}
	if text := said(complaint.String()); text != "" {
		return out.Bytes(), fmt.Errorf("git %s: %s", args[0], text)
	}
	return out.Bytes(), fmt.Errorf("git %s: %w", args[0], err)
}

// said is git's error message, without its progress.
func said(text string) string {
	var lines []string
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = strings.TrimSpace(line)
		for _, word := range []string{"fatal: ", "error: ", "remote: "} {
			if rest, ok := strings.CutPrefix(line, word); ok && len(lines) < 4 && !progress.MatchString(line) {
				lines = append(lines, rest)
				break
			}
		}
	}
	return strings.Join(lines, "; ")
}

// progress matches a progress line.
var progress = regexp.MustCompile(`: +\d+%|, done\.$|^remote: (Total|Enumerating|Counting|Compressing) `)

// StallError means that git, or its host, fell silent.
type StallError struct{ After time.Duration }

func (e *StallError) Error() string {
	return fmt.Sprintf("no output from the host for %s", e.After)
}

// Timeout and Temporary make it a net.Error: a retry may succeed.
func (e *StallError) Timeout() bool   { return true }
func (e *StallError) Temporary() bool { return true }

// watched keeps what is written to it, only the end if most is not 0, and
// signals each write.
type watched struct {
	bytes.Buffer
	mu    sync.Mutex
	most  int
	alive func()
}

var _ io.Writer = (*watched)(nil)

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alive()
	if w.most > 0 && w.Len()+len(p) > w.most {
		w.Next(min(w.Len(), w.Len()+len(p)-w.most))
	}
	return w.Buffer.Write(p)
}
