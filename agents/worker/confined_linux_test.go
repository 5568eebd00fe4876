package worker

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/sandbox"
)

// confinedJob is a job of a sandbox that this machine can make, and its sandbox.
func confinedJob(t *testing.T, script string) (string, Job, Confined) {
	t.Helper()
	way, err := sandbox.Find(t.Context())
	if err != nil {
		t.Skipf("no sandbox here: %v", err)
	}
	folder, j := job(t, script)
	j.Sandbox = true
	tree := filepath.Join(t.TempDir(), "tree")
	if err := os.MkdirAll(tree+".scratch", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(tree, 0o700); err != nil {
		t.Fatal(err)
	}
	j.Dir = tree
	return folder, j, Confined{Marker: j.Marker, Box: sandbox.Box{Way: way, Tree: tree, Scratch: tree + ".scratch"}, Env: []string{"GREETING=hello"}, Files: map[string][]byte{".agent/url": []byte("set")}}
}

// startConfined starts a worker with its sandbox; nil c has none.
func startConfined(t *testing.T, folder string, j Job, c *Confined) {
	t.Helper()
	if err := Prepare(folder, j); err != nil {
		t.Fatal(err)
	}
	if c != nil {
		if err := RecordConfined(folder, *c); err != nil {
			t.Fatal(err)
		}
	}
	if err := starter().Start(folder, j, []string{"SECRET=zqsecret"}); err != nil {
		t.Fatal(err)
	}
}

func TestConfinedWorkerRunsAndRecordsEnd(t *testing.T) {
	for script, code := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137} {
		folder, j, c := confinedJob(t, `echo printed $GREETING$SECRET; cat ~/.agent/url; test "$PWD" = "`+"$(pwd)"+`" && echo there >there; `+script)
		startConfined(t, folder, j, &c)
		o := await(t, folder, j, "ended", gone)
		if o.State != Ended || o.Exit.Code != code || o.Exit.Error != "" {
			t.Errorf("%s: ended as %+v", script, o.Exit)
		}
		if log, err := os.ReadFile(j.Log); err != nil || string(log) != "printed hello\nset" {
			t.Errorf("%s: log is %q, %v", script, log, err)
		}
		if _, err := os.Stat(filepath.Join(j.Dir, "there")); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(c.Box.Scratch); err == nil {
			t.Errorf("%s: its home and /tmp are left", script)
		}
	}
}

// A worker that has to be confined never runs otherwise.
func TestConfinedWorkerNeedsItsSandbox(t *testing.T) {
	for name, change := range map[string]func(*Confined) *Confined{
		"no file":      func(*Confined) *Confined { return nil },
		"no way":       func(c *Confined) *Confined { c.Box.Way = ""; return c },
		"unconfined":   func(c *Confined) *Confined { c.Box.Way = sandbox.None; return c },
		"another tree": func(c *Confined) *Confined { c.Box.Tree = filepath.Dir(c.Box.Tree); return c },
		"another's":    func(c *Confined) *Confined { c.Marker = NewMarker(); return c },
	} {
		folder, j, c := confinedJob(t, "touch ran")
		startConfined(t, folder, j, change(&c))
		o := await(t, folder, j, "ended", gone)
		if o.State != Ended || o.Exit.Code != 127 || !strings.Contains(o.Exit.Error, "sandbox") {
			t.Errorf("%s: ended as %+v", name, o.Exit)
		}
		if _, err := os.Stat(filepath.Join(j.Dir, "ran")); err == nil {
			t.Errorf("%s: the command ran", name)
		}
	}
}

func TestConfinedWorkerIsAskedToEnd(t *testing.T) {
	for script, want := range map[string]int{
		"trap 'echo asked >asked; exit 3' TERM; touch runs; while :; do sleep 0.05; done":           3,
		"trap 'echo asked >asked' TERM; touch runs; setsid sleep 60 & while :; do sleep 0.05; done": 137,
	} {
		folder, j, c := confinedJob(t, script)
		startConfined(t, folder, j, &c)
		await(t, folder, j, "running", func(o Observation) bool {
			_, err := os.Stat(filepath.Join(j.Dir, "runs"))
			return err == nil
		})
		if err := End(context.Background(), process.System(), folder, j.Marker); err != nil {
			t.Fatal(err)
		}
		if o := see(t, folder, j); o.State != Ended || o.Exit.Code != want {
			t.Errorf("ended as %+v, want %d", o.Exit, want)
		}
		if _, err := os.Stat(filepath.Join(j.Dir, "asked")); err != nil {
			t.Error(err)
		}
		if left := Leftovers(process.System(), j.Marker)[j.Marker]; len(left) > 0 {
			t.Errorf("still running: %s", Names(left))
		}
	}
}

// A sandbox ends with its keeper, and so do the processes in it, in other sessions
// too.
func TestKilledKeeperEndsItsSandbox(t *testing.T) {
	folder, j, c := confinedJob(t, "setsid sh -c 'while :; do date +%N >beat; sleep 0.02; done' & wait")
	startConfined(t, folder, j, &c)
	beat := filepath.Join(j.Dir, "beat")
	o := await(t, folder, j, "at work", func(Observation) bool {
		_, err := os.Stat(beat)
		return err == nil
	})
	if left := Leftovers(process.System(), j.Marker)[j.Marker]; len(left) == 0 {
		t.Error("its processes are not found by its marker")
	}
	if err := unix.Kill(o.Ticket.Keeper.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if o := await(t, folder, j, "gone", gone); o.State != Lost {
		t.Errorf("it is %s", o)
	}
	for began := time.Now(); len(Leftovers(process.System(), j.Marker)[j.Marker]) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("still running: %s", Names(Leftovers(process.System(), j.Marker)[j.Marker]))
		}
	}
	before, err := os.ReadFile(beat)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if now, err := os.ReadFile(beat); err != nil || string(now) != string(before) {
		t.Errorf("a process still writes: %q, %q, %v", before, now, err)
	}
}
