package worker

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aisync.dev/aisync/agents/process"
)

// Several processes may ask a worker to end at once; how it ended is recorded
// whenever a request comes.
func TestRepeatedRequestsKeepEnd(t *testing.T) {
	for range 5 {
		folder, j := job(t, "exec sleep 60")
		start(t, starter(), folder, j)
		keeper := await(t, folder, j, "ready", func(o Observation) bool { return o.Ready != nil }).Ticket.Keeper.PID
		for began := time.Now(); time.Since(began) < 10*time.Second && unix.Kill(keeper, unix.SIGTERM) == nil; {
			time.Sleep(50 * time.Microsecond)
		}
		await(t, folder, j, "gone", Observation.Gone)
		if o := see(t, folder, j); o.State != Ended {
			t.Fatalf("it is %s", o)
		}
	}
}

func TestRequestIsKeptWithItsReason(t *testing.T) {
	folder, j := job(t, "exec sleep 60")
	start(t, starter(), folder, j)
	await(t, folder, j, "ready", func(o Observation) bool { return o.Ready != nil })
	for _, c := range []struct {
		why      string
		byPerson bool
		want     string
	}{{"not finished after 1s", false, "not finished after 1s"}, {"stopped", true, "stopped"}, {"stopped again", true, "stopped"}, {"late", false, "stopped"}} {
		if err := Ask(folder, j.Marker, c.why, c.byPerson); err != nil {
			t.Fatal(err)
		}
		if o := see(t, folder, j); o.Stop == nil || o.Stop.Why != c.want || o.State != Running {
			t.Errorf("%+v: %s, %+v", c, o, o.Stop)
		}
	}
	if err := End(context.Background(), process.System(), folder, j.Marker); err != nil {
		t.Fatal(err)
	}
	if o := see(t, folder, j); o.State != Ended || o.Stop == nil {
		t.Errorf("%s, %+v", o, o.Stop)
	}
	// A request that comes after the end is none.
	folder, j = job(t, "true")
	start(t, starter(), folder, j)
	await(t, folder, j, "gone", func(o Observation) bool { return o.State == Ended && o.Gone() })
	if err := Ask(folder, j.Marker, "stopped", true); err != nil {
		t.Fatal(err)
	}
	if o := see(t, folder, j); o.Stop != nil {
		t.Errorf("%+v", o.Stop)
	}
	if _, err := Observe(process.System(), folder, NewMarker()); err == nil {
		t.Error("another worker's request is read")
	}
}
