package fsys

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A double: what a file system is cannot be had at will.
func bitsOf(is keeps) *Bits { return &Bits{ask: func(string, bool) keeps { return is }} }

func TestTheExecutableBitCountsWhereItIsKept(t *testing.T) {
	file := func(name string, mode fs.FileMode) string {
		path := filepath.Join(t.TempDir(), "above", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	beside := func(path, name string, mode fs.FileMode) {
		path = filepath.Join(filepath.Dir(path), name)
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if !new(Bits).Kept(file("a", 0o755), 0o755) {
		t.Error("not kept on the file system of the tests")
	}
	for _, is := range []keeps{kept, notKept} {
		at := file("a", 0o755)
		beside(at, "b", 0o644)
		if got := bitsOf(is).Kept(at, 0o755); got != (is == kept) {
			t.Errorf("%d: kept %v", is, got)
		}
	}
	for _, c := range []struct {
		name       string
		mode       fs.FileMode
		near, over fs.FileMode // 0: none
		kept       bool
	}{
		{"one that is plain shows that this one was made executable", 0o755, 0o644, 0, true},
		{"and so does one above", 0o755, 0o755, 0o644, true},
		{"one that is executable shows that this one was made plain", 0o644, 0o755, 0, true},
		{"and so does a private one", 0o644, 0o600, 0, true},
		{"all executable means nothing", 0o777, 0o777, 0o777, false},
		{"a file that is only to be read is no other", 0o777, 0o555, 0o777, false},
		{"none executable means nothing", 0o644, 0o644, 0o444, false},
	} {
		at := file("a", c.mode)
		if err := os.Chmod(at, c.mode); err != nil {
			t.Fatal(err)
		}
		beside(at, "near", c.near)
		if c.over != 0 {
			beside(filepath.Dir(at), "over", c.over)
		}
		// What lies above the test's own folder is not the test's.
		b := bitsOf(unsure)
		b.seen = map[string]modes{"/": nil}
		for up := filepath.Dir(filepath.Dir(filepath.Dir(at))); up != "/"; up = filepath.Dir(up) {
			b.seen[up] = nil
		}
		if got := b.Kept(at, c.mode); got != c.kept {
			t.Errorf("%s: kept %v", c.name, got)
		}
	}
}

func TestASourceSaysWhatRunsItWhereNoModesAreKept(t *testing.T) {
	script, text := []byte("#!/bin/sh\n"), []byte("text\n")
	for _, c := range []struct {
		is      keeps
		content []byte
		mode    fs.FileMode
		want    fs.FileMode
	}{
		{notKept, text, 0o777, 0o666}, {notKept, script, 0o777, 0o777}, {notKept, script, 0o644, 0o755}, {notKept, text, 0o644, 0o644},
		{kept, text, 0o755, 0o755}, {kept, script, 0o644, 0o644},
	} {
		if got := bitsOf(c.is).OfSource("/x", c.content, c.mode); got != c.want {
			t.Errorf("%d %q %o: %o, want %o", c.is, c.content, c.mode, got, c.want)
		}
	}
}
