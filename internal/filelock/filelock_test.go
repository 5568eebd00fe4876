package filelock

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// open opens a file, which locks by itself: two opens are as two processes.
func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestTry(t *testing.T) {
	for _, c := range []struct {
		first, second Kind
		want          error
	}{{Exclusive, Exclusive, ErrBusy}, {Exclusive, Shared, ErrBusy}, {Shared, Exclusive, ErrBusy}, {Shared, Shared, nil}} {
		path := filepath.Join(t.TempDir(), "lock")
		a, b := open(t, path), open(t, path)
		if err := Try(a, c.first); err != nil {
			t.Fatal(err)
		}
		if err := Try(b, c.second); !errors.Is(err, c.want) {
			t.Errorf("%v: %v", c, err)
		}
		if err := Unlock(a); err != nil {
			t.Error(err)
		}
		if err := Try(b, c.second); err != nil {
			t.Errorf("%v: after the unlock: %v", c, err)
		}
	}
	closed := open(t, filepath.Join(t.TempDir(), "lock"))
	closed.Close()
	if err := Try(closed, Shared); err == nil || errors.Is(err, ErrBusy) {
		t.Errorf("a closed file: %v", err)
	}
}

func TestWaitEndsWithTheHolderOrTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder := open(t, path)
	if err := Wait(t.Context(), holder, Exclusive); err != nil {
		t.Fatal(err)
	}
	if err := WaitFor(20*time.Millisecond, open(t, path), Shared); !errors.Is(err, ErrBusy) {
		t.Errorf("after a timeout: %v", err)
	}
	cause := errors.New("called off")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
	if err := Wait(ctx, open(t, path), Exclusive); !errors.Is(err, cause) {
		t.Errorf("after the end of the context: %v", err)
	}
	for _, ctx := range []context.Context{context.Background(), t.Context()} {
		next := open(t, path)
		had := make(chan error)
		go func() { had <- Wait(ctx, next, Exclusive) }()
		select {
		case err := <-had:
			t.Fatalf("a lock that is held was taken: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
		if err := Unlock(holder); err != nil {
			t.Fatal(err)
		}
		if err := <-had; err != nil {
			t.Fatal(err)
		}
		holder = next
	}
}

// A wait that was called off may get the lock yet: it must give it back, even
// where the caller has not closed the file.
func TestCancelledWaitHoldsNoLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder, waiting := open(t, path), open(t, path)
	if err := Try(holder, Exclusive); err != nil {
		t.Fatal(err)
	}
	if err := WaitFor(time.Millisecond, waiting, Exclusive); !errors.Is(err, ErrBusy) {
		t.Fatal(err)
	}
	if err := Unlock(holder); err != nil {
		t.Fatal(err)
	}
	if err := WaitFor(10*time.Second, open(t, path), Exclusive); err != nil {
		t.Error(err)
	}
}

func TestChildHoldsInheritedLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f := open(t, path)
	if err := Try(f, Exclusive); err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sleep", "60")
	child.ExtraFiles = []*os.File{f}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill() }()
	f.Close()
	if err := Try(open(t, path), Shared); !errors.Is(err, ErrBusy) {
		t.Errorf("while the child lives: %v", err)
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	if err := Try(open(t, path), Exclusive); err != nil {
		t.Errorf("after its end: %v", err)
	}
}

func TestCurrent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f := open(t, path)
	check := func(what string, want bool) {
		t.Helper()
		if got, err := Current(f, path); got != want || err != nil {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	check("as it was opened", true)
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	check("gone", false)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check("replaced", false)
	if err := errors.Join(os.Remove(path), os.Symlink(path+".old", path)); err != nil {
		t.Fatal(err)
	}
	check("a link to it", false)
}
