package run

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"aisync.dev/aisync/agents/clock"
)

// aLine is one line behind nothing, as a corpus to begin with.
func aLine(t testing.TB, e Event) []byte {
	t.Helper()
	line, _, err := appendLine(nil, e, firstSum("r1"))
	if err != nil {
		t.Fatal(err)
	}
	return line[:len(line)-1]
}

// What the reader of lines takes is what the writer would write, byte for byte.
func FuzzEventLineHasOneForm(f *testing.F) {
	at := clock.Moment{Wall: 1_767_323_045_006, Boot: "0000000a-0000000b", Up: 7}
	f.Add(aLine(f, Event{Seq: 1, At: at, Type: WorkerHeartbeat, Task: "a", Worker: "w", Token: "1-00", Lease: time.Second}))
	f.Add(aLine(f, Event{Seq: 12, At: clock.Moment{Wall: 5}, Type: RunNote, Data: []byte(`{"a":[1,"x\u2028"]}`)}))
	f.Add([]byte(`{"seq":1}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		// Without the checksum of these very bytes nothing would get past it.
		if n := len(line) - tailSize; n > 0 {
			s := chain(firstSum("r1"), line[:n], nil)
			line = append(append(append(bytes.Clone(line[:n]), `,"sum":"`...), s[:]...), `"}`...)
		}
		e, _, err := new(decoder).line(line, firstSum("r1"))
		if err != nil {
			return
		}
		again, _, err := appendLine(nil, e, firstSum("r1"))
		if err != nil || !bytes.Equal(again, append(bytes.Clone(line), '\n')) {
			t.Fatalf("read  %q\nwrote %q (%v)", line, again, err)
		}
	})
}

// Whatever the files hold, a look ends with a state or an error, and writes
// nothing; what it calls sound can be appended to.
func FuzzEventsAreSoundOrRefused(f *testing.F) {
	w := quickWorld(f)
	r := w.start(task("a"))
	worker(f, r, "w1")
	must(r.Claim("a", "w1", time.Minute))
	events := must(os.ReadFile(filepath.Join(r.Path, eventsFile)))
	cp := must(os.ReadFile(filepath.Join(r.Path, checkpointFile)))
	f.Add(events, cp)
	f.Add(events[:len(events)-9], cp)
	f.Add(append(bytes.Clone(events), "{}\n"...), []byte("{}"))
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, events, cp []byte) {
		os.WriteFile(filepath.Join(r.Path, eventsFile), events, 0o600)
		os.WriteFile(filepath.Join(r.Path, checkpointFile), cp, 0o600)
		os.Remove(filepath.Join(r.Path, lockFile))
		look := must(w.store.Run("r1"))
		defer look.Close()
		s, err := look.State()
		if is := must(os.ReadFile(filepath.Join(r.Path, eventsFile))); !bytes.Equal(is, events) {
			t.Fatal("a look wrote")
		}
		if err != nil {
			look.Damaged()
			return
		}
		s.Blocked()
		look.Divergence(s)
		if err := look.Note(RunNote, struct{}{}); err != nil {
			t.Fatalf("sound, and not to be appended to: %v", err)
		}
	})
}

// A checkpoint from any writer names only objects that it holds.
func FuzzCheckpoint(f *testing.F) {
	w := quickWorld(f)
	r := w.start(task("a"), task("b", "a"))
	text := must(must(r.State()).save())
	_, state, _ := bytes.Cut(text, []byte("\n"))
	f.Add(bytes.TrimSpace(state))
	f.Add([]byte(`{"runId":"r1","tasks":[{"id":"a","dependsOn":["z"]}]}`))
	f.Add([]byte(`{"runId":"r1","asOf":{"seq":1},"contract":{"runId":"r1"},"tasks":[{"id":"a","claim":{"workerId":"x"}}]}`))
	f.Fuzz(func(t *testing.T, state []byte) {
		s := parseCheckpoint("r1", append(must(pack(saved{1, digest(state)})), append([]byte("\n"), state...)...))
		if s == nil {
			return
		}
		for _, e := range []Event{{Type: TaskClaimed, Task: "a", Worker: "w"}, {Type: WorkerHeartbeat, Task: "a", Lease: 1}, {Type: TaskCompleted, Task: "a"}, {Type: RunFinished, Data: []byte(`{"status":"completed"}`)}} {
			e.Seq = s.AsOf.Seq + 1
			s.apply(e)
		}
		s.Blocked()
		s.Overdue(clock.Moment{})
		for _, name := range Projections {
			if _, err := s.projection(name); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzStoreFiles(f *testing.F) {
	w := newWorld(f)
	f.Add([]byte(`{"schemaVersion":1,"runId":"r1","updatedAt":"2026-01-02T03:04:05.006Z"}`))
	f.Add([]byte(`{"schemaVersion":1,"runId":"../x","updatedAt":"2026-01-02T03:04:05.006Z"}`))
	f.Add([]byte(`{"schemaVersion":1,"runtime":{"worktreeRoot":"a/../..","maxWorkers":3}}`))
	f.Add([]byte(`{"schemaVersion":1,"hints":[{"text":"x"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if id, err := w.store.parseActive(text); err == nil && id != "" && CheckID(id) != nil {
			t.Fatalf("active is %q", id)
		}
		for _, name := range []string{configFile, "learning/policy-hints.json"} {
			os.WriteFile(filepath.Join(w.store.Path, name), text, 0o600)
		}
		if c, err := w.store.Config(); err == nil {
			if err := checkSettings(c.Settings); err != nil {
				t.Fatalf("a config gives settings that no run takes: %v", err)
			}
		}
		w.store.Advice()
	})
}
