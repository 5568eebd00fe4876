package state

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile/fsys"
)

// lockRootEnv makes the test binary a process that takes the lock of the state
// under that root, says so on stdout, and holds it until stdin ends.
const lockRootEnv = "STATE_TEST_LOCK_ROOT"

func TestMain(m *testing.M) {
	if root := os.Getenv(lockRootEnv); root != "" {
		os.Exit(holdLock(root))
	}
	os.Exit(m.Run())
}

func holdLock(root string) int {
	w, err := fsys.New(fsys.Options{Root: root, Tag: "t2"})
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	held, err := Open(w, base).Lock(context.Background(), w, 0, holder("aisync apply"))
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println("locked")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if err := held.Release(); err != nil {
		return 1
	}
	return 0
}

func holder(command string) Holder {
	return Holder{PID: os.Getpid(), Host: "here", Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Command: command}
}

type process struct {
	*exec.Cmd
	said string
	end  func() error // closes its stdin and waits
}

// other starts a process that tries to take the lock.
func other(t *testing.T, root string, env ...string) process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), lockRootEnv+"="+root), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return process{cmd, strings.TrimSpace(said), func() error { return errors.Join(in.Close(), cmd.Wait()) }}
}

func TestOneOfManyProcessesGetsTheLock(t *testing.T) {
	d, w, root := newDir(t, nil)
	var procs [4]process
	done := make(chan int)
	for i := range procs {
		go func() { procs[i] = other(t, root); done <- i }()
	}
	for range procs {
		<-done
	}
	var winner process
	for _, p := range procs {
		if p.said == "locked" {
			if winner.Cmd != nil {
				t.Fatal("two hold the lock")
			}
			winner = p
		}
	}
	if winner.Cmd == nil {
		t.Fatal("no process got it")
	}
	_, err := d.Lock(context.Background(), w, 0, holder("aisync apply"))
	var held *HeldError
	if !errors.As(err, &held) || held.PID != winner.Process.Pid || held.Host != "here" || held.Inside {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{"aisync apply", strconv.Itoa(held.PID), "here"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v lacks %q", err, part)
		}
	}
	if inside := (&HeldError{Inside: true}); advice.Of(err) != advice.WaitForLock || advice.Of(inside) != "" {
		t.Errorf("the next step is %q, inside of an apply %q", advice.Of(err), advice.Of(inside))
	}
	if err := winner.end(); err != nil {
		t.Fatal(err)
	}
	mine, err := d.Lock(context.Background(), w, 0, holder("aisync apply"))
	if err != nil {
		t.Fatal(err)
	}
	if err := mine.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestAKilledHolderHoldsNothing(t *testing.T) {
	d, w, root := newDir(t, nil)
	p := other(t, root)
	if p.said != "locked" {
		t.Fatal(p.said)
	}
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	held, err := d.Lock(context.Background(), w, 0, holder("aisync apply"))
	if err != nil {
		t.Fatal(err)
	}
	if got := text(w, d.LockFile()); !strings.Contains(got, fmt.Sprintf(`"pid":%d`, os.Getpid())) {
		t.Fatalf("the lock still names another: %s", got)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestWaitingEndsWithTheHolderTheTimeoutOrTheContext(t *testing.T) {
	d, w, root := newDir(t, nil)
	first, err := d.Lock(context.Background(), w, 0, holder("first"))
	if err != nil {
		t.Fatal(err)
	}
	var held *HeldError
	if _, err := d.Lock(context.Background(), w, 60*time.Millisecond, holder("second")); !errors.As(err, &held) || held.Command != "first" {
		t.Fatalf("after the timeout: %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := d.Lock(ended, w, time.Hour, holder("second")); !errors.Is(err, context.Canceled) {
		t.Fatalf("after the context: %v", err)
	}
	ended, cancel = context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := d.Lock(ended, w, time.Hour, holder("second")); !errors.Is(err, context.Canceled) {
		t.Fatalf("after the context ended meanwhile: %v", err)
	}
	if p := other(t, root); !strings.Contains(p.said, "first") {
		t.Fatal(p.said)
	}
	got := make(chan error)
	go func() {
		second, err := d.Lock(context.Background(), w, time.Hour, holder("second"))
		if err == nil {
			err = second.Release()
		}
		got <- err
	}()
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}

func TestAnApplyWithinAnApplyIsToldWhy(t *testing.T) {
	d, w, root := newDir(t, nil)
	held, err := d.Lock(context.Background(), w, 0, holder("aisync apply"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	p := other(t, root, PIDVariable+"="+strconv.Itoa(os.Getpid()))
	if !strings.Contains(p.said, "inside an apply") {
		t.Fatal(p.said)
	}
}

func TestLockFileWithoutHolderNamesNone(t *testing.T) {
	d, w, _ := newDir(t, nil)
	held, err := d.Lock(context.Background(), w, 0, holder("x"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	if err := held.file.Truncate(5); err != nil { // as if seen while it was written
		t.Fatal(err)
	}
	_, err = d.Lock(context.Background(), w, 0, holder("y"))
	var e *HeldError
	if !errors.As(err, &e) || e.PID != 0 || !strings.Contains(err.Error(), "another aisync") {
		t.Fatal(err)
	}
}
