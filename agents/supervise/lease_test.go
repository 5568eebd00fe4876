package supervise

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/run"
)

// at is a clock that a test sets.
type at struct {
	mu   sync.Mutex
	wall time.Duration // by which the wall clock is off
	up   time.Duration // by which time has passed
}

func (c *at) now() clock.Moment {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := clock.Now()
	m.Wall += (c.wall + c.up).Milliseconds()
	m.Up += c.up.Milliseconds()
	return m
}

func (c *at) set(wall, up time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall, c.up = wall, up
}

func TestClockJumpKeepsLiveClaim(t *testing.T) {
	var clock at
	r := begun(t, settings(nil), clock.now, sh("a", "echo $AISYNC_TASK >> all; while ! test -e go; do sleep 0.02; done"))
	var wait sync.WaitGroup
	wait.Go(func() { worked(t, supervisor(r)) })
	until(t, "it runs", func() bool { return len(state(t, r).Workers) > 0 && state(t, r).Workers[0].Ready.Wall != 0 })
	for _, c := range []struct{ wall, up time.Duration }{{10 * 24 * time.Hour, 0}, {-10 * 24 * time.Hour, 0}, {0, 48 * time.Hour}} {
		clock.set(c.wall, c.up)
		time.Sleep(100 * time.Millisecond)
		st := state(t, r)
		if task := st.Task("a"); !task.Held() || task.Attempts != 1 || st.Workers[0].Retention != run.Active {
			t.Errorf("clock off by %s, %s later: task is %s after %d attempts, worker %s", c.wall, c.up, task.Status, task.Attempts, st.Workers[0].Retention)
		}
	}
	if n := state(t, r).Task("a").Claim.Renewed.Since(state(t, r).Task("a").Claim.Acquired); n < 48*time.Hour {
		t.Errorf("the claim was renewed %s after it was made", n)
	}
	if err := os.WriteFile(filepath.Join(r.Workspace(), "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	once(t, r, 1)
}

func TestExpiredForeignLeaseKeepsWorker(t *testing.T) {
	var clock at
	r := begun(t, settings(nil), clock.now, sh("a", "echo $AISYNC_TASK >> all"))
	if err := r.Register("them", run.Registration{Adapter: "manual", Substrate: run.External}); err != nil {
		t.Fatal(err)
	}
	token, err := r.Claim("a", "them", 0)
	if err != nil {
		t.Fatal(err)
	}
	var out Outcome
	var wait sync.WaitGroup
	wait.Go(func() { out = worked(t, supervisor(r)) })
	time.Sleep(100 * time.Millisecond)
	if n := len(state(t, r).Workers); n != 1 {
		t.Errorf("a held task was given to another worker: %d workers", n)
	}
	clock.set(0, time.Hour)
	wait.Wait()
	if out.Status != run.RunCompleted {
		t.Errorf("ended %+v", out)
	}
	var no *run.Refusal
	if err := r.Complete(token); !errors.As(err, &no) || no.Rule != "stale-token" {
		t.Errorf("the late one says it is done: %v", err)
	}
	if w := state(t, r).Worker("them"); w.Retention != run.Active {
		t.Errorf("their worker is %s", w.Retention)
	}
	once(t, r, 1)
}
