package task

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/schema/spec"
)

// Tasks that are passed over for one reason are named in one sentence.
func TestRunNamesAReasonOnce(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"a", "b", "c"} {
		w.queued(spec.Task{ID: id, Steps: []spec.TaskStep{{ID: "s", Action: "edit", File: "src/a.txt", Instructions: "x"}}, Write: []string{"src/*"}})
	}
	r := runnerAt(w.dir)
	r.Executor = unfit{"c": "it is too hard"}
	_, err := r.Run(context.Background(), "core", 0, time.Time{})
	if !errors.Is(err, ErrUnable) {
		t.Fatal(err)
	}
	if got, want := err.Error(), "tasks a, b: it is not installed\ntask c: it is too hard"; !strings.HasPrefix(got, want) || strings.Count(got, "not installed") != 1 {
		t.Errorf("got %q, want %q", got, want)
	}
}

// unfit is an executor that can do no task: it has the reasons of some.
type unfit map[string]string

func (u unfit) Can(t spec.Task) error {
	if why := u[t.ID]; why != "" {
		return errors.New(why)
	}
	return errors.New("it is not installed")
}

func (u unfit) Edit(context.Context, Work) (Outcome, error) { panic("it can do none") }

func TestNamedTasks(t *testing.T) {
	var ids []string
	for n := range 13 {
		ids = append(ids, fmt.Sprint(n))
	}
	for n, want := range map[int]string{1: "task 0", 2: "tasks 0, 1", 11: "tasks 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10", 13: "tasks 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 3 more"} {
		if got := named(ids[:n]); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
