package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/task/policy"
)

// Write puts a file below the work tree, making its folders. It goes through no
// link: what a path says is where it is written. With more it is added at the
// end of what is there.
func (t *Tree) Write(name, text string, more bool) error {
	if name == "" || path.IsAbs(name) || path.Clean(name) != name || !filepath.IsLocal(filepath.FromSlash(name)) || policy.GitsOwn(name) {
		return &policy.Violation{Path: name, Text: "is no path below the repository that a task may write"}
	}
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	elements := strings.Split(name, "/")
	for i := range elements {
		at := path.Join(elements[:i+1]...)
		info, err := root.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if i < len(elements)-1 {
				if err := root.Mkdir(at, 0o755); err != nil {
					return err
				}
			}
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			return &policy.Violation{Path: name, Text: fmt.Sprintf("goes through a link (%q)", at)}
		case i < len(elements)-1 && !info.IsDir(), i == len(elements)-1 && !info.Mode().IsRegular():
			return fmt.Errorf("write %s: %s is not what it would have to be (%s)", name, at, info.Mode())
		}
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if more {
		flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	f, err := root.OpenFile(name, flags, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// marked is the index of the last Mark.
func (t *Tree) marked() string { return filepath.Join(t.admin, "aisync-mark") }

// Mark remembers the work tree as it is now, for Since and Reset.
func (t *Tree) Mark(ctx context.Context) error {
	now, err := t.walk()
	if err != nil {
		return err
	}
	if err := t.copyIndex(t.marked()); err != nil {
		return err
	}
	var paths strings.Builder
	for name := range union(t.first, now) {
		was, before := t.first[name]
		is, there := now[name]
		if file := there && !is.mode.IsDir() || before && !was.mode.IsDir(); file && (before != there || was != is) && !t.inSubmodule(name) {
			paths.WriteString(name + "\x00")
		}
	}
	if _, err := t.git(ctx, call{index: t.marked(), in: []byte(paths.String())}, "update-index", "--add", "--remove", "--replace", "-z", "--stdin"); err != nil {
		return fmt.Errorf("remember the work tree: %w", err)
	}
	t.last = now
	return nil
}

// Reset puts the work tree back to what it was at the last Mark.
func (t *Tree) Reset(ctx context.Context) error {
	if err := os.WriteFile(filepath.Join(t.Dir, ".git"), []byte(t.link), 0o644); err != nil {
		return err
	}
	now, err := t.walk()
	if err != nil {
		return err
	}
	var gone []string // what is to be removed, the innermost first
	var back []string
	for name := range union(t.last, now) {
		was, before := t.last[name]
		is, there := now[name]
		if was == is && before == there {
			continue
		}
		if there && (!before || was.mode.Type() != is.mode.Type()) {
			gone = append(gone, name)
		}
		if before && !was.mode.IsDir() {
			back = append(back, name)
		}
	}
	slices.Sort(gone)
	slices.Reverse(gone)
	for _, name := range gone {
		if err := os.Remove(filepath.Join(t.Dir, filepath.FromSlash(name))); err != nil {
			return fmt.Errorf("put the work tree back: %w", err)
		}
	}
	for name, was := range t.last {
		if is, there := now[name]; was.mode.IsDir() && (!there || !is.mode.IsDir()) {
			if err := os.MkdirAll(filepath.Join(t.Dir, filepath.FromSlash(name)), 0o755); err != nil {
				return fmt.Errorf("put the work tree back: %w", err)
			}
		}
	}
	if len(back) > 0 {
		if _, err := t.git(ctx, call{index: t.marked(), in: []byte(strings.Join(back, "\x00") + "\x00")}, "checkout-index", "--force", "-z", "--stdin"); err != nil {
			return fmt.Errorf("put the work tree back: %w", err)
		}
	}
	t.last, err = t.walk()
	return err
}
