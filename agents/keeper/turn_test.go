package keeper

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"aisync.dev/aisync/agents/process"
)

func TestTurnStallsAndEnds(t *testing.T) {
	root := t.TempDir()
	if _, ok := TurnOf(root, "claude"); ok {
		t.Fatal("a turn before any hook")
	}
	if err := Moves(root, "claude", 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	turn, ok := TurnOf(root, "claude")
	if !ok || turn.Limit != 2*time.Minute || turn.Stalled(turn.Last.Add(turn.Limit-1)) || !turn.Stalled(turn.Last.Add(turn.Limit)) {
		t.Fatalf("%+v %t", turn, ok)
	}
	for i, want := range []bool{true, false} {
		if first, err := Report(root, "claude", turn, "it waits"); err != nil || first != want {
			t.Errorf("report %d: %t %v", i, first, err)
		}
	}
	if s, ok := StallOf(root, "claude", turn); !ok || s.Why != "it waits" || !s.Since.Equal(turn.Last) {
		t.Errorf("%+v %t", s, ok)
	}
	if err := Moves(root, "claude", 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	moved, _ := TurnOf(root, "claude")
	if _, ok := StallOf(root, "claude", moved); ok || !moved.Last.After(turn.Last) {
		t.Error("the stall did not end as the agent moved")
	}
	if err := Rests(root, "claude"); err != nil {
		t.Fatal(err)
	}
	if _, ok := TurnOf(root, "claude"); ok {
		t.Error("the turn did not end")
	}
	left, _ := os.ReadDir(filepath.Join(root, Dir))
	if len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// A link that a repository brings in place of such a file is replaced.
func TestTurnFollowsNoLink(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, Dir), 0o755); err != nil {
		t.Fatal(err)
	}
	theirs := filepath.Join(t.TempDir(), "theirs")
	if err := os.WriteFile(theirs, []byte("60\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, ending := range []string{turnEnding, stallEnding} {
		if err := os.Symlink(theirs, filepath.Join(root, Dir, "claude"+ending)); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := TurnOf(root, "claude"); ok {
		t.Error("a link counts as a turn")
	}
	if err := Moves(root, "claude", 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	turn, _ := TurnOf(root, "claude")
	if _, err := Report(root, "claude", turn, "x"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(theirs); err != nil || string(text) != "60\n" || turn.Limit != 2*time.Minute {
		t.Errorf("%q %v %+v", text, err, turn)
	}
}

// A keeper sleeps until a turn is due, looks each ten seconds for one that begins,
// and never without a pause: neither after a report nor while a command runs.
func TestKeeperSleepsUntilTurnIsDue(t *testing.T) {
	root, now := t.TempDir(), time.Now()
	w := watch{seat: "claude"}
	none := watch{}
	if none.next(root, now) != renewal || w.next(root, now) != lookEvery {
		t.Error("without a turn")
	}
	at := func(limit, age time.Duration) Turn {
		if err := Moves(root, "claude", limit); err != nil {
			t.Fatal(err)
		}
		last := now.Add(-age)
		if err := os.Chtimes(filepath.Join(root, Dir, "claude.turn"), last, last); err != nil {
			t.Fatal(err)
		}
		turn, _ := TurnOf(root, "claude")
		return turn
	}
	at(2*time.Minute, 0)
	if got := w.next(root, now); got != lookEvery {
		t.Errorf("a turn that began: %s", got)
	}
	at(2*time.Minute, 115*time.Second)
	if got := w.next(root, now); got < 5*time.Second || got > 6*time.Second {
		t.Errorf("five seconds before it is due: %s", got)
	}
	turn := at(2*time.Minute, 5*time.Minute)
	if got := w.next(root, now); got > time.Second {
		t.Errorf("a turn that is due: %s", got)
	}
	w.asked, w.last = now, turn.Last // the witness found that a command runs
	if got := w.next(root, now); got != lookEvery {
		t.Errorf("after a look: %s", got)
	}
	if _, err := Report(root, "claude", turn, "x"); err != nil {
		t.Fatal(err)
	}
	if got := w.next(root, now.Add(time.Hour)); got != lookEvery {
		t.Errorf("after a report: %s", got)
	}
}

// The keeper calls its program for a stalled turn, once until the next look is due.
func TestKeeperCallsWitness(t *testing.T) {
	root, table := t.TempDir(), process.System()
	a, cmd := agent(t, table)
	a.Seat = "claude"
	h, err := Hold(table, root, a)
	if err != nil {
		t.Fatal(err)
	}
	if err := Moves(root, "claude", time.Second); err != nil {
		t.Fatal(err)
	}
	called := filepath.Join(root, "called-claude") // by TestMain
	eventually(t, "the witness", func() bool {
		h.Renew()
		_, err := os.Stat(called)
		return err == nil
	})
	h.Release()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if left, _ := os.ReadDir(filepath.Join(root, Dir)); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
