package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/schema/spec"
)

// A task takes what it may write before it begins, and gives it back once, also
// where it fails. One that cannot have it stays in its queue, and the others run.
func TestTaskHoldsWhatItWrites(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"done", "fails", "waits"} {
		command := "echo x >src/" + id + ".txt"
		if id == "fails" {
			command = "false"
		}
		w.queued(spec.Task{ID: id, Steps: []spec.TaskStep{{ID: "s", Action: "run", Command: command}}, Write: []string{"src/" + id + ".txt"}, MaxFiles: 1, MaxDiff: 1000, Timeout: time.Minute})
	}
	var said []string
	r := runnerAt(w.dir)
	r.Unsafe = true
	r.Hold = func(t spec.Task) (func(), error) {
		if t.ID == "waits" {
			return nil, errors.New("src/waits.txt is claimed by codex")
		}
		said = append(said, fmt.Sprint("hold ", t.ID, " ", t.Write))
		return func() { said = append(said, "release "+t.ID) }, nil
	}
	all, err := r.Run(context.Background(), "core", 0, time.Time{})
	if len(all) != 2 || err == nil || !strings.Contains(err.Error(), "task waits: src/waits.txt is claimed by codex") {
		t.Fatalf("%v %v", all, err)
	}
	want := []string{"hold done [src/done.txt]", "release done", "hold fails [src/fails.txt]", "release fails"}
	if !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
	if i, err := r.Queue.Find("waits"); err != nil || i.State != Queued {
		t.Errorf("the task that waits: %v %v", i.State, err)
	}
}
