package fsys

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// change is one writing call on "a", which holds "old" before it or nothing.
type change struct {
	name string
	from string // "" for absent
	want string // "" for absent
	run  func(d *Disk, keep Keep) error
}

var changes = []change{
	{"make", "", "new", func(d *Disk, k Keep) error { return d.Replace("a", Content{Bytes: []byte("new")}, absent, k) }},
	{"replace", "old", "new", func(d *Disk, k Keep) error {
		return d.Replace("a", Content{Bytes: []byte("new"), Mode: 0o600}, is("old"), k)
	}},
	{"link", "", "-> new", func(d *Disk, k Keep) error { return d.Symlink("a", "new", absent, k) }},
	{"replace by link", "old", "-> new", func(d *Disk, k Keep) error { return d.Symlink("a", "new", is("old"), k) }},
	{"remove", "old", "", func(d *Disk, k Keep) error { return d.Remove("a", is("old"), k) }},
}

// look returns what is at p: bytes, "-> target", or "" for nothing.
func look(t *testing.T, p string) string {
	t.Helper()
	if to, err := os.Readlink(p); err == nil {
		return "-> " + to
	}
	b, err := os.ReadFile(p)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(b)
}

// survives reports whether any file of the tree still holds s.
func survives(t *testing.T, dir, s string) bool {
	t.Helper()
	for _, n := range strings.Fields(names(t, dir)) {
		if look(t, filepath.Join(dir, n)) == s {
			return true
		}
	}
	return s == ""
}

func attempt(run func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(Killed); !ok {
				panic(r)
			}
			err = fmt.Errorf("killed")
		}
	}()
	return run()
}

// TestAFaultAtAnyOperationLeavesTheOldOrTheNewAndLosesNothing runs every change
// with a fault at its first, second, … operation, until none is hit.
func TestAFaultAtAnyOperationLeavesTheOldOrTheNewAndLosesNothing(t *testing.T) {
	noExchange := func(h Hook) Hook {
		return func(op Op) error {
			if err := h(op); err != nil {
				return err
			}
			if op.Name == "exchange" || op.Name == "link" {
				return syscall.ENOSYS
			}
			return nil
		}
	}
	whole := func(h Hook) Hook { return h }
	for _, keeping := range []string{"no keep", "keep by move", "keep by reading"} {
		for _, c := range changes {
			for fault, wrap := range map[string]error{"io": syscall.EIO, "full": syscall.ENOSPC, "short": io.ErrShortWrite, "kill": nil} {
				for system, lacking := range map[string]func(Hook) Hook{"exchange": whole, "no exchange": noExchange} {
					t.Run(fmt.Sprint(c.name, "/", keeping, "/", fault, "/", system), func(t *testing.T) {
						for n := int64(1); ; n++ {
							if n > 40 {
								t.Fatal("no end")
							}
							if faulted := tryFault(t, c, keeping, n, wrap, lacking); !faulted {
								if n < 3 {
									t.Fatalf("only %d operations seen", n-1)
								}
								return
							}
						}
					})
				}
			}
		}
	}
}

func tryFault(t *testing.T, c change, keeping string, n int64, fault error, lacking func(Hook) Hook) bool {
	t.Helper()
	w := newWorld(t, nil)
	at := filepath.Join(w.project, "a")
	if c.from != "" {
		put(t, at, c.from)
	}
	hook, seen := FailAt(n, fault)
	if fault == nil {
		hook, seen = PanicAt(n)
	}
	d := w.with(t, lacking(hook))
	var keep Keep
	switch keeping {
	case "keep by move":
		keep = func(old LogicalPath) error { return d.Move(old, "kept") }
	case "keep by reading":
		keep = func(old LogicalPath) error { _, err := d.ReadFile(old); return err }
	}
	err := attempt(func() error { return c.run(d, keep) })
	got, faulted := look(t, at), seen.Load() >= n
	// Remove has no entry in place from its first rename on: its old bytes lie
	// beside.
	if got != c.from && got != c.want {
		t.Fatalf("operation %d: found %q, neither old %q nor new %q", n, got, c.from, c.want)
	}
	if (err != nil || keeping == "keep by move") && !survives(t, w.project, c.from) {
		t.Fatalf("operation %d: the old bytes are lost (%v), entries %s", n, err, names(t, w.project))
	}
	if err == nil && got != c.want {
		t.Fatalf("operation %d: no error, yet found %q", n, got)
	}
	if faulted && fault == nil && err == nil {
		t.Fatalf("operation %d: a kill went unnoticed", n)
	}
	temp := filepath.Join(w.project, string(TempName("a", tag)))
	if _, lerr := os.Lstat(temp); lerr == nil && err != nil && fault != nil && !strings.Contains(err.Error(), temp) {
		t.Fatalf("operation %d: %s is left and not named: %v", n, temp, err)
	}
	if err != nil && fault != nil && !errors.Is(err, fault) {
		t.Fatalf("operation %d: error hides its cause: %v", n, err)
	}
	return faulted
}

// Syncing takes long on a real disk: what another program saves meanwhile must
// not be out of sight even for a moment, for they read it again before they
// save more.
func TestAChangeWhileTheNewBytesAreSyncedIsNeverOutOfSight(t *testing.T) {
	var w world
	swapped := 0
	w = newWorld(t, func(op Op) error {
		switch op.Name {
		case "fsync":
			put(t, filepath.Join(w.project, "saving"), "theirs")
			if err := os.Rename(filepath.Join(w.project, "saving"), filepath.Join(w.project, "a")); err != nil {
				t.Error(err)
			}
		case "exchange":
			swapped++
		}
		return nil
	})
	put(t, filepath.Join(w.project, "a"), "one")
	err := w.Replace("a", Content{Bytes: []byte("new")}, is("one"), nil)
	if !errors.Is(err, ErrChanged) || get(t, filepath.Join(w.project, "a")) != "theirs" || names(t, w.project) != "a" {
		t.Errorf("%v, entries %s", err, names(t, w.project))
	}
	if swapped != 0 {
		t.Errorf("it was swapped %d times", swapped)
	}
	// Written anew with the same bytes, it is what was expected.
	put(t, filepath.Join(w.project, "a"), "theirs")
	if err := w.Replace("a", Content{Bytes: []byte("new")}, is("theirs"), nil); err != nil || get(t, filepath.Join(w.project, "a")) != "new" {
		t.Errorf("%v, %q", err, get(t, filepath.Join(w.project, "a")))
	}
}
