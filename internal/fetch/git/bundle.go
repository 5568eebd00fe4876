package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Bundle writes the commit that is checked out in the clone dir, with its history, into
// the file out, which must not exist, in git's own form of one file, and returns it.
// https://git-scm.com/docs/gitformat-bundle
func Bundle(ctx context.Context, dir, out string) (id string, err error) {
	if _, err := os.Lstat(filepath.Join(dir, ".git", "shallow")); err == nil {
		return "", errors.New("has a part of its history only (depth): leave depth out of its source")
	}
	g := Source{}.in(dir)
	if id, err = g.commitOf(ctx, "HEAD"); err == nil {
		_, err = g.run(ctx, "bundle", "create", "--quiet", out, "HEAD")
	}
	return id, err
}

// CloneBundle is Clone of s, whose Ref is a commit, out of a file that Bundle made. What
// the file has beside that commit and its history is not used: each object is named by
// its hash, so the file needs no trust.
func CloneBundle(ctx context.Context, s Source, file, dst string) error {
	if !commit.MatchString(s.Ref) {
		return fmt.Errorf("%q is no commit", s.Ref)
	}
	g := s.in(dst)
	if err := g.initialize(ctx, s); err != nil {
		return err
	}
	if _, err := g.run(ctx, "bundle", "unbundle", file); err != nil {
		return err
	}
	id, err := g.commitOf(ctx, s.Ref)
	if err != nil || id != s.Ref {
		return fmt.Errorf("commit %.12s: %w", s.Ref, ErrNoRef)
	}
	if _, err := g.run(ctx, "rev-list", "--objects", "--quiet", id); err != nil {
		return fmt.Errorf("the history of commit %.12s is incomplete: %w", id, err)
	}
	return g.checkout(ctx, id, s.Folder)
}
