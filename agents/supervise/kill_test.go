package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/internal/proof"
	"aisync.dev/aisync/schema/spec"
)

// TestKilledSupervisorsRunTasksOnce kills supervisor after
// supervisor with SIGKILL while they work a graph. AISYNC_RUN_KILLS=100 is the long
// form: fifty tasks, five workers.
func TestKilledSupervisorsRunTasksOnce(t *testing.T) {
	proved := proof.Start(t, 16)
	kills, tasks, workers := 12, 16, 4
	if text := os.Getenv("AISYNC_RUN_KILLS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("AISYNC_RUN_KILLS is %q: want a number", text)
		}
		kills, tasks, workers = n, 50, 5
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)

	var graph []spec.RunTask
	for i := range tasks {
		id := fmt.Sprintf("t%02d", i)
		var after []string
		for j := max(0, i-8); j < i; j++ {
			if random.IntN(4) == 0 {
				after = append(after, fmt.Sprintf("t%02d", j))
			}
		}
		// It ends when its share of the kills is over, so that they fall in all of the run.
		script := `mkdir -p own; echo $AISYNC_WORKER >> own/$AISYNC_TASK; echo $AISYNC_TASK >> all
			while read k < kills; test $k -lt %d; do sleep 0.03; done; sleep %.3f; echo $AISYNC_TASK >> ended`
		graph = append(graph, sh(id, fmt.Sprintf(script, (i+1)*kills/tasks, 0.1*random.Float64()), after...))
	}
	// An attempt that fails would be a second one: there is no second one.
	r := begun(t, settings(func(s *spec.RunSettings) {
		s.MaxWorkers, s.MaxAttempts, s.LeaseMS, s.HeartbeatMS = workers, 1, 2000, 300
	}), nil, graph...)
	if err := os.WriteFile(filepath.Join(r.Workspace(), "user-file"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}

	tell := func(kills int) { // in one step: who reads it reads a number
		temp := filepath.Join(r.Workspace(), ".kills")
		if err := errors.Join(os.WriteFile(temp, []byte(fmt.Sprintln(kills)), 0o600), os.Rename(temp, filepath.Join(r.Workspace(), "kills"))); err != nil {
			t.Fatal(err)
		}
	}
	tell(0)

	seen := map[string]bool{}
	killed, adopted := 0, 0
	for killed < kills {
		cmd := killable(t, work, r)
		var says bytes.Buffer
		cmd.Stdout, cmd.Stderr = &says, &says
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.IntN(350)) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if cmd.ProcessState.Exited() {
			t.Fatalf("after %d kills a supervisor ended with %d: %s", killed, cmd.ProcessState.ExitCode(), says.String())
		}
		killed++
		tell(killed)
		st := state(t, r)
		for _, task := range st.Tasks {
			if task.Held() {
				adopted++
				break
			}
		}
		stillThere(t, r.Workspace(), seen)
	}
	out := worked(t, supervisor(r))
	stillThere(t, r.Workspace(), seen)
	t.Logf("%d kills, %d of them while a task was held; %+v", killed, adopted, out)
	if out.Status != run.RunCompleted {
		t.Errorf("ended %+v", out)
	}
	once(t, r, tasks)
	for _, task := range graph {
		if got := lines(t, filepath.Join(r.Workspace(), "own", task.ID)); len(got) != 1 {
			t.Errorf("task %s was done by %v", task.ID, got)
		}
	}
	if ended := lines(t, filepath.Join(r.Workspace(), "ended")); len(ended) != tasks {
		t.Errorf("%d of %d tasks came to their end", len(ended), tasks)
	}
	afterTheirDependencies(t, r, graph)
	if replayed, err := r.Replay(nil); err != nil || replayed.AsOf != state(t, r).AsOf {
		t.Errorf("a replay: %v", err)
	}
	proved("kills", killed, "tasks", tasks)
}

// stillThere fails if anything that was seen in a folder before is gone, but for
// the temporary files that a write leaves for a moment.
func stillThere(t *testing.T, root string, seen map[string]bool) {
	t.Helper()
	now := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a temporary one
		}
		if err == nil && filepath.Base(path)[0] != '.' || d != nil && d.Name() == run.Dir {
			now[path] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range seen {
		if !now[path] {
			t.Errorf("deleted: %s", path)
		}
	}
	for path := range now {
		seen[path] = true
	}
}

// afterTheirDependencies fails if a task began before one that it waits for ended.
func afterTheirDependencies(t *testing.T, r *run.Run, graph []spec.RunTask) {
	t.Helper()
	all := lines(t, filepath.Join(r.Workspace(), "all"))
	for _, task := range graph {
		for _, before := range task.DependsOn {
			if slices.Index(all, before) > slices.Index(all, task.ID) {
				t.Errorf("%s began before %s, which it waits for", task.ID, before)
			}
		}
	}
}
