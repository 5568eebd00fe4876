package run

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

var update = flag.Bool("update", false, "write testdata/format1 anew; only a new schemaVersion may change what it has")

// formatDir holds a workspace as format 1 lays it out, with every type of event.
const formatDir = "testdata/format1"

// inFormat1 makes the run of formatDir.
func inFormat1(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.home = "/home/me"
	w.store = must(Open(w.dir, w.options()))
	r := w.start(
		spec.RunTask{ID: "parser", Title: "Port the parser", Goal: "it parses", Adapter: "opencode", Command: []string{"make", "parser"}, Env: map[string]string{"LANG": "C"}, Evidence: []string{"command:build", "output", "artifact:doc"}},
		spec.RunTask{ID: "docs", DependsOn: []string{"parser"}},
		spec.RunTask{ID: "later", DependsOn: []string{"docs"}},
	)
	zero := 0
	w.write("doc.md", "the parser\n")
	do := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
			w.pass(time.Second)
		}
	}
	claim := func(task, worker string) string {
		t.Helper()
		token, err := r.Claim(task, worker, time.Minute)
		do(err)
		return token
	}
	do(r.Note(SupervisorJoined, map[string]int{"pid": 7, "start": 70}))
	do(r.Register("parser.1", Registration{Task: "parser", Adapter: "opencode", Substrate: Tmux, Worktree: "/home/me/.ilchul/worktrees/x/parser.1", Branch: "aisync/r1/parser.1", Owner: "0123456789abcdef", Log: "logs/parser.1.log", AgentID: "helper-1"}))
	do(r.Change(func(c *Change) error {
		return c.Started("parser.1", Handle{PID: 42, Start: 4200, Boot: "19cb1487-0f3a-4b0e-9d2c-5a1f8c7e6b2d", Command: []string{"aisync", "x"}, Socket: "/tmp/tmux-1000/default", Session: "aisync-r1", Pane: "%3", Marker: "0123456789abcdef"})
	}))
	token := claim("parser", "parser.1")
	do(r.Ready(token), r.Renew(token, time.Minute), r.AddEvidence(token, Evidence{ID: "e-000000000001", Kind: "command", Name: "build", Command: "make parser", ExitCode: &zero}))
	ref, sum, size, err := r.KeepOutput(strings.NewReader("ok\n"))
	do(err, r.AddEvidence(token, Evidence{ID: "e-000000000002", Kind: "output", Ref: ref, Digest: sum, Size: size}))
	ref, sum, size, err = r.Artifact(filepath.Join(w.dir, "doc.md"))
	do(err, r.AddEvidence(token, Evidence{ID: "e-000000000003", Kind: "artifact", Name: "doc", Ref: ref, Digest: sum, Size: size}), r.Complete(token))
	do(r.Move("parser.1", Move{To: CompletedRetained, By: BySupervisor, Reason: "its work is over"}))
	do(r.Register("me", Registration{Adapter: "manual", Substrate: External}))
	do(r.Release(claim("docs", "me"), "not mine"), r.Fail(claim("docs", "me"), "exit code 1"))
	claim("docs", "me")
	w.pass(time.Hour)
	_, err = r.Expire()
	do(err)
	do(r.Note(RunNote, map[string]string{"text": "a note"}))
	w.append(filepath.Join(r.Path, eventsFile), `{"seq":`) // a torn line, as a kill leaves it
	_, err = r.Recover()
	do(err)
	do(r.Note(SupervisorLeft, map[string]any{"pid": 7, "start": 70, "reason": "it was asked to stop"}))
	do(r.Finish(RunCancelled, "the plan changed"))

	c := must(w.store.Config())
	c.Settings.RequireEvidence = false
	other, err := w.store.Start(Plan{ID: "r2", Goal: "go on", Tasks: []spec.RunTask{task("a"), task("b", "a")}, Settings: c.Settings, Reasons: c.Reasons})
	do(err, other.Register("w1", Registration{Adapter: "command", Substrate: External}))
	_, err = other.Claim("a", "w1", time.Minute)
	do(err)
	return w
}

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) append(path, text string) {
	w.t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// The reader: a workspace that an earlier aisync left is read, checked and
// worked on.
func TestFormat1IsRead(t *testing.T) {
	w := &world{t: t, dir: t.TempDir(), home: "/home/me", check: schema.CheckRun, now: clock.Moment{Wall: 1_767_330_000_000, Boot: "0000000a-0000000b", Up: 8_000_000}}
	if err := os.CopyFS(w.dir, os.DirFS(formatDir)); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.store, err = Open(w.dir, w.options()); err != nil {
		t.Fatal(err)
	}
	for _, err := range w.store.CheckFiles() {
		t.Error(err)
	}
	kinds := map[string]bool{}
	for id, want := range map[string]string{"r1": "cancelled: parser completed, docs pending, later pending", "r2": "active: a claimed, b pending"} {
		r := must(w.store.Run(id))
		for _, err := range r.CheckFiles() {
			t.Error(err)
		}
		s, err := r.Replay(func(e Event) error { kinds[e.Type] = true; return nil })
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range r.Divergence(s) {
			t.Error(err)
		}
		got := s.Contract.Status + ":"
		for i, task := range s.Tasks {
			got += map[bool]string{true: ",", false: ""}[i > 0] + " " + task.ID + " " + string(task.Status)
		}
		if got != want {
			t.Errorf("%s is read as %q, want %q", id, got, want)
		}
	}
	for _, kind := range eventTypes {
		if !kinds[kind] {
			t.Errorf("no event %s is in %s", kind, formatDir)
		}
	}
	if active, err := w.store.Active(); err != nil || active != "r2" {
		t.Errorf("active is %q, %v", active, err)
	}
	r := must(w.store.Run("r2"))
	if err := r.Complete(must(r.State()).Task("a").Claim.Token); err != nil {
		t.Error("the held task cannot be completed:", err)
	}
	if _, err := r.Claim("b", "w1", 0); err != nil {
		t.Error("the next task cannot be claimed:", err)
	}
}

// The writer: what this aisync writes is what an earlier one reads.
func TestFormat1IsWritten(t *testing.T) {
	w := inFormat1(t)
	if *update {
		if err := os.RemoveAll(formatDir); err != nil {
			t.Fatal(err)
		}
		for name, text := range laid(t, w.dir) {
			to := filepath.Join(formatDir, name)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(to, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, want := laid(t, w.dir), laid(t, formatDir)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("files (- earlier, + now):\n%s", diff)
	}
	for name, text := range want {
		if diff := cmp.Diff(string(undrawn(text)), string(undrawn(got[name]))); diff != "" {
			t.Errorf("%s (- earlier, + now):\n%s", name, diff)
		}
	}
}

// laid returns the files of a workspace by name, without locks and caches.
func laid(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == ".lock" || strings.HasPrefix(d.Name(), "checkpoint") {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil {
			out[rel], err = os.ReadFile(path)
			out[rel] = bytes.ReplaceAll(out[rel], []byte(dir), []byte("/workspace"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// drawn matches the tokens of claims, and the sums that depend on them.
var drawn = regexp.MustCompile(`("token": ?"[0-9]+-|"sum": ?")[0-9a-f]+"`)

func undrawn(text []byte) []byte { return drawn.ReplaceAll(text, []byte(`$1…"`)) }
