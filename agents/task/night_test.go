package task

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/schema/spec"
)

func TestNightContinuesAfterQueueError(t *testing.T) {
	idle := queueOf(t, map[string]string{"queue/a/.keep": ""})
	broken := errors.New("line one\nline two")
	clock := time.Date(2026, 3, 1, 2, 0, 0, 0, time.Local)
	n, err := Shift{
		Open: func(repo spec.Named) (Queue, error) {
			if repo.Value == "~/gone" {
				return Queue{}, errors.New("it is not there")
			}
			return idle, nil
		},
		Runner: func(_ context.Context, q Queue) (Runner, error) { return Runner{Queue: q}, broken },
		Now: func() time.Time {
			clock = clock.Add(time.Hour)
			return clock
		},
	}.Work(t.Context(), spec.Nightly{Repos: []spec.Named{{Value: "~/gone"}, {Value: "~/there"}}})
	if err != nil {
		t.Fatal(err)
	}
	const want = "The night from 2026-03-01 03:00 to 04:00\n\n~/gone: nothing was done\n  it is not there\n\n~/there, queue a: nothing was done\n  line one\n  line two\n"
	if n.Text() != want || n.OK() {
		t.Errorf("ok %v:\n%s", n.OK(), n.Text())
	}
}

func TestNightIsOKUnlessATaskOrAQueueFailed(t *testing.T) {
	for name, c := range map[string]struct {
		queue NightQueue
		ok    bool
		says  string
	}{
		"idle":   {NightQueue{Repo: "r", Queue: "q"}, true, "r, queue q: nothing to do\n"},
		"done":   {NightQueue{Repo: "r", Queue: "q", Reports: []*Report{{TaskID: "one", Status: "done"}}}, true, "r, queue q: 1 done, 0 failed\n"},
		"failed": {NightQueue{Repo: "r", Queue: "q", Reports: []*Report{{TaskID: "one", Status: "failed"}}}, false, "r, queue q: 0 done, 1 failed\n"},
		"broken": {NightQueue{Repo: "r", Err: errors.New("why")}, false, "r: nothing was done\n  why\n"},
	} {
		n := Night{Queues: []NightQueue{c.queue}}
		if n.OK() != c.ok || !strings.Contains(n.Text(), c.says) {
			t.Errorf("%s: ok %v\n%s", name, n.OK(), n.Text())
		}
	}
	if !Idle(ErrNone) || Idle(errors.Join(ErrNone, ErrUnable)) || Idle(nil) {
		t.Error("Idle takes an error for its opposite")
	}
}

func TestLastNightIsNewest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nights")
	if text, err := LastNight(dir); text != "" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	for _, day := range []int{3, 1, 2} {
		if err := (Night{Began: time.Date(2026, 1, day, 2, 0, 0, 0, time.Local)}).Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := LastNight(dir); err != nil || !strings.HasPrefix(text, "The night from 2026-01-03 02:00") {
		t.Errorf("%q, %v", text, err)
	}
	files, _ := filepath.Glob(dir + "/*")
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}
