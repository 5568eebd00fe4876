package lease

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
)

// program starts a process that stands for an agent's program.
func program(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "300")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

func holderOf(t *testing.T, pid int) Holder {
	t.Helper()
	table := process.System()
	p, err := table.Read(pid)
	if err != nil {
		t.Fatal(err)
	}
	return Holder{Runtime: "claude", Session: "s1", PID: pid, Start: p.Start, Place: keeper.Here(table)}
}

// of returns the Leases of an agent.
func of(root string, h Holder, at clock.Clock) *Leases {
	return &Leases{Table: process.System(), Project: root, Clock: at, Holder: func() (Holder, bool) { return h, true }}
}

func claimOf(t *testing.T, l *ledger.Ledger, path string) ledger.Claim {
	t.Helper()
	claims, err := l.Claims()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range claims {
		if c.Path == filepath.Join(l.Root, path) {
			return c
		}
	}
	return ledger.Claim{}
}

func opened(t *testing.T) *ledger.Ledger {
	t.Helper()
	l, _, err := ledger.Init(t.TempDir(), "pi")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestClaimEndsWithItsProcess(t *testing.T) {
	l := opened(t)
	agent := program(t)
	l.Leases = of(l.Root, holderOf(t, agent.Process.Pid), clock.Now)
	if _, err := l.ClaimAll("claude", []string{"src"}, false); err != nil {
		t.Fatal(err)
	}
	look := func(want ledger.State) {
		t.Helper()
		if c := claimOf(t, l, "src"); c.State != want {
			t.Errorf("%s: %s, want %s", c.State, c.Why, want)
		}
	}
	look(ledger.Held)
	if err := agent.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	later := func() clock.Moment { m := clock.Now(); m.Up += 1e9; m.Wall += 1e9; return m }
	l.Leases = of(l.Root, holderOf(t, os.Getpid()), later)
	look(ledger.Held) // a stopped agent is not gone, however long
	if _, err := l.ClaimAll("codex", []string{"src/a.go"}, false); err == nil {
		t.Error("the claim of a stopped agent was taken")
	}
	_ = agent.Process.Kill()
	_ = agent.Wait()
	look(ledger.Ended)
	if _, err := l.ClaimAll("codex", []string{"src/a.go"}, false); err != nil {
		t.Error(err)
	}
	if c := claimOf(t, l, "src"); c.Agent != "" {
		t.Errorf("%+v is still there", c)
	}
}

// Where nothing tells, a claim holds for its lease by the clock that does not
// jump; then it is stale, and stays.
func TestUnknownAgentsClaimTurnsStale(t *testing.T) {
	l := opened(t)
	h := Holder{Runtime: "codex", Session: "s9", PID: 4711, Start: 1, Place: keeper.Here(process.System())}
	h.Namespace = "pid:[1]" // of a sandbox
	now := clock.Now()
	if now.Boot == "" {
		t.Skip("needs: the time since boot")
	}
	at := func(up, wall time.Duration) clock.Clock {
		return func() clock.Moment {
			m := now
			m.Up += up.Milliseconds()
			m.Wall += wall.Milliseconds()
			return m
		}
	}
	l.Leases = of(l.Root, h, at(0, 0))
	if _, err := l.ClaimAll("codex", []string{"a b", "src"}, false); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		up, wall time.Duration
		want     ledger.State
	}{
		{Duration / 2, Duration / 2, ledger.Held},
		{time.Minute, 24 * time.Hour, ledger.Held},
		{time.Minute, -24 * time.Hour, ledger.Held},
		{Duration + time.Minute, 0, ledger.Stale},
		{100 * time.Hour, -24 * time.Hour, ledger.Stale},
	} {
		l.Leases = of(l.Root, holderOf(t, os.Getpid()), at(c.up, c.wall))
		if got := claimOf(t, l, "src"); got.State != c.want {
			t.Errorf("after %s, wall %s: %s, want %s", c.up, c.wall, got.State, c.want)
		}
		_, err := l.ClaimAll("claude", []string{"src"}, false)
		if err == nil || strings.Contains(err.Error(), "no sign of life") != (c.want == ledger.Stale) {
			t.Errorf("after %s: %v", c.up, err)
		}
	}
	if c := claimOf(t, l, "a b"); !strings.Contains(c.Why, "run: aisync ledger release '"+c.Path+"' --agent codex") {
		t.Error(c.Why)
	}
}

// A renewal follows the agent to its new process; a new agent of the same name
// inherits nothing.
func TestRenew(t *testing.T) {
	l := opened(t)
	first, second := program(t), program(t)
	now := clock.Now()
	shift := time.Duration(0)
	at := func() clock.Moment { m := now; m.Up += shift.Milliseconds(); m.Wall += shift.Milliseconds(); return m }
	old := holderOf(t, first.Process.Pid)
	renewed := func(h Holder) lease {
		t.Helper()
		l.Leases = of(l.Root, h, at)
		if err := l.Renew("claude"); err != nil {
			t.Fatal(err)
		}
		got, _ := parse(claimOf(t, l, "src"))
		return got
	}
	l.Leases = nil
	if _, err := l.ClaimAll("claude", []string{"src"}, false); err != nil {
		t.Fatal(err)
	}
	if got := renewed(old); got.Holder != old || got.Renewed != now {
		t.Errorf("a claim without a lease got %+v", got)
	}
	shift = Duration / 4
	if got := renewed(old); got.Renewed != now {
		t.Errorf("renewed too early: %+v", got)
	}
	shift = Duration / 2
	if got := renewed(old); got.Renewed != at() {
		t.Errorf("not renewed: %+v", got)
	}
	_ = first.Process.Kill()
	_ = first.Wait()
	other := holderOf(t, second.Process.Pid)
	other.Session = "s2"
	if got := renewed(other); got.Holder != old {
		t.Errorf("another session took %+v", got)
	}
	other.Session = old.Session
	if got := renewed(other); got.Holder != other {
		t.Errorf("the resumed session did not: %+v", got)
	}
	if c := claimOf(t, l, "src"); c.State != ledger.Held {
		t.Errorf("%+v", c)
	}
}

// From within a sandbox a keeper's record tells: while it is there, and that it
// was taken away. A folder of records that is hidden tells nothing.
func TestKeeperTellsInSandbox(t *testing.T) {
	l := opened(t)
	table := process.System()
	agent := program(t)
	h := holderOf(t, agent.Process.Pid)
	h.Kept = true
	hold, err := keeper.Hold(table, l.Root, keeper.Agent{Runtime: h.Runtime, Session: h.Session, PID: h.PID, Start: h.Start})
	if err != nil || hold == nil {
		t.Fatal(hold, err)
	}
	l.Leases = of(l.Root, h, clock.Now)
	if _, err := l.ClaimAll("claude", []string{"src"}, false); err != nil {
		t.Fatal(err)
	}
	inside := func() *Leases {
		s := of(l.Root, h, func() clock.Moment { m := clock.Now(); m.Up += 1e9; m.Wall += 1e9; return m })
		s.Table = sandboxed{table}
		return s
	}
	look := func(want ledger.State) {
		t.Helper()
		l.Leases = inside()
		if c := claimOf(t, l, "src"); c.State != want {
			t.Errorf("%s: %s, want %s", c.State, c.Why, want)
		}
	}
	look(ledger.Held)
	hold.Release()
	look(ledger.Ended)
	if err := os.RemoveAll(filepath.Join(l.Root, keeper.Dir)); err != nil {
		t.Fatal(err)
	}
	look(ledger.Stale)
}

// sandboxed is a table of another PID namespace.
type sandboxed struct{ process.Table }

func (sandboxed) Namespace() string { return "pid:[2]" }
func (sandboxed) Partial() string   { return "a PID namespace" }

// A name in the file may be anything: the command that is printed runs nothing of it.
func TestPrintedCommandQuotesNames(t *testing.T) {
	s := of(t.TempDir(), Holder{}, clock.Now)
	c := ledger.Claim{Agent: "x; touch y", Path: "/p/it's", Lease: json.RawMessage(`{"for":1,"renewed":{"wall":1}}`)}
	_, why := s.State(c)
	if !strings.HasSuffix(why, `run: aisync ledger release '/p/it'\''s' --agent 'x; touch y'`) {
		t.Error(why)
	}
	if text := Text(c); !strings.Contains(text, "send 'x; touch y' ") {
		t.Error(text)
	}
}

// A claim without a lease, or with one that cannot be read, ends by release alone.
func TestClaimWithoutLeaseHasNoState(t *testing.T) {
	s := of(t.TempDir(), Holder{}, clock.Now)
	for _, text := range []string{"", "null", "7", `{"for":0}`, `{"for":"x"}`} {
		if state, why := s.State(ledger.Claim{Agent: "pi", Lease: json.RawMessage(text)}); state != "" || why != "" {
			t.Errorf("%s: %s %s", text, state, why)
		}
	}
	s.Holder = func() (Holder, bool) { return Holder{}, false }
	if got := s.Lease(nil); got != nil {
		t.Errorf("a person got %s", got)
	}
}
