package fsys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestALinkIsTheSameFileAndOverwritesNothing(t *testing.T) {
	root := t.TempDir()
	d, err := New(Options{Root: root, Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "a"), []byte("bytes"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", filepath.Join(root, "s")); err != nil {
		t.Fatal(err)
	}
	if err := d.Link("/a", "/b"); err != nil {
		t.Fatal(err)
	}
	info, err := d.Lstat("/b")
	if err != nil || Links(info) != 2 {
		t.Errorf("%v, %v", info, err)
	}
	if err := d.Link("/a", "/b"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	if err := d.Link("/s", "/c"); !errors.Is(err, ErrBlocked) {
		t.Errorf("of a link: %v", err)
	}
	if err := d.Clone("/a", "/c", 0o444); err != nil && !errors.Is(err, ErrCannotShare) {
		t.Errorf("clone: %v", err)
	}
	if _, err := d.Lstat("/c"); err == nil {
		got, err := d.ReadFile("/c")
		if err != nil || string(got) != "bytes" {
			t.Errorf("the clone holds %q, %v", got, err)
		}
	}
}

func TestOnlyWhatWasSeenIsDiscarded(t *testing.T) {
	root := t.TempDir()
	d, err := New(Options{Root: root, Tag: "t"})
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(root, "a")
	write := func(s string) {
		t.Helper()
		_ = os.Remove(at)
		if err := os.WriteFile(at, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("ours")
	seen, err := d.Lstat("/a")
	if err != nil {
		t.Fatal(err)
	}
	write("theirs")
	if err := d.Discard("/a", seen); !errors.Is(err, ErrChanged) {
		t.Errorf("another file: %v", err)
	}
	if got, _ := os.ReadFile(at); string(got) != "theirs" {
		t.Errorf("it now holds %q", got)
	}
	if seen, err = d.Lstat("/a"); err != nil {
		t.Fatal(err)
	}
	if err := d.Discard("/a", seen); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(root); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
