package gitconfig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/reconcile"
)

// The scopes of one repository's git configuration. A linked work tree shares
// local with its repository; worktree belongs to it alone, and counts only if
// extensions.worktreeConfig is on. A relative core.hooksPath starts at the top
// of each work tree, so that the shared value serves all.
const (
	local    = "local"
	worktree = "worktree"
)

// config is git's configuration in the project's folder.
type config struct {
	run     reconcile.Runner
	dir     string // physical
	entries []entry
}

type entry struct{ scope, key, value string }

// read asks git once for everything. Work trees and submodules, where .git is a
// file, are left to git.
func read(ctx context.Context, r reconcile.ReadEnv) (config, error) {
	if r.Run == nil {
		return config{}, errors.New("git config cannot be read: no program may be run here")
	}
	dir, err := r.FS.Physical(".")
	if err != nil {
		return config{}, fmt.Errorf("git config cannot be read: %w", err)
	}
	c := config{run: r.Run, dir: dir}
	b, err := c.run.Run(ctx, dir, "git", "config", "--list", "--show-scope", "-z")
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return config{}, errors.New("git config cannot be read: git is not installed")
	case err != nil:
		return config{}, fmt.Errorf("git config cannot be read in %s: %s", dir, message(err))
	}
	fields := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		key, value, _ := strings.Cut(fields[i+1], "\n")
		c.entries = append(c.entries, entry{fields[i], key, value})
	}
	if !slices.ContainsFunc(c.entries, func(e entry) bool { return e.scope == local }) { // every repository has some
		if _, err := c.run.Run(ctx, dir, "git", "rev-parse", "--git-dir"); err != nil {
			return config{}, fmt.Errorf("git sees no repository in %s (%s); run git init, or git status to see why", dir, message(err))
		}
	}
	return c, nil
}

// values returns the values of key in scope. The names of a section and of a
// variable ignore case; what is between them does not.
func (c config) values(scope, key string) []string {
	var out []string
	for _, e := range c.entries {
		if e.scope == scope && e.key == canonical(key) {
			out = append(out, e.value)
		}
	}
	return out
}

// canonical is key as git lists it.
func canonical(key string) string {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first < 0 {
		return strings.ToLower(key)
	}
	return strings.ToLower(key[:first]) + key[first:last] + strings.ToLower(key[last:])
}

// scope is the scope that values are written to.
func (c config) scope() string {
	on := c.values(local, "extensions.worktreeConfig")
	if len(on) > 0 {
		switch strings.ToLower(on[len(on)-1]) {
		case "true", "yes", "on", "1", "":
			return worktree
		}
	}
	return local
}

// ours is the effective value among those of this repository.
func (c config) ours(key string) (value, scope string, ok bool) {
	for _, scope := range []string{worktree, local} {
		if v := c.values(scope, key); len(v) > 0 {
			return v[len(v)-1], scope, true
		}
	}
	return "", "", false
}

// outside is the value that a person set for all repositories.
func (c config) outside(key string) (value, scope string, ok bool) {
	for _, scope := range []string{"global", "system"} {
		if v := c.values(scope, key); len(v) > 0 {
			return v[len(v)-1], scope, true
		}
	}
	return "", "", false
}

// A lock is waited for lockTries times, each time for lockWait: git itself does
// not wait, and holds one for a moment.
const (
	lockTries = 30
	lockWait  = 100 * time.Millisecond
)

// write runs git config. It waits for a lock, which a running or a killed git
// holds; the error names one that stays, and what to do.
func (c config) write(ctx context.Context, scope string, args ...string) error {
	args = append([]string{"--" + scope}, args...)
	for n := 1; ; n++ {
		_, err := c.run.Run(ctx, c.dir, append([]string{"git", "config"}, args...)...)
		if err == nil {
			return nil
		}
		err = fmt.Errorf("git config %s in %s: %s", strings.Join(args, " "), c.dir, message(err))
		lock := c.lock(ctx, scope)
		if lock == "" || ctx.Err() != nil {
			return err
		}
		if _, serr := os.Lstat(lock); serr != nil { // it may have gone since git met it
			if n == 1 {
				continue
			}
			return err
		}
		if n == lockTries {
			return fmt.Errorf("%w; if no git is at work in that repository, a git that was killed left the lock: remove it (rm %s), then run the command again", err, quoted(lock))
		}
		time.Sleep(lockWait)
	}
}

// lock is the physical path of the lock that git takes to write scope; "" if
// git does not tell.
func (c config) lock(ctx context.Context, scope string) string {
	name := "config"
	if scope == worktree {
		name = "config.worktree"
	}
	out, err := c.run.Run(ctx, c.dir, "git", "rev-parse", "--git-path", name)
	at := strings.TrimSuffix(string(out), "\n")
	if err != nil || at == "" {
		return ""
	}
	if !filepath.IsAbs(at) {
		at = filepath.Join(c.dir, at)
	}
	return at + ".lock"
}

// quoted is a path as a shell takes it.
func quoted(p string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+@,", r)
	}
	if strings.IndexFunc(p, func(r rune) bool { return !plain(r) }) < 0 {
		return p
	}
	return "'" + strings.ReplaceAll(p, "'", `'\''`) + "'"
}
