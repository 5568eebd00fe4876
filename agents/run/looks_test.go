package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

func TestRunIDIsConfined(t *testing.T) {
	w := newWorld(t)
	w.start(task("a"))
	for _, id := range []string{"..", "../r1", "a/../r1", "/etc", ".", ".hidden", "r1/..", "A", "r1\x00", strings.Repeat("a", 65), "-x"} {
		if _, err := w.store.Run(id); err == nil {
			t.Errorf("%q was opened", id)
		}
		if _, err := w.store.Start(Plan{ID: id, Goal: "g", Settings: must(w.store.Config()).Settings}); err == nil {
			t.Errorf("%q was started", id)
		}
	}
	out := t.TempDir()
	for name, to := range map[string]string{"away": out, "up": "../..", "other": "r1"} {
		if err := os.Symlink(to, filepath.Join(w.store.Path, "runs", name)); err != nil {
			t.Fatal(err)
		}
		r, err := w.store.Run(name)
		if err == nil {
			_, err = r.State()
		}
		if err == nil {
			t.Errorf("run %s is a link to %s, and was read", name, to)
		}
	}
	r := must(w.store.Run("r1"))
	if err := os.Remove(filepath.Join(r.Path, eventsFile)); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(out, "e"), nil, 0o600)
	os.Symlink(filepath.Join(out, "e"), filepath.Join(r.Path, eventsFile))
	if err := r.Note(RunNote, map[string]int{}); err == nil {
		t.Error("a link to elsewhere was appended to")
	}
	if b, _ := os.ReadFile(filepath.Join(out, "e")); len(b) != 0 {
		t.Errorf("%q was written outside", b)
	}
}

// snapshot is every file below dirs with its bytes, mode and time of change.
func snapshot(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			text := ""
			if info.Mode().IsRegular() {
				b, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				text = digest(b)
			}
			all[p] = fmt.Sprint(info.Mode(), info.ModTime().UnixNano(), info.Size(), text)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestReadsWriteNothing(t *testing.T) {
	w := newWorld(t)
	os.Mkdir(filepath.Join(w.dir, LegacyDir), 0o700)
	r := w.start(task("a"))
	worker(t, r, "w1")
	must(r.Claim("a", "w1", time.Minute))
	w.pass(time.Hour) // overdue: a look frees nothing
	before := snapshot(t, w.dir, w.home)
	s := must(Open(w.dir, w.options()))
	look := must(s.Run(""))
	state, err := look.State()
	if err != nil || len(state.Overdue(w.now)) != 1 {
		t.Fatal(state, err)
	}
	look.Divergence(state)
	must(look.Replay(func(Event) error { return nil }))
	must(look.OldLogs(state))
	_, _, err = look.EvidenceList()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := look.Damaged(); !errors.Is(err, ErrSound) {
		t.Error(err)
	}
	must(s.Config())
	must(s.Advice())
	s.Runs()
	if found := Legacy(w.dir, w.home); len(found) != 1 || !found[0].Both {
		t.Errorf("%+v", found)
	}
	if diff := cmp.Diff(before, snapshot(t, w.dir, w.home)); diff != "" {
		t.Error(diff)
	}
}

func TestStartTouchesNoOtherRun(t *testing.T) {
	w := newWorld(t)
	r := w.start(task("a"))
	if err := r.Register("w1", Registration{Adapter: "command", Substrate: Process}); err != nil {
		t.Fatal(err)
	}
	must(r.Claim("a", "w1", time.Minute))
	before := snapshot(t, r.Path, filepath.Join(w.store.Path, "learning"), filepath.Join(w.store.Path, "migrations"))
	w.pass(time.Hour)
	other := must(w.store.Start(Plan{ID: "r2", Goal: "g", Settings: must(w.store.Config()).Settings}))
	if diff := cmp.Diff(before, snapshot(t, r.Path, filepath.Join(w.store.Path, "learning"), filepath.Join(w.store.Path, "migrations"))); diff != "" {
		t.Error(diff)
	}
	if id := must(w.store.Active()); id != other.ID || w.state(r).Over() {
		t.Errorf("active is %q", id)
	}
}

func TestDivergentFilesAreReported(t *testing.T) {
	w := newWorld(t)
	r := w.start(task("a"))
	worker(t, r, "w1")
	s := w.state(r)
	if d := r.Divergence(s); d != nil {
		t.Fatal(d)
	}
	path := filepath.Join(r.Path, workersFile)
	text := must(os.ReadFile(path))
	for _, c := range []struct{ text, want string }{
		{strings.Replace(string(text), `"active"`, `"closed"`, 1), "another program changed it"},
		{strings.Replace(string(text), `"active"`, `"gone"`, 1), "want one of"},
		{strings.Replace(string(text), `"seq": 3`, `"seq": 99`, 1), "ahead of the events"},
		{"{", "not JSON"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		d := r.Divergence(s)
		if len(d) != 1 || !strings.Contains(d[0].Error(), c.want) {
			t.Errorf("got %v, want %s", d, c.want)
		}
		if w.state(r).Worker("w1").Retention != Active {
			t.Error("the file was believed")
		}
	}
	must(r.Claim("a", "w1", 0))
	if d := r.Divergence(w.state(r)); d != nil {
		t.Errorf("after a change: %v", d)
	}
}

// What aisync writes is what the schema says, for every file and line of a run.
func TestRunFilesMatchSchema(t *testing.T) {
	w := newWorld(t)
	r := w.start(spec.RunTask{ID: "a", Title: "t", Command: []string{"true"}, Env: map[string]string{"A": "b"}, Evidence: []string{"command"}})
	if err := r.Register("w1", Registration{Task: "a", Adapter: "command", Substrate: Process, Log: "logs/w1.log", Owner: "x"}); err != nil {
		t.Fatal(err)
	}
	started := r.Change(func(c *Change) error {
		return c.Started("w1", Handle{PID: 1, Start: 2, Boot: "19cb1487-0f3a-4b0e-9d2c-5a1f8c7e6b2d", Command: []string{"true"}})
	})
	tok := must(r.Claim("a", "w1", time.Minute))
	zero := 0
	for _, err := range []error{started, r.Ready(tok), r.Renew(tok, 0), r.AddEvidence(tok, Evidence{Kind: "command", Command: "x", ExitCode: &zero}), r.Complete(tok),
		r.Move("w1", Move{To: CompletedRetained, By: BySupervisor, Reason: "done"}), r.Note(SupervisorLeft, map[string]int{"pid": 1}), r.Finish(RunCompleted, "")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range Projections {
		kind := strings.TrimSuffix(name, ".json")
		if err := schema.CheckRun(kind, name, must(os.ReadFile(filepath.Join(r.Path, name)))); err != nil {
			t.Error(err)
		}
	}
	for line := range strings.Lines(string(must(os.ReadFile(filepath.Join(r.Path, eventsFile))))) {
		if err := schema.CheckRun("event", eventsFile, []byte(line)); err != nil {
			t.Error(line, err)
		}
	}
}

// A line that aisync reads is JSON that anybody reads alike.
func TestEventLineIsJSON(t *testing.T) {
	e := Event{Seq: 7, At: clock.Moment{Wall: 1_767_323_045_006, Boot: "0a-0b", Up: 12}, Type: TaskClaimed, Task: "t", Worker: "w", Token: "7-00", Lease: time.Minute, Data: json.RawMessage(`{"x":"<\u2028>"}`)}
	line, _, err := appendLine(nil, e, firstSum("r"))
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(line, &v); err != nil {
		t.Fatal(err)
	}
	if v["seq"] != 7.0 || v["ts"] != "2026-01-02T03:04:05.006Z" || v["taskId"] != "t" || v["lease"] != 60000.0 || v["up"] != 12.0 {
		t.Errorf("%s", line)
	}
	got, _, err := new(decoder).line(line[:len(line)-1], firstSum("r"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, got); diff != "" {
		t.Error(diff)
	}
}
