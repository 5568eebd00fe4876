package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/process/processtest"
	"aisync.dev/aisync/agents/sandbox"
)

// The tests' program is its own keeper, as aisync is.
const keep = "__keep"

func TestMain(m *testing.M) {
	if sandbox.IsInside(os.Args) {
		syscall.Exit(sandbox.Main(os.Args)) // os.Exit waits for a second where the race detector is
	}
	if len(os.Args) == 4 && os.Args[1] == keep {
		Grace = 200 * time.Millisecond
		if os.Getenv("TEST_LATE") != "" {
			dialogWatch, stillFor, lookAnyway = 0, 300*time.Millisecond, 2*time.Second
		}
		os.Exit(Keep(os.Args[2], os.Args[3]))
	}
	if len(os.Args) == 4 && os.Args[1] == "start-and-stay" { // a supervisor to be killed
		j := Job{Worker: "w", Marker: os.Args[3], Substrate: Process, Command: []string{"sleep", "60"}, Dir: "/", Log: os.Args[2] + ".log"}
		if err := Prepare(os.Args[2], j); err != nil {
			panic(err)
		}
		if err := starter().Start(os.Args[2], j, nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		select {}
	}
	os.Exit(m.Run())
}

func starter() Starter {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Starter{Keeper: []string{self, keep}, Environ: os.Environ()}
}

// job is one that runs a text in a shell.
func job(t *testing.T, script string) (folder string, j Job) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "it's 100%H of #{pane_id}")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	j = Job{Worker: "w", Marker: NewMarker(), Substrate: Process, Command: []string{"sh", "-c", script}, Dir: dir, Log: filepath.Join(dir, "w.log")}
	folder = filepath.Join(dir, "workers", "w")
	t.Cleanup(func() {
		if o, err := Observe(process.System(), folder, j.Marker); err == nil && o.State == Running && o.Keeper == Here {
			_ = End(context.Background(), process.System(), folder, j.Marker)
		}
	})
	return folder, j
}

func see(t *testing.T, folder string, j Job) Observation {
	t.Helper()
	o, err := Observe(process.System(), folder, j.Marker)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// await waits until what is seen is as wanted.
func await(t *testing.T, folder string, j Job, what string, is func(Observation) bool) Observation {
	t.Helper()
	var o Observation
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(5 * time.Millisecond) {
		if o = see(t, folder, j); is(o) {
			return o
		}
	}
	log, _ := os.ReadFile(j.Log)
	t.Fatalf("not %s: %s (%+v)\n%s", what, o, o, log)
	return o
}

func running(o Observation) bool { return o.State == Running && o.Ready != nil }
func gone(o Observation) bool    { return o.State != Waiting && o.Gone() && !o.Held }

func start(t *testing.T, s Starter, folder string, j Job, extra ...string) {
	t.Helper()
	if err := Prepare(folder, j); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(folder, j, extra); err != nil {
		t.Fatal(err)
	}
}

func TestWorkerRunsAndRecordsEnd(t *testing.T) {
	for _, c := range []struct {
		script string
		want   Exit
	}{
		{"exit 0", Exit{}},
		{"exit 7", Exit{Code: 7}},
		{"kill -9 $$", Exit{Code: 137, Signal: "killed"}},
	} {
		t.Run(c.script, func(t *testing.T) {
			folder, j := job(t, "echo printed $GREETING; "+c.script)
			start(t, starter(), folder, j, "GREETING=hello")
			o := await(t, folder, j, "ended", gone)
			if o.State != Ended || o.Exit.Code != c.want.Code || o.Exit.Signal != c.want.Signal || o.Exit.Error != "" {
				t.Errorf("ended as %+v, want %+v", o.Exit, c.want)
			}
			if log, err := os.ReadFile(j.Log); err != nil || string(log) != "printed hello\n" {
				t.Errorf("log is %q, %v", log, err)
			}
		})
	}
}

// Programs such as opencode take PWD for the folder that they work in.
func TestWorkerIsToldItsFolder(t *testing.T) {
	folder, j := job(t, "")
	j.Command = []string{"printenv", "PWD"}
	start(t, starter(), folder, j)
	await(t, folder, j, "ended", gone)
	if said, err := os.ReadFile(j.Log); err != nil || string(said) != j.Dir+"\n" {
		t.Errorf("PWD is %q, %v; want %s", said, err, j.Dir)
	}
}

func TestUnstartableCommandIsExplained(t *testing.T) {
	folder, j := job(t, "")
	j.Command = []string{"no-such-program-anywhere"}
	start(t, starter(), folder, j)
	if o := await(t, folder, j, "ended", gone); o.Exit == nil || o.Exit.Code != 127 || !strings.Contains(o.String(), "no-such-program-anywhere") {
		t.Errorf("got %+v: %s", o.Exit, o)
	}
}

func TestWorkerOutlivesStarter(t *testing.T) {
	folder, j := job(t, "")
	self, _ := os.Executable()
	cmd := exec.Command(self, "start-and-stay", folder, j.Marker)
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	o := await(t, folder, j, "running", running)
	if err := unix.Kill(-cmd.Process.Pid, unix.SIGKILL); err != nil { // it and all of its group
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if after := see(t, folder, j); after.State != Running || after.Keeper != Here || !after.Held || after.Ticket.Keeper.PID != o.Ticket.Keeper.PID {
		t.Errorf("after its supervisor was killed: %+v", after)
	}
}

func TestWorkerRunsOnce(t *testing.T) {
	folder, j := job(t, "echo once >> lines; sleep 0.2")
	s := starter()
	start(t, s, folder, j)
	if err := Prepare(folder, j); !errors.Is(err, ErrStarted) {
		t.Errorf("prepared again: %v", err)
	}
	await(t, folder, j, "running", running)
	var late sync.WaitGroup
	for range 8 { // keepers that come late, as from a supervisor that was stopped
		cmd := exec.Command(s.Keeper[0], append(s.Keeper[1:], folder, j.Marker)...)
		cmd.Dir = j.Dir
		late.Go(func() {
			if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitVoid {
				t.Errorf("a late keeper: %v", err)
			}
		})
	}
	late.Wait()
	await(t, folder, j, "ended", gone)
	if text, _ := os.ReadFile(filepath.Join(j.Dir, "lines")); string(text) != "once\n" {
		t.Errorf("it ran %d times", strings.Count(string(text), "once"))
	}
}

func TestCalledOffWorkerNeverRuns(t *testing.T) {
	folder, j := job(t, "echo ran > ran")
	if first, err := CallOff(folder, j.Worker, j.Marker, "its supervisor is gone"); err != nil || !first {
		t.Fatal(first, err)
	}
	if err := Prepare(folder, j); err != nil { // a supervisor that was only slow
		t.Fatal(err)
	}
	late := exec.Command(starter().Keeper[0], keep, folder, j.Marker)
	_ = late.Run()
	if late.ProcessState.ExitCode() != exitVoid {
		t.Errorf("its keeper ended with %d", late.ProcessState.ExitCode())
	}
	if o := see(t, folder, j); o.State != Void || !strings.Contains(o.String(), "its supervisor is gone") || !o.Gone() {
		t.Errorf("seen: %s, %+v", o, o)
	}
	if _, err := os.Stat(filepath.Join(j.Dir, "ran")); err == nil {
		t.Error("it ran")
	}
	if first, err := CallOff(folder, j.Worker, j.Marker, "again"); err != nil || first {
		t.Error("it was called off twice:", first, err)
	}
}

func TestRunningWorkerCannotBeCalledOff(t *testing.T) {
	folder, j := job(t, "sleep 60")
	start(t, starter(), folder, j)
	await(t, folder, j, "running", running)
	if first, err := CallOff(folder, j.Worker, j.Marker, "impatience"); err != nil || first {
		t.Errorf("called off: %v, %v", first, err)
	}
}

func TestKilledWorkerIsLost(t *testing.T) {
	folder, j := job(t, "sleep 60")
	start(t, starter(), folder, j)
	o := await(t, folder, j, "running", running)
	kill(t, o, unix.SIGKILL) // the keeper alone: its command goes on
	o = await(t, folder, j, "an orphan", func(o Observation) bool { return o.Keeper == Gone })
	if o.State != Running || !o.Held || !strings.Contains(o.String(), "a process that it started still runs") {
		t.Errorf("a command without its keeper: %s, %+v", o, o)
	}
	if err := End(context.Background(), process.System(), folder, j.Marker); err != nil && !errors.Is(err, ErrNotOurs) {
		t.Error(err)
	}
	if o := see(t, folder, j); o.State != Running {
		t.Errorf("what is not proved to be ours was ended: %s", o)
	}
	for _, pid := range childrenOf(t, j) {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	if o := await(t, folder, j, "gone", gone); o.State != Lost || o.Exit != nil {
		t.Errorf("seen: %s, %+v", o, o)
	}
}

// kill signals a keeper that this test started.
func kill(t *testing.T, o Observation, sig unix.Signal) {
	t.Helper()
	if err := o.Ticket.Keeper.signal(process.System(), sig); err != nil {
		t.Fatal(err)
	}
}

// childrenOf are the processes whose working folder is that of the job, which is
// the test's own.
func childrenOf(t *testing.T, j Job) []int {
	t.Helper()
	table := process.System()
	pids, err := table.PIDs()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(pids, func(pid int) bool {
		cwd, err := table.Cwd(pid)
		return err != nil || cwd != j.Dir
	})
}

func TestReusedNumberIsNotTheWorker(t *testing.T) {
	boot, err := bootID()
	if err != nil {
		t.Fatal(err)
	}
	table := process.At(processtest.Table(t, processtest.P{PID: 42, Start: 1000, Args: []string{"aisync", keep, "x"}}), 0)
	id := Identity{PID: 42, Start: 1000, Boot: boot, Args: []string{"aisync", keep, "x"}}
	for _, c := range []struct {
		says   string
		change func(*Identity)
		want   Presence
	}{
		{"itself", func(*Identity) {}, Here},
		{"one that began later", func(id *Identity) { id.Start = 999 }, Gone},
		{"one of an earlier boot", func(id *Identity) { id.Boot = "00000000-0000-0000-0000-000000000000" }, Gone},
		{"one that runs another program", func(id *Identity) { id.Args = []string{"vi"} }, Gone},
		{"a number that is free", func(id *Identity) { id.PID = 43 }, Gone},
	} {
		other := id
		c.change(&other)
		if got := other.Presence(table); got != c.want {
			t.Errorf("%s is %s, want %s", c.says, got, c.want)
		}
	}
}

func TestReusedNumberGetsNoSignal(t *testing.T) {
	bystander := exec.Command("sleep", "60")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bystander.Process.Kill(); _ = bystander.Wait() }()
	folder, j := job(t, "exit 0")
	start(t, starter(), folder, j)
	o := await(t, folder, j, "ended", gone)

	// The kernel gives the worker's number to the bystander; the worker's end was lost.
	table := process.System()
	now, err := identify(table, bystander.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	ticket := *o.Ticket
	for _, c := range []struct {
		says string
		id   Identity
	}{
		{"began at another time", Identity{PID: now.PID, Start: now.Start - 1, Boot: now.Boot, Args: now.Args}},
		{"runs another program", Identity{PID: now.PID, Start: now.Start, Boot: now.Boot, Args: o.Ticket.Keeper.Args}},
	} {
		ticket.Keeper = &c.id
		rewrite(t, folder, ticketFile, ticket)
		_ = os.Remove(filepath.Join(folder, endFile))
		if seen := see(t, folder, j); seen.State != Lost {
			t.Errorf("%s: seen as %s", c.says, seen)
		}
		if err := c.id.signal(table, unix.SIGKILL); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%s: signal says %v", c.says, err)
		}
		if err := End(context.Background(), table, folder, j.Marker); err != nil {
			t.Errorf("%s: %v", c.says, err)
		}
		if p := now.Presence(table); p != Here {
			t.Errorf("%s: the bystander is %s", c.says, p)
		}
	}
}

func rewrite(t *testing.T, folder, name string, content any) {
	t.Helper()
	if err := os.Remove(filepath.Join(folder, name)); err != nil {
		t.Fatal(err)
	}
	if _, err := createOnce(folder, name, content); err != nil {
		t.Fatal(err)
	}
}

func TestEndAsksThenKills(t *testing.T) {
	for _, c := range []struct{ says, script, signal, left string }{
		{"one that ends in order", "trap 'echo bye > bye; exit 0' TERM; echo; while :; do sleep 0.05; done", "", "bye"},
		{"one that does not listen", "trap '' TERM; echo; while :; do sleep 0.05; done", "killed", ""},
	} {
		t.Run(c.says, func(t *testing.T) {
			folder, j := job(t, c.script)
			start(t, starter(), folder, j)
			await(t, folder, j, "running", func(o Observation) bool {
				log, _ := os.ReadFile(j.Log)
				return running(o) && len(log) > 0 // its trap is set
			})
			if err := End(context.Background(), process.System(), folder, j.Marker); err != nil {
				t.Fatal(err)
			}
			o := see(t, folder, j)
			if !o.Gone() || o.State != Ended || o.Exit.Signal != c.signal {
				t.Errorf("seen: %s, %+v", o, o)
			}
			if _, err := os.Stat(filepath.Join(j.Dir, "bye")); (err == nil) != (c.left != "") {
				t.Errorf("it was not given its time: %v", err)
			}
			if err := End(context.Background(), process.System(), folder, j.Marker); err != nil {
				t.Errorf("ending it again: %v", err)
			}
		})
	}
}

func TestForeignFilesAreNoWorker(t *testing.T) {
	folder, j := job(t, "exit 0")
	start(t, starter(), folder, j)
	await(t, folder, j, "ended", gone)
	if _, err := Observe(process.System(), folder, NewMarker()); !errors.Is(err, ErrNotOurs) {
		t.Errorf("another marker: %v", err)
	}
	for _, text := range []string{"", "{", `{"schemaVersion":2}`, `{"schemaVersion":1,"marker":"` + j.Marker + `","more":1}`} {
		if err := os.WriteFile(filepath.Join(folder, endFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Observe(process.System(), folder, j.Marker); err == nil || !strings.Contains(err.Error(), endFile) {
			t.Errorf("%q was taken: %v", text, err)
		}
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.WriteFile(secret, []byte("{}"), 0o600), os.Remove(filepath.Join(folder, endFile)), os.Symlink(secret, filepath.Join(folder, endFile))); err != nil {
		t.Fatal(err)
	}
	if _, err := Observe(process.System(), folder, j.Marker); err == nil {
		t.Error("a link was followed")
	}
}

func TestObserveWritesNothing(t *testing.T) {
	folder, j := job(t, "sleep 60")
	start(t, starter(), folder, j)
	await(t, folder, j, "running", running)
	before := listing(t, filepath.Dir(folder))
	see(t, folder, j)
	if o, err := Observe(process.System(), filepath.Join(filepath.Dir(folder), "missing"), "m"); err != nil || o.State != Absent {
		t.Errorf("a folder that is not there: %v, %v", o, err)
	}
	if after := listing(t, filepath.Dir(folder)); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func listing(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fmt.Fprintln(&b, path, info.Mode(), info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func FuzzReadersTakeOnlyWhatWeWrite(f *testing.F) {
	for _, text := range []string{`{"schemaVersion":1,"worker":"w","marker":"m","keeper":{"pid":1,"start":2,"boot":"b"},"at":"2026-01-01T00:00:00Z"}`, `{"schemaVersion":1}`, "null", "[]", ""} {
		f.Add([]byte(text))
	}
	table := process.At(f.TempDir(), 0)
	f.Fuzz(func(t *testing.T, text []byte) {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, ticketFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
		o, err := Observe(table, folder, "m")
		if err == nil && o.State != Void && o.State != Lost {
			t.Errorf("%q is seen as %s", text, o)
		}
	})
}
