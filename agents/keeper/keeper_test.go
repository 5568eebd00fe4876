package keeper

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/process/processtest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == Command {
		os.Exit(Keep(os.Args[2], os.Args[3]))
	}
	if len(os.Args) == 4 && os.Args[1] == WitnessCommand {
		_ = os.WriteFile(filepath.Join(os.Args[2], "called-"+os.Args[3]), nil, 0o600)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestJudge(t *testing.T) {
	here := Place{"pearl", "m1", "b1", "pid:[1]"}
	with := func(change func(*Place)) Place { p := here; change(&p); return p }
	sandbox := with(func(p *Place) { p.Namespace = "pid:[2]" })
	rebooted := with(func(p *Place) { p.Boot = "b2" })
	nameless := with(func(p *Place) { p.Namespace = "" })
	const fresh, late = Lease / 2, 2 * Lease
	for _, c := range []struct {
		name string
		e    Evidence
		want Life
	}{
		{"the lock tells first", Evidence{Locked: true, Here: sandbox, There: here, Age: late}, Alive},
		{"even after a restart by the record", Evidence{Locked: true, Here: rebooted, There: here, Age: late}, Alive},
		{"a process that is there", Evidence{Here: here, There: here, Process: Present, Age: late}, Alive},
		{"a process that is not there", Evidence{Here: here, There: here, Process: Absent, Age: 0}, Gone},
		{"a hidden process with a lease", Evidence{Here: here, There: here, Age: fresh}, Alive},
		{"a hidden process without one", Evidence{Here: here, There: here, Age: late}, Unknown},
		{"a number of another namespace", Evidence{Here: sandbox, There: here, Process: Absent, Age: late}, Unknown},
		{"and one that fits by chance", Evidence{Here: sandbox, There: here, Process: Present, Age: late}, Unknown},
		{"a lease in another namespace", Evidence{Here: sandbox, There: here, Age: fresh}, Alive},
		{"namespaces without a name", Evidence{Here: nameless, There: nameless, Process: Absent, Age: late}, Unknown},
		{"a restart of the machine", Evidence{Here: rebooted, There: here, Age: 0}, Gone},
		{"a machine of the same name", Evidence{Here: with(func(p *Place) { p.Machine, p.Boot = "m2", "b2" }), There: here, Age: late}, Unknown},
		{"machines without an id", Evidence{Here: with(func(p *Place) { p.Machine, p.Boot = "", "b2" }), There: with(func(p *Place) { p.Machine = "" }), Age: late}, Unknown},
		{"another machine", Evidence{Here: Place{"velox", "m2", "b9", "pid:[1]"}, There: here, Process: Absent, Age: late}, Unknown},
		{"a clock that went back", Evidence{Here: sandbox, There: here, Age: -fresh}, Alive},
		{"by a day", Evidence{Here: sandbox, There: here, Age: -24 * time.Hour}, Unknown},
		{"nothing is known", Evidence{Age: late}, Unknown},
	} {
		if got := Judge(c.e); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// agent starts a process to be an agent.
func agent(t *testing.T, table process.Table) (Agent, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	p, err := table.Read(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return Agent{ID: "helper-1", Runtime: "claude", Session: "s1", PID: p.PID, Start: p.Start}, cmd
}

func one(t *testing.T, table process.Table, root string) Found {
	t.Helper()
	all, err := List(table, root)
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v", all, err)
	}
	return all[0]
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func TestKeeperHoldsLockUntilProcessEnds(t *testing.T) {
	root, table := t.TempDir(), process.System()
	a, cmd := agent(t, table)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := Start(table, root, a, program); err != nil {
		t.Fatal(err)
	}
	f := one(t, table, root)
	if f.Agent != a || f.Life != Alive {
		t.Fatalf("before the keeper is there: %+v", f)
	}
	eventually(t, "the keeper holds its lock", func() bool { return locked(root, f.Name) })
	// From another namespace, long after the last hook call.
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(root, Dir, f.Name+ending), old, old); err != nil {
		t.Fatal(err)
	}
	foreign := process.At(processtest.Table(t), 0)
	if f := one(t, foreign, root); f.Life != Alive {
		t.Errorf("from outside, by its lock: %s", f.Life)
	}
	if err := Start(table, root, a, program); err != nil {
		t.Errorf("a second start: %v", err)
	}
	if h, err := Hold(table, root, a); h != nil || err != nil {
		t.Errorf("held twice: %v, %v", h, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	eventually(t, "the record ends with the process", func() bool {
		all, err := List(foreign, root)
		return err == nil && len(all) == 0
	})
	eventually(t, "nothing is left", func() bool {
		left, err := os.ReadDir(filepath.Join(root, Dir))
		return err == nil && len(left) == 0
	})
}

func TestLeaseTellsWithoutKeeper(t *testing.T) {
	root, table := t.TempDir(), process.System()
	a, cmd := agent(t, table)
	if err := Renew(table, root, a); err != nil {
		t.Fatal(err)
	}
	foreign := process.At(processtest.Table(t), 0)
	f := one(t, foreign, root)
	if f.Life != Alive {
		t.Errorf("with a lease: %s", f.Life)
	}
	old := time.Now().Add(-2 * Lease)
	file := filepath.Join(root, Dir, f.Name+ending)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	if f := one(t, foreign, root); f.Life != Unknown {
		t.Errorf("past its lease, from outside: %s", f.Life)
	}
	if f := one(t, table, root); f.Life != Alive {
		t.Errorf("past its lease, beside the process: %s", f.Life)
	}
	if err := Renew(table, root, a); err != nil {
		t.Fatal(err)
	}
	if f := one(t, foreign, root); f.Life != Alive {
		t.Errorf("renewed: %s", f.Life)
	}
	a.Session = "s2"
	if err := Renew(table, root, a); err != nil {
		t.Fatal(err)
	}
	if f := one(t, foreign, root); f.Session != "s2" {
		t.Errorf("in a new session: %+v", f)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if f := one(t, table, root); f.Life != Gone {
		t.Errorf("after its end: %s", f.Life)
	}
	if f := one(t, foreign, root); f.Life != Alive {
		t.Errorf("after its end, from outside, within its lease: %s", f.Life)
	}
	other, _ := agent(t, table)
	if err := Start(table, root, other, ""); err != nil {
		t.Fatal(err)
	}
	if f := one(t, table, root); f.PID != other.PID {
		t.Errorf("the next agent removes the record of the last: %+v", f)
	}
}

func TestAgentThatItsHookCannotSee(t *testing.T) {
	root, foreign := t.TempDir(), process.At(processtest.Table(t), 0)
	a := Agent{Runtime: "codex", Session: "0199-aa"}
	if err := Start(foreign, root, a, "/must/not/be/started"); err != nil {
		t.Fatal(err)
	}
	if f := one(t, foreign, root); f.Life != Alive || f.Session != a.Session {
		t.Errorf("%+v", f)
	}
	if err := End(foreign, root, a); err != nil {
		t.Fatal(err)
	}
	if all, err := List(foreign, root); len(all) > 0 || err != nil {
		t.Errorf("after the session: %v, %v", all, err)
	}
	if err := Start(foreign, root, Agent{Runtime: "codex"}, ""); err == nil {
		t.Error("an agent without a process, a session and an id was recorded")
	}
}

// The hooks of a program that ai started report the process that they see above
// them, which may be below the one that ai started.
func TestHookCompletesLaunchersRecord(t *testing.T) {
	root, table := t.TempDir(), process.System()
	self, err := table.Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	h, err := Hold(table, root, Agent{Runtime: "claude", Launch: "77aa", PID: self.PID, Start: self.Start})
	if err != nil || h == nil {
		t.Fatal(h, err)
	}
	a, _ := agent(t, table)
	a.Launch = "77aa"
	if err := Start(table, root, a, "/must/not/be/started"); err != nil {
		t.Fatal(err)
	}
	if f := one(t, table, root); f.PID != self.PID || f.Session != "s1" || f.Launch != "77aa" {
		t.Errorf("%+v", f)
	}
	a.Launch = "another"
	if err := Start(table, root, a, ""); err != nil {
		t.Fatal(err)
	}
	if all, err := List(table, root); len(all) != 2 || err != nil {
		t.Errorf("another agent below the first: %+v, %v", all, err)
	}
	h.Release()
	if f := one(t, table, root); f.PID != a.PID {
		t.Errorf("%+v", f)
	}
}

func TestListReportsWhatIsNoRecord(t *testing.T) {
	table := process.System()
	for name, put := range map[string]func(path string) error{
		"a pipe":     func(path string) error { return unix.Mkfifo(path, 0o644) },
		"a folder":   func(path string) error { return os.Mkdir(path, 0o755) },
		"a link":     func(path string) error { return os.Symlink("/etc/passwd", path) },
		"torn":       func(path string) error { return os.WriteFile(path, []byte(`{"version":`), 0o644) },
		"a new one":  func(path string) error { return os.WriteFile(path, []byte(`{"version":2}`), 0o644) },
		"a big file": func(path string) error { return os.WriteFile(path, make([]byte, maxRecord+1), 0o644) },
	} {
		root := t.TempDir()
		a, _ := agent(t, table)
		if err := Start(table, root, a, ""); err != nil {
			t.Fatal(err)
		}
		if err := put(filepath.Join(root, Dir, "x.json")); err != nil {
			t.Fatal(err)
		}
		all, err := List(table, root)
		if err == nil || len(all) != 1 {
			t.Errorf("%s: %v, %v", name, all, err)
		}
	}
	root := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(root, filepath.Dir(Dir)), 0o755), os.WriteFile(filepath.Join(root, Dir), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := List(table, root); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file in place of the folder: %v", err)
	}
}

func TestOfKnowsOnlyWhatTableShows(t *testing.T) {
	table := process.System()
	a, cmd := agent(t, table)
	host := Here(table).Host
	if table.Partial() == "" {
		if got := Of(table, host, a.PID, a.Start); got != Alive {
			t.Errorf("of a process that runs: %s", got)
		}
		if got := Of(table, host, a.PID, a.Start+1); got != Gone {
			t.Errorf("of a process with another's number: %s", got)
		}
	}
	if got := Of(table, "elsewhere", a.PID, a.Start); got != Unknown {
		t.Errorf("on another machine: %s", got)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if got := Of(table, host, a.PID, a.Start); table.Partial() == "" && got != Gone {
		t.Errorf("after its end: %s", got)
	}
}
