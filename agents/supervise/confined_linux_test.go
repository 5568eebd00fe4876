package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/confine"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/sandbox"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/schema/spec"
)

// boxed is a task in a sandbox.
func boxed(t *testing.T, id, script string, after ...string) spec.RunTask {
	t.Helper()
	if _, err := sandbox.Find(t.Context()); err != nil {
		t.Skipf("no sandbox here: %v", err)
	}
	task := sh(id, script, after...)
	task.Sandbox = true
	return task
}

// What a confined worker writes is committed for it, as it cannot, and goes on to the
// next task.
func TestConfinedWorkGoesOn(t *testing.T) {
	r, _ := inTrees(t, nil, boxed(t, "a", "git log -1 --format=%s && echo new >new && ! git commit -qam mine"), boxed(t, "b", "grep -qx new new", "a"))
	var said []string
	s := supervisor(r)
	s.Say = func(text string) { said = append(said, text) }
	out := worked(t, s)
	if text := strings.Join(said, "\n"); out.Status != run.RunCompleted || !strings.Contains(text, "worker a.1 starts (command, process, in a sandbox)") || !strings.Contains(text, "aisync committed the files that it left uncommitted: 1") {
		t.Fatalf("ended %+v: %s", out, text)
	}
	for _, w := range state(t, r).Workers {
		if !worker.InSandbox(Folder(r, w.ID), w.Owner) {
			t.Errorf("worker %s is not said to be confined", w.ID)
		}
		if _, err := os.Stat(w.Worktree + confine.Scratch); err == nil {
			t.Errorf("the scratch folder of %s is left", w.ID)
		}
	}
}

// A worker in a sandbox reaches nothing of the person, of the project, of its run and
// of other workers, which a worker outside of one does.
func TestConfinedWorkerReachesOnlyItsTree(t *testing.T) {
	home := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	t.Setenv("SECRET", "zqsecret")
	attacks := []string{
		"cat HOME/.ssh/id_ed25519", "ls HOME/.ssh", "echo x >HOME/.profile", "ln -s /etc HOME/link",
		"cat WORKSPACE/untracked", "ls WORKSPACE/.ilchul", "cat WORKSPACE/tracked", "touch WORKSPACE/.ilchul/runs/r1/events.jsonl",
		"touch WORKSPACE/.git/hooks/post-commit", "mkdir WORKSPACE/.git/hooks.d", "echo x >>WORKSPACE/.git/config", "grep example.org WORKSPACE/.git/config",
		"touch WORKSPACE/.git/index", "git update-ref refs/heads/evil HEAD", "git commit -q --allow-empty -m evil", "git config core.fsmonitor evil",
		"cat ROOT/*/r1/other.1/theirs", "touch ROOT/*/r1/other.1/theirs", "echo x >.git", "rm -f .git", "mv .git away",
		"test -n \"$SECRET\"", "test -n \"$AISYNC_CLAIM\"", "cat /etc/shadow", "cat /root/.bashrc", "kill -0 PID", "cat /proc/PID/environ",
		"bash -c 'echo >/dev/tcp/127.0.0.1/PORT'", "bash -c 'echo >/dev/tcp/1.1.1.1/53'",
	}
	place := func(r *run.Run, root, text string) string {
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		return strings.NewReplacer("HOME", home, "WORKSPACE", r.Workspace(), "ROOT", root, "PORT", port, "PID", fmt.Sprint(os.Getpid())).Replace(text)
	}
	for _, confined := range []bool{true, false} {
		script := "while ! test -e attack.sh; do sleep 0.02; done; sh attack.sh"
		task := sh("evil", script)
		if confined {
			task = boxed(t, "evil", script)
		}
		r, root := inTrees(t, nil, sh("other", "touch theirs; while ! test -e over; do sleep 0.02; done"), task)
		write := func(name, text string) {
			t.Helper()
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		_ = os.Remove(filepath.Join(home, "link"))
		write(filepath.Join(home, ".ssh/id_ed25519"), "key")
		write(filepath.Join(r.Workspace(), "untracked"), "mine")
		var b strings.Builder
		for i, a := range attacks {
			fmt.Fprintf(&b, "(%s) >/dev/null 2>&1 && echo %d >>done\n", place(r, root, a), i)
		}
		ended := make(chan Outcome, 1)
		go func() { ended <- worked(t, supervisor(r)) }()
		dir := func(id string) string {
			found, _ := filepath.Glob(filepath.Join(root, "*", "r1", id))
			return strings.Join(found, "")
		}
		until(t, "the other is at work", func() bool { _, err := os.Stat(filepath.Join(dir("other.1"), "theirs")); return err == nil })
		until(t, "its tree is there", func() bool { _, err := os.Stat(filepath.Join(dir("evil.1"), "tracked")); return err == nil })
		write(filepath.Join(dir("evil.1"), "attack.sh.new"), b.String()+place(r, root, "echo x >WORKSPACE/tracked; mkdir -p WORKSPACE/.ilchul/x; exit 0\n"))
		if err := os.Rename(filepath.Join(dir("evil.1"), "attack.sh.new"), filepath.Join(dir("evil.1"), "attack.sh")); err != nil {
			t.Fatal(err)
		}
		until(t, "the attack is over", func() bool {
			tk := state(t, r).Task("evil")
			return tk.Status != run.TaskHeld && tk.Status != run.TaskPending
		})
		write(filepath.Join(dir("other.1"), "over"), "")
		out := <-ended
		worked := lines(t, filepath.Join(dir("evil.1"), "done"))
		// Where the project lies in /tmp, a sandbox has folders of that name in its own.
		tracked, err := os.ReadFile(filepath.Join(r.Workspace(), "tracked"))
		if _, made := os.Stat(filepath.Join(r.Workspace(), ".ilchul/x")); confined != (string(tracked) == "1\n" && err == nil) || confined != errors.Is(made, os.ErrNotExist) {
			t.Errorf("the project has %q, %v, and .ilchul/x: %v", tracked, err, made)
		}
		if confined {
			for _, i := range worked {
				t.Errorf("it could: %s", attacks[number(t, i)])
			}
			if out.Status != run.RunCompleted {
				t.Errorf("ended %+v", out)
			}
		} else if len(worked) < 15 { // the attacks are real ones
			t.Errorf("of %d attacks only %d work outside of a sandbox", len(attacks), len(worked))
		}
	}
}

func number(t *testing.T, text string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Git would run what the settings of a repository in the tree name.
func TestConfinedWorkerMakesNoRepository(t *testing.T) {
	r, _ := inTrees(t, nil, boxed(t, "a", "git init -q sub && echo x >sub/x"))
	out := worked(t, supervisor(r))
	if task := state(t, r).Task("a"); out.Status != run.RunFailed || !strings.Contains(task.Reason, "sub/.git, which belongs to git") {
		t.Errorf("ended %+v, task %+v", out, task)
	}
}

// Kills of supervisors neither end a sandbox nor start a second one.
func TestKilledSupervisorsRunConfinedTasksOnce(t *testing.T) {
	const tasks, kills = 6, 8
	var graph []spec.RunTask
	for i := range tasks {
		graph = append(graph, boxed(t, fmt.Sprintf("t%d", i), "echo $AISYNC_WORKER >>own; sleep 0.6; echo $AISYNC_WORKER >>ended"))
	}
	r, root := inTrees(t, func(s *spec.RunSettings) {
		s.MaxWorkers, s.MaxAttempts, s.LeaseMS, s.HeartbeatMS, s.ReadinessMS = 2, 1, 2000, 300, 60_000
	}, graph...)
	for range kills {
		cmd := killable(t, work, r)
		var says bytes.Buffer
		cmd.Stdout, cmd.Stderr = &says, &says
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random()) * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if out := worked(t, supervisor(r)); out.Status != run.RunCompleted {
		t.Fatalf("ended %+v: %+v", out, state(t, r).Tasks)
	}
	for _, task := range graph {
		owns, _ := filepath.Glob(filepath.Join(root, "*", "r1", task.ID+".*", "own"))
		if len(owns) != 1 || len(lines(t, owns[0])) != 1 || len(lines(t, filepath.Join(filepath.Dir(owns[0]), "ended"))) != 1 {
			t.Errorf("task %s was done in %v", task.ID, owns)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(root, "*", "r1", "*"+confine.Scratch)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func random() int { return rand.IntN(500) }
