package control

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestSystemctlSaysWhatTheSocketSays starts and stops one unit with both, under
// a user manager that scripts/test-systemd has started for it alone.
func TestSystemctlSaysWhatTheSocketSays(t *testing.T) {
	if os.Getenv("AISYNC_TEST_SYSTEMD") == "" {
		t.Skip("make test-systemd runs it")
	}
	o := Options{UID: os.Getuid(), RuntimeDir: os.Getenv("XDG_RUNTIME_DIR"), Env: os.Environ(), Logs: t.TempDir()}
	socket, program := systemd{o}, systemctl{o}
	dir := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "systemd/user")
	write := func(name, exec string) {
		text := "[Service]\nType=exec\nEnvironment=" + InputsVariable + "=abc\nExecStart=" + exec + "\n"
		if err := os.WriteFile(filepath.Join(dir, UnitName(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("sleeps", "/bin/sleep 60")
	write("fails", "/bin/sh -c 'sleep 0.1; exit 1'")
	names := []string{"sleeps", "fails", "nobody"}
	same := func(want ...Activity) {
		t.Helper()
		a, err1 := socket.States(t.Context(), names)
		b, err2 := program.States(t.Context(), names)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		// systemctl tells the time by the second.
		if diff := cmp.Diff(a, b, cmpopts.EquateApproxTime(2*time.Second)); diff != "" {
			t.Errorf("socket and systemctl (-, +):\n%s", diff)
		}
		for i, w := range want {
			if a[i].Activity != w {
				t.Errorf("%s is %+v, want %s", names[i], a[i], w)
			}
		}
		if a[0].Activity == Running && a[0].Inputs != "abc" {
			t.Errorf("started with %q", a[0].Inputs)
		}
		if a[1].Activity == Failed && a[1].Ended != "exit code 1" {
			t.Errorf("ended with %q", a[1].Ended)
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	same(Stopped, Stopped, Stopped)
	do(socket.Start(t.Context(), "sleeps"))
	do(program.job(t.Context(), "start", "fails"))
	time.Sleep(300 * time.Millisecond)
	same(Running, Failed, Stopped)
	do(program.job(t.Context(), "restart", "sleeps"))
	same(Running, Failed)
	do(program.job(t.Context(), "stop", "sleeps"))
	do(socket.Stop(t.Context(), "fails"))
	do(socket.Stop(t.Context(), "nobody"))
	do(program.job(t.Context(), "stop", "nobody"))
	same(Stopped, Stopped, Stopped)
	if err := socket.Start(t.Context(), "nobody"); err == nil || !strings.Contains(err.Error(), UnitName("nobody")) {
		t.Errorf("a unit that is nowhere: %v", err)
	}
}

func TestMissingManagerIsUnreachable(t *testing.T) {
	o := Options{UID: 4242, RuntimeDir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}}
	_, err := systemd{o}.States(context.Background(), []string{"x"})
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "loginctl enable-linger 4242") {
		t.Errorf("got %v", err)
	}
}

func TestEndReason(t *testing.T) {
	for _, c := range []struct {
		result       string
		code, status int
		want         string
	}{
		{"success", 1, 0, ""}, {"success", 2, 15, ""}, // stopped
		{"exit-code", 1, 3, "exit code 3"},
		{"exit-code", 1, 203, "its program could not be executed"},
		{"signal", 2, 9, "signal killed"},
		{"core-dump", 3, 11, "signal segmentation fault"},
		{"oom-kill", 2, 9, "killed: out of memory"},
		{"timeout", 2, 15, "killed: timeout"},
	} {
		if got := endReason(c.result, c.code, c.status); got != c.want {
			t.Errorf("%s %d %d: %q, want %q", c.result, c.code, c.status, got, c.want)
		}
	}
}

// After the form that launchctl(1) shows; never seen on a real one.
func TestParseLaunchctlPrint(t *testing.T) {
	running := "gui/501/dev.aisync.coder = {\n\tstate = running\n\tpid = 812\n\tenvironment = {\n\t\tAISYNC_INPUTS => abc\n\t}\n\tlast exit code = (never exited)\n}\n"
	if got := printed("coder", running); got.Activity != Running || got.PID != 812 || got.Inputs != "abc" || got.Ended != "" {
		t.Errorf("%+v", got)
	}
	ended := "gui/501/dev.aisync.coder = {\n\tstate = not running\n\tlast exit code = 1\n}\n"
	if got := printed("coder", ended); got.Activity != Failed || got.Ended != "exit code 1" || got.PID != 0 {
		t.Errorf("%+v", got)
	}
}

func TestProcessIdentityIncludesStartTime(t *testing.T) {
	me := process{os.Getpid(), began(os.Getpid())}
	if me.Began == "" || !me.alive() {
		t.Fatalf("%+v", me)
	}
	if (process{me.PID, me.Began + "0"}).alive() {
		t.Error("another process of that number is taken for it")
	}
	if v, err := Variable(os.Getpid(), "PATH"); v == "" || err != nil {
		t.Errorf("PATH is %q, %v", v, err)
	}
	if _, err := Variable(1<<22+1, "PATH"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a process that is not there: %v", err)
	}
}
