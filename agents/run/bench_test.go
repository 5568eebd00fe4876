package run

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"aisync.dev/aisync/schema/spec"
)

// long makes a run of n events: claims, heartbeats, evidence and completions,
// as fifty tasks on five workers leave them that fail again and again.
func long(t testing.TB, n int) (*world, *Run) {
	w := quickWorld(t)
	var tasks []spec.RunTask
	for i := range 50 {
		tasks = append(tasks, task(fmt.Sprintf("task-%d", i)))
	}
	settings := must(w.store.Config()).Settings
	settings.RequireEvidence = false
	r := must(w.store.Start(Plan{ID: "r1", Goal: "g", Tasks: tasks, Settings: settings}))
	for i := range 5 {
		worker(t, r, fmt.Sprintf("worker-%d", i))
	}
	s := must(r.State())
	f, err := os.OpenFile(filepath.Join(r.Path, eventsFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	for i := 0; s.AsOf.Seq < int64(n); i++ {
		c := &Change{State: s, Now: w.now, id: "r1", size: s.AsOf.Offset}
		copy(c.last[:], s.AsOf.Sum)
		tok, err := c.Claim(fmt.Sprintf("task-%d", i%50), fmt.Sprintf("worker-%d", i%5), 0)
		for range 20 {
			if err == nil && s.AsOf.Seq < int64(n) {
				w.now.Wall, w.now.Up = w.now.Wall+30_000, w.now.Up+30_000
				c.Now = w.now
				err = c.Held(WorkerHeartbeat, tok, 15*time.Minute, nil)
			}
		}
		if err == nil {
			err = c.Held(ClaimReleased, tok, 0, Reason{"not yet"})
		}
		if err != nil {
			t.Fatal(err)
		}
		out.Write(c.lines)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	r.project(s)
	return w, r
}

// The target is 3 s for a million events, in memory that does not grow with them.
func BenchmarkReplayOfAMillionEvents(b *testing.B) {
	_, r := long(b, 1_000_000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		if _, err := r.Replay(nil); err != nil {
			b.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/1e6, "MB-allocated/op")
}

func BenchmarkStateOfTenThousandEvents(b *testing.B) {
	_, r := long(b, 10_000)
	for b.Loop() {
		if _, err := r.State(); err != nil {
			b.Fatal(err)
		}
	}
}

// A heartbeat costs the same behind a thousand events and behind a million; the
// run is opened anew for each, as separate processes do.
func BenchmarkHeartbeat(b *testing.B) {
	for _, n := range []int{1_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w, r := long(b, n)
			tok := must(r.Claim("task-0", "worker-0", 0))
			for b.Loop() {
				if err := must(w.store.Run("r1")).Renew(tok, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What a heartbeat reads is bounded, whatever the history.
func TestAppendReadsOnlyTheEnd(t *testing.T) {
	w, r := long(t, 30_000)
	tok := must(r.Claim("task-0", "worker-0", 0))
	for range 3 * stride {
		if err := must(w.store.Run("r1")).Renew(tok, 0); err != nil {
			t.Fatal(err)
		}
		cp := r.checkpoint()
		if info := must(os.Stat(filepath.Join(r.Path, eventsFile))); info.Size()-cp.AsOf.Offset > stride*300 {
			t.Fatalf("the next append reads %d bytes", info.Size()-cp.AsOf.Offset)
		}
	}
	// Nothing of the beginning is read: it may even be unreadable.
	path := filepath.Join(r.Path, eventsFile)
	f, _ := os.OpenFile(path, os.O_RDWR, 0)
	f.WriteAt([]byte("x"), 100)
	f.Close()
	if err := must(w.store.Run("r1")).Renew(tok, 0); err != nil {
		t.Error(err)
	}
	if _, err := must(w.store.Run("r1")).Replay(nil); err == nil {
		t.Error("a replay does not see it")
	}
}
