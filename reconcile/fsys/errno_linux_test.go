package fsys_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/internal/crash"
	"aisync.dev/aisync/reconcile/fsys"
)

// failing is run while each system call of one name fails with errno.
func failing(t *testing.T, errno syscall.Errno, call string, run func() error) error {
	t.Helper()
	got, refused := make(chan error), make(chan error, 1)
	go func() { // its thread ends with it
		if err := crash.FailSyscalls(errno, call); err != nil {
			refused <- err
		}
		got <- run()
	}()
	err := <-got
	if len(refused) > 0 {
		t.Skipf("system calls cannot be made to fail here: %v", <-refused)
	}
	return err
}

// An error of the disk says nothing about what is there: it is neither absence
// nor something in the way.
func TestAnErrorOfTheDiskIsNeitherAbsentNorBlocked(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"home/me/dotfiles/claude", "home/me/plain"} {
		if err := os.MkdirAll(filepath.Join(top, p), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for at, to := range map[string]string{".claude": "dotfiles/claude", "chain": ".claude", "l": "x", "there": "dotfiles"} {
		if err := os.Symlink(to, filepath.Join(top, "home/me", at)); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{"dotfiles/claude/f", "plain/f"} {
		if err := os.WriteFile(filepath.Join(top, "home/me", p), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lstat := func(p fsys.LogicalPath) func(*fsys.Disk) error {
		return func(d *fsys.Disk) error { _, err := d.Lstat(p); return err }
	}
	for _, c := range []struct {
		name, call string
		look       func(*fsys.Disk) error
	}{
		{"a link above", "readlinkat", lstat("/home/me/.claude/f")},
		{"a link to a link", "readlinkat", lstat("/home/me/chain/f")},
		{"a link within a way", "readlinkat", lstat("/home/me/there/claude/f")},
		{"a folder above", "openat", lstat("/home/me/plain/f")},
		{"the file", "openat", func(d *fsys.Disk) error { _, err := d.ReadFile("/home/me/plain/f"); return err }},
		{"where a link is, the file", "openat", func(d *fsys.Disk) error { _, err := d.ReadFile("/home/me/l"); return err }},
		{"the link itself", "readlinkat", func(d *fsys.Disk) error { _, err := d.Readlink("/home/me/.claude"); return err }},
		{"a folder's list", "getdents64", func(d *fsys.Disk) error { _, err := d.ReadDir("/home/me/plain"); return err }},
		{"the physical place", "readlinkat", func(d *fsys.Disk) error { _, err := d.Physical("/home/me/.claude/f"); return err }},
		{"a write", "readlinkat", func(d *fsys.Disk) error {
			return d.Remove("/home/me/.claude/f", fsys.Expect{Digest: fsys.Digest([]byte("x"))}, nil)
		}},
	} {
		for _, errno := range []syscall.Errno{syscall.EIO, syscall.ESTALE, syscall.ETIMEDOUT} {
			d, err := fsys.New(fsys.Options{Root: top, Home: "/home/me", Tag: "t"})
			if err == nil {
				_, err = d.Lstat("/home/me/dotfiles") // the way there is held open, as in real use
			}
			if err != nil {
				t.Fatal(err)
			}
			err = failing(t, errno, c.call, func() error { return c.look(d) })
			if !errors.Is(err, errno) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fsys.ErrBlocked) || errors.Is(err, fsys.ErrEscapes) || errors.Is(err, fsys.ErrChanged) {
				t.Errorf("%s, %v: %v", c.name, errno, err)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(top, "home/me/dotfiles/claude/f")); err != nil {
		t.Error(err)
	}
}

func TestAnAttributeThatCannotBeReadIsNotLost(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(top, "f")
	if err := os.WriteFile(at, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(at, "user.note", []byte("mine"), 0); err != nil {
		t.Skipf("the file system has no extended attributes: %v", err)
	}
	for call, says := range map[string]string{"flistxattr": "extended attributes of " + at, "fgetxattr": "extended attribute user.note of " + at} {
		for _, errno := range []syscall.Errno{syscall.EIO, syscall.EACCES} {
			d, err := fsys.New(fsys.Options{Project: top, Tag: "t"})
			if err != nil {
				t.Fatal(err)
			}
			err = failing(t, errno, call, func() error {
				return d.Replace("f", fsys.Content{Bytes: []byte("new")}, fsys.Expect{Digest: fsys.Digest([]byte("old"))}, nil)
			})
			if !errors.Is(err, errno) || !strings.Contains(err.Error(), says) {
				t.Errorf("%s, %v: %v", call, errno, err)
			}
			value := make([]byte, 10)
			n, err := unix.Getxattr(at, "user.note", value)
			text, rerr := os.ReadFile(at)
			list, lerr := os.ReadDir(top)
			if err := errors.Join(err, rerr, lerr); err != nil || string(value[:max(n, 0)]) != "mine" || string(text) != "old" || len(list) != 1 {
				t.Errorf("%s, %v: %v, %q with %q beside %v", call, errno, err, text, value[:max(n, 0)], list)
			}
		}
	}
}
