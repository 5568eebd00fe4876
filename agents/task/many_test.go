package task

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/internal/proof"
)

// Ten executors in separate processes share a queue of a hundred tasks,
// of which some wait for others. Three are killed with a task in hand; the rest
// recover it. Each task is done once, after what it needs.
func TestConcurrentExecutorsRunTasksOnce(t *testing.T) {
	proved := proof.Start(t, 14)
	files := map[string]string{}
	needs := map[string]string{}
	for n := range 100 {
		id, need := fmt.Sprintf("t%02d", n), "-"
		if n%3 == 0 && n > 10 {
			need = fmt.Sprintf("t%02d", n/2)
			needs[id] = need
		}
		files["queue/p/"+id+".yaml"] = fmt.Sprintf("%s %d %d %s -", id, 1+n%4, n%28, need)
	}
	q := queueOf(t, files)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var all []*exec.Cmd
	for n := range 10 {
		cmd := exec.Command(self, "-test.run=^TestExecutorProcess$")
		cmd.Env = append(os.Environ(), "TASK_EXECUTOR="+q.Dir, fmt.Sprintf("TASK_DIES=%t", n < 3))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, cmd)
	}
	killed := 0
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGKILL {
				t.Error(err)
			}
			killed++
		}
	}
	if killed == 0 {
		t.Error("none was killed: nothing was recovered")
	}
	log, err := os.ReadFile(q.path("log"))
	if err != nil {
		t.Fatal(err)
	}
	did := strings.Fields(string(log))
	for id, need := range needs {
		if slices.Index(did, need) > slices.Index(did, id) {
			t.Errorf("%s was done before %s", id, need)
		}
	}
	want := map[string]string{"log": string(log)}
	for name, text := range files {
		want[strings.Replace(name, "queue/p/", "queue/p/done/", 1)] = text
	}
	if diff := cmp.Diff(want, q.tree(t)); diff != "" {
		t.Error(diff)
	}
	slices.Sort(did)
	if len(did) != 100 || len(slices.Compact(did)) != 100 {
		t.Errorf("%d tasks done: %v", len(did), did)
	}
	proved("tasks", len(did), "kills", killed)
}

// TestExecutorProcess is one of the processes: it works the queue until nothing is
// left in it, and puts back what the dead have left.
func TestExecutorProcess(t *testing.T) {
	dir := os.Getenv("TASK_EXECUTOR")
	if dir == "" {
		return // it is run by the test above
	}
	q := Queue{Dir: dir, Self: Here(), Load: plain, Approvals: approveAll}
	for deadline := time.Now().Add(time.Minute); ; {
		if time.Now().After(deadline) {
			t.Fatal("the queue does not get empty")
		}
		left, err := q.Abandoned("p", process.System())
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range left {
			i, err := q.Claim(i)
			if err == nil {
				_, err = q.GiveBack(i)
			}
			if err != nil && !errors.Is(err, ErrTaken) {
				t.Fatal(err)
			}
		}
		i, err := q.take("p")
		var b *Blocked
		switch {
		case errors.As(err, &b):
			time.Sleep(time.Millisecond) // for others to get done
			continue
		case errors.Is(err, ErrNone):
			if all, err := q.List(); err != nil || slices.ContainsFunc(all, func(i Item) bool { return i.State != Done }) {
				continue
			}
			return
		case err != nil:
			t.Fatal(err)
		}
		if os.Getenv("TASK_DIES") == "true" {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		f, err := os.OpenFile(q.path("log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err == nil {
			_, err = fmt.Fprintln(f, i.Task.ID)
			err = errors.Join(err, f.Close())
		}
		if err == nil {
			_, err = q.Finish(i, Done)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
