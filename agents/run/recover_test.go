package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/internal/proof"
)

// sample is a run with some history.
func sample(t *testing.T) (*world, *Run) {
	w := quickWorld(t)
	r := w.start(graph()...)
	worker(t, r, "w1")
	tok := must(r.Claim("t0", "w1", time.Minute))
	for range 3 {
		if err := r.Renew(tok, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Complete(tok); err != nil {
		t.Fatal(err)
	}
	return w, r
}

func TestRecoverKeepsTornTail(t *testing.T) {
	w, r := sample(t)
	path := filepath.Join(r.Path, eventsFile)
	whole := must(os.ReadFile(path))
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	line := int64(bytes.Count(whole[:last], []byte("\n")) + 1)
	for cut := last + 1; cut < len(whole); cut += 31 {
		w2 := copyOf(t, w)
		r := must(w2.store.Run("r1"))
		path := filepath.Join(r.Path, eventsFile)
		torn := whole[:cut]
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(r.Path, checkpointFile)) // it was killed before it came to that
		_, err := r.State()
		var d *Damage
		if !errors.As(err, &d) || d.Line != line || d.Offset != int64(last) || !d.Torn || !strings.Contains(err.Error(), fmt.Sprintf("events.jsonl:%d:", line)) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if err := r.Note(RunNote, map[string]int{}); !errors.As(err, &d) {
			t.Fatalf("cut at %d: appended behind a torn line: %v", cut, err)
		}
		before := snapshot(t, w2.dir)
		if rec, err := r.Damaged(); err != nil || rec.Line != line {
			t.Fatal(rec, err)
		}
		if diff := cmp.Diff(before, snapshot(t, w2.dir)); diff != "" {
			t.Fatal(diff)
		}
		rec, err := r.Recover()
		if err != nil {
			t.Fatal(err)
		}
		if kept := must(os.ReadFile(filepath.Join(r.Path, rec.Kept))); string(kept) != string(torn[last:]) || rec.Lines != 0 || !rec.Torn {
			t.Fatalf("%+v keeps %q", rec, kept)
		}
		var logged Recovery
		if err := json.Unmarshal(must(os.ReadFile(filepath.Join(w2.store.Path, recoveryLog))), &logged); err != nil || logged.Digest != rec.Digest {
			t.Fatal(logged, err)
		}
		s := w2.state(r)
		if s.Recovered != 1 || s.Task("t0").Status != TaskHeld {
			t.Fatalf("%+v", s)
		}
		if _, err := r.Recover(); !errors.Is(err, ErrSound) {
			t.Fatal(err)
		}
	}
}

// copyOf is the world again, elsewhere.
func copyOf(t *testing.T, w *world) *world {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(w.dir)); err != nil {
		t.Fatal(err)
	}
	w2 := *w
	w2.dir = dir
	w2.store = must(Open(dir, w2.options()))
	return &w2
}

// Every byte counts: changed, no event behind it is believed.
func TestChangedByteFailsClosed(t *testing.T) {
	w, r := sample(t)
	path := filepath.Join(r.Path, eventsFile)
	whole := must(os.ReadFile(path))
	proved := proof.Start(t, 16)
	for i := 0; i < len(whole); i += 29 {
		bad := bytes.Clone(whole)
		bad[i] ^= 1
		os.WriteFile(path, bad, 0o600)
		line := int64(bytes.Count(whole[:i], []byte("\n")) + 1)
		_, err := r.State()
		var d *Damage
		if !errors.As(err, &d) || d.Line != line && d.Line != line+1 {
			t.Fatalf("byte %d, line %d: %v", i, line, err)
		}
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for name, bad := range map[string][]byte{
		"a line less":    append(bytes.Join(lines[:3], nil), bytes.Join(lines[4:], nil)...),
		"a line twice":   append(bytes.Join(lines[:4], nil), bytes.Join(lines[3:], nil)...),
		"two exchanged":  bytes.Join([][]byte{lines[0], lines[2], lines[1], bytes.Join(lines[3:], nil)}, nil),
		"an empty line":  append(bytes.Clone(whole), '\n'),
		"the end is cut": bytes.Join(lines[:len(lines)-2], nil),
		"nothing":        nil,
		"a long line":    append(bytes.Clone(whole), bytes.Repeat([]byte("x"), maxLine+10)...),
	} {
		os.WriteFile(path, bad, 0o600)
		var d *Damage
		if _, err := r.State(); !errors.As(err, &d) {
			t.Errorf("%s: %v", name, err)
		}
		// An append looks at the end alone; what is wrong before it, a look finds.
		if err := must(w.store.Run("r1")).Note(RunNote, map[string]int{}); name != "two exchanged" && !errors.As(err, &d) {
			t.Errorf("%s: appended: %v", name, err)
		}
	}
	proved("bytes", (len(whole)+28)/29)
}

func TestRecoverReportsCutOffEvents(t *testing.T) {
	w, r := sample(t)
	path := filepath.Join(r.Path, eventsFile)
	lines := bytes.SplitAfter(must(os.ReadFile(path)), []byte("\n"))
	os.WriteFile(path, bytes.Join(lines[:len(lines)-2], nil), 0o600)
	rec, err := r.Recover()
	if err != nil || !strings.Contains(strings.Join(rec.Lost, "\n"), "task-completed t0 w1") {
		t.Fatalf("%+v %v", rec, err)
	}
	if s := w.state(r); s.Task("t0").Status != TaskHeld {
		t.Errorf("%+v", s.Task("t0"))
	}
	if err := must(w.store.Run("r1")).Note(RunNote, map[string]int{}); err != nil {
		t.Error(err)
	}
}

func TestRecoverAfterKill(t *testing.T) {
	w, r := sample(t)
	f, _ := os.OpenFile(filepath.Join(r.Path, eventsFile), os.O_WRONLY|os.O_APPEND, 0)
	f.WriteString(`{"seq":99,"torn`)
	f.Close()
	for n := 0; ; n++ {
		w2 := copyOf(t, w)
		r2 := must(w2.store.Run("r1"))
		at := dies(w2.store, n, func() { must(r2.Recover()) })
		if at == nil {
			if n < 5 {
				t.Errorf("only %d writes", n)
			}
			return
		}
		r2 = must(must(Open(w2.dir, w2.options())).Run("r1"))
		if _, err := r2.Recover(); err != nil && !errors.Is(err, ErrSound) {
			t.Fatalf("killed at %v: %v", at, err)
		}
		s, err := r2.State()
		if err != nil || s.Recovered != 1 || s.Task("t0").Status != TaskDone {
			t.Fatalf("killed at %v: %+v %v", at, s, err)
		}
		kept, _ := filepath.Glob(filepath.Join(r2.Path, "recovered", "events-*"))
		if len(kept) != 1 || string(must(os.ReadFile(kept[0]))) != `{"seq":99,"torn` {
			t.Fatalf("killed at %v: kept %v", at, kept)
		}
	}
}

func TestDamagedCheckpointIsIgnored(t *testing.T) {
	w, r := sample(t)
	path := filepath.Join(r.Path, checkpointFile)
	text := string(must(os.ReadFile(path)))
	want := w.state(r)
	for _, bad := range []string{"", "{", strings.Replace(text, "w1", "w9", 1), strings.Replace(text, `"schemaVersion":1`, `"schemaVersion":2`, 1)} {
		os.WriteFile(path, []byte(bad), 0o600)
		if diff := cmp.Diff(want, must(r.tail()), sameState); diff != "" {
			t.Error(diff)
		}
	}
}

// A process that is killed between two pages of one write leaves a torn line,
// which was never acknowledged. The next append continues without a recovery, and
// keeps what was torn off; a line that was written is never taken for one.
func TestKilledAppendIsNotDamage(t *testing.T) {
	for _, c := range []struct {
		name   string
		state  string
		reboot bool
		heals  bool
	}{
		{"killed in the middle", writing, false, true},
		{"it was written, and torn later", written, false, false},
		{"the machine went down meanwhile", writing, true, false},
	} {
		w, r := sample(t)
		path := filepath.Join(r.Path, eventsFile)
		before := must(os.ReadFile(path))
		line := `{"seq":14,"ts":"2026-01-02T03:0`
		in := intent{c.state, int64(len(before)), int64(len(before) + 200), w.now.Boot}
		lock := must(os.OpenFile(filepath.Join(r.Path, lockFile), os.O_RDWR, 0))
		if err := in.write(lock); err != nil {
			t.Fatal(err)
		}
		lock.Close()
		f := must(os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0))
		f.WriteString(line)
		f.Close()
		if c.reboot {
			w.now.Boot = "0000000a-0000ffff"
		}
		snap := snapshot(t, w.dir)
		s, err := r.State()
		if (err == nil) != c.heals || err == nil && s.AsOf.Seq != 13 {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(snap, snapshot(t, w.dir)); diff != "" {
			t.Errorf("%s: a look wrote: %s", c.name, diff)
		}
		if err := must(w.store.Run("r1")).Note(RunNote, map[string]int{}); (err == nil) != c.heals {
			t.Errorf("%s: %v", c.name, err)
		}
		if !c.heals {
			continue
		}
		kept, _ := filepath.Glob(filepath.Join(r.Path, "recovered", "events-*"))
		if len(kept) != 1 || string(must(os.ReadFile(kept[0]))) != line {
			t.Errorf("%s: kept %v", c.name, kept)
		}
		if s := w.state(r); s.Recovered != 1 || s.AsOf.Seq != 15 {
			t.Errorf("%s: %+v", c.name, s.AsOf)
		}
	}
}
