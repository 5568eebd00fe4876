package task

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/schema/spec"
)

// onlyDigests is the person who approved these texts.
func onlyDigests(texts ...string) Approvals {
	var known []string
	for _, t := range texts {
		known = append(known, Digest([]byte(t)))
	}
	return func() (func(string) bool, error) {
		return func(d string) bool { return slices.Contains(known, d) }, nil
	}
}

func TestOnlyApprovedTasksAreNext(t *testing.T) {
	const a, b, c = "a 1 1 - -", "b 2 1 - -", "c 3 1 a -"
	for name, one := range map[string]struct {
		approved []string
		files    map[string]string
		want     string // the id that is next, or the error
		idle     bool
	}{
		"none":                        {nil, map[string]string{"queue/p/a.yaml": a, "queue/p/b.yaml": b}, "2 tasks of queue p are not approved on this machine: a, b", false},
		"the second":                  {[]string{b}, map[string]string{"queue/p/a.yaml": a, "queue/p/b.yaml": b}, "b", false},
		"changed by one byte":         {[]string{a}, map[string]string{"queue/p/a.yaml": a + " "}, "1 task of queue p is not approved on this machine: a", false},
		"another of that name":        {[]string{a}, map[string]string{"queue/p/a.yaml": b}, "1 task of queue p is not approved on this machine: b", false},
		"under another name":          {[]string{a}, map[string]string{"queue/p/x.yml": a}, "a", false},
		"of a queue that waits":       {[]string{c}, map[string]string{"queue/p/a.yaml": a, "queue/p/c.yaml": c}, "1 task of queue p is not approved on this machine: a", false},
		"beside a file that is wrong": {nil, map[string]string{"queue/p/a.yaml": a, "queue/p/w.yaml": "?"}, "no task of p may start: w.yaml: no task\n1 task of queue p is not approved on this machine: a", false},
		"in the inbox, not asked":     {nil, map[string]string{"inbox/a.yaml": a, "queue/p/.keep": ""}, "No tasks in queue", true},
		"of another queue, not asked": {nil, map[string]string{"queue/q/a.yaml": a, "queue/p/.keep": ""}, "No tasks in queue", true},
	} {
		t.Run(name, func(t *testing.T) {
			q := queueOf(t, one.files)
			q.Approvals = onlyDigests(one.approved...)
			i, err := q.Next("p")
			got := i.Task.ID
			if err != nil {
				got = err.Error()
			}
			if got != one.want || Idle(err) != one.idle {
				t.Errorf("idle %t, %s\nwant %t, %s", Idle(err), got, one.idle, one.want)
			}
		})
	}
	q := queueOf(t, map[string]string{"queue/p/a.yaml": a})
	q.Approvals = nil
	if _, err := q.Next("p"); !errors.As(err, new(*NotApproved)) {
		t.Errorf("without approvals: %v", err)
	}
	broken := errors.New("damaged")
	q.Approvals = func() (func(string) bool, error) { return nil, broken }
	if _, err := q.Next("p"); !errors.Is(err, broken) {
		t.Errorf("with broken approvals: %v", err)
	}
}

func TestNotApprovedNamesCommand(t *testing.T) {
	n := &NotApproved{Dir: "/src/a b", Project: "p"}
	for i := range 7 {
		n.Items = append(n.Items, Item{Task: spec.Task{ID: fmt.Sprintf("t%d", i)}})
	}
	if got := n.Error() + "; " + n.Hint(); got != "7 tasks of queue p are not approved on this machine: t0, t1, t2, t3, t4, and 2 more; read them, then run: aisync task approve --all --project p" {
		t.Error(got)
	}
	n.Items = n.Items[:2]
	if got := n.Command(n.Dir); got != "aisync task approve --repo '/src/a b' t0 t1" {
		t.Error(got)
	}
}

// What is claimed is read again, and only that counts: a file that changes after
// it was chosen goes back, a link in its place is not followed.
func TestClaimTakesOnlyApprovedContent(t *testing.T) {
	const text, evil = "a 1 1 - -", "a 1 2 - -"
	for name, swap := range map[string]func(path string) error{
		"other content": func(path string) error { return os.WriteFile(path, []byte(evil), 0o644) },
		"a link to what is approved": func(path string) error {
			if err := os.Rename(path, path+".away"); err != nil {
				return err
			}
			return os.Symlink(path+".away", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := queueOf(t, map[string]string{"queue/p/a.yaml": text})
			q.Approvals = onlyDigests(text)
			next, err := q.Next("p")
			if err == nil {
				err = swap(next.Path)
			}
			if err != nil {
				t.Fatal(err)
			}
			if i, err := q.Claim(next); err == nil {
				t.Fatalf("claimed %+v", i)
			}
			if _, err := os.Lstat(next.Path); err != nil {
				t.Errorf("it is not back: %v", err)
			}
			if left, _ := os.ReadDir(q.path("queue/p/running")); len(left) > 0 {
				t.Errorf("left in running: %v", left)
			}
		})
	}
}

// A file that is swapped between the look at the queue and the claim does not run,
// not even for another that is approved: what the host allows was looked up for
// the first. After the claim the file counts for nothing.
func TestSwappedTaskFileDoesNotRun(t *testing.T) {
	w := newWorld(t)
	task := func(command string, network bool) string {
		w.queued(spec.Task{Network: network, Steps: runs(command)})
		return w.read("repo/tasks/queue/core/t1.yaml")
	}
	evil := task("echo evil >src/evil.txt", false)
	online := task("echo online >src/online.txt", true)
	good := task("echo good >src/good.txt", false)
	swapped := func(text string, approved ...string) Runner {
		w.write("repo/tasks/queue/core/t1.yaml", good)
		r := runnerAt(w.dir)
		r.Queue.Approvals, r.Network = onlyDigests(approved...), Network{Field: "the field"}
		read := 0
		r.Queue.Load = func(name string, got []byte) (spec.Task, error) {
			t, err := written(name, got)
			if read++; read == 1 {
				w.write("repo/tasks/queue/core/t1.yaml", text)
			}
			return t, err
		}
		return r
	}
	if report, err := swapped(evil, good).Once(t.Context(), "core"); report != nil || !errors.As(err, new(*NotApproved)) {
		t.Errorf("%+v, %v", report, err)
	}
	report, err := swapped(online, good, online).Once(t.Context(), "core")
	if n := (*noNetwork)(nil); report != nil || !errors.As(err, &n) || !strings.Contains(n.Hint(), "the field") || !strings.Contains(err.Error(), "tasks/queue/core/t1.yaml asks for the network (constraints: network: true)") {
		t.Errorf("%+v, %v", report, err)
	}
	w.write("repo/tasks/queue/core/t1.yaml", good)
	r := runnerAt(w.dir)
	r.Queue.Approvals = onlyDigests(good)
	r.Reached = func(stage string) {
		if stage == stageClaimed {
			files, _ := filepath.Glob(filepath.Join(w.repo, "tasks/queue/core/running/*.yaml"))
			if len(files) != 1 || os.WriteFile(files[0], []byte(evil), 0o644) != nil {
				t.Errorf("nothing to swap: %v", files)
			}
		}
	}
	report, err = r.Once(t.Context(), "core")
	if err != nil || !report.OK() || w.git("show", "--name-only", "--format=", report.Branch) != "src/good.txt" {
		t.Errorf("%+v, %v", report, err)
	}
}

// A clone may bring a file in running with the name of a dead process, and a
// journal that tells what to remove.
func TestForeignJournalRemovesNothing(t *testing.T) {
	w := newWorld(t)
	w.queued(spec.Task{Steps: runs("true")})
	text := w.read("repo/tasks/queue/core/t1.yaml")
	queue := filepath.Join(w.repo, "tasks/queue/core")
	mine := filepath.Join(w.dir, "mine")
	w.git("worktree", "add", "-q", "-b", "mine", mine)
	w.write("mine/uncommitted.txt", "mine\n")
	w.write("mine"+scratch+"/x", "mine\n")
	dead := Claimant{Here().Host, 1 << 30, 5}
	base := w.git("rev-parse", "main")
	begin := func(decided bool) {
		w.write("repo/tasks/queue/core/running/"+claimName("t1.yaml", dead), text)
		j := journal{By: dead, Stage: stageDecided, Tree: mine, Branch: "mine"}
		if decided {
			j.Report = &Report{TaskID: "t1", Status: string(Done), BaseCommit: base}
		}
		if err := j.write(filepath.Join(w.repo, "tasks/runs/t1")); err != nil {
			t.Fatal(err)
		}
	}
	kept := func() {
		t.Helper()
		for _, name := range []string{"mine/uncommitted.txt", "mine" + scratch + "/x"} {
			if w.read(name) != "mine\n" {
				t.Errorf("%s is gone", name)
			}
		}
	}
	if err := os.Remove(filepath.Join(queue, "t1.yaml")); err != nil {
		t.Fatal(err)
	}

	begin(true)
	r := runnerAt(w.dir)
	r.Queue.Approvals = nil
	_, err := r.Run(t.Context(), "core", 0, time.Time{})
	n := (*NotApproved)(nil)
	if !errors.As(err, &n) || n.Command("") != "aisync task approve t1" {
		t.Errorf("%v", err)
	}
	if files, _ := os.ReadDir(filepath.Join(queue, "running")); len(files) != 1 {
		t.Errorf("%v", files)
	}
	kept()

	for _, decided := range []bool{true, false} {
		for _, s := range []State{Done, Failed, Queued} {
			_ = os.Remove(filepath.Join(Queue{Dir: w.repo}.Folder("core", s), "t1.yaml"))
		}
		begin(decided)
		if err := runnerAt(w.dir).recoverQueue(t); err != nil {
			t.Error(err)
		}
		kept()
	}
}

// recoverQueue is what once does first.
func (r Runner) recoverQueue(t *testing.T) error {
	p, err := r.begin(t.Context(), "core")
	if err != nil {
		return err
	}
	return r.recover(t.Context(), p, "core")
}
