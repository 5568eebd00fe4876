package task

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

	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/schema"
	"aisync.dev/aisync/schema/spec"
)

// plain reads the tasks of these tests: "id priority day needs,… blocks,…", a
// dash for nothing. What package schema reads is tested there.
func plain(name string, text []byte) (spec.Task, error) {
	var t spec.Task
	var needs, blocks string
	var day int
	if n, _ := fmt.Sscan(string(text), &t.ID, &t.Priority, &day, &needs, &blocks); n != 5 || !ValidID(t.ID) {
		return t, fmt.Errorf("%s: no task", filepath.Base(name))
	}
	if day > 0 {
		t.CreatedAt = time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)
	}
	list := func(s string) []string {
		if s == "-" {
			return nil
		}
		return strings.Split(s, ",")
	}
	t.Requires, t.Blocks = list(needs), list(blocks)
	return t, nil
}

// approveAll is the person who has approved every task.
func approveAll() (func(string) bool, error) { return func(string) bool { return true }, nil }

// queueOf makes a queue of files: path below tasks, and text.
func queueOf(t *testing.T, files map[string]string) Queue {
	t.Helper()
	q := Queue{Dir: t.TempDir(), Self: Here(), Load: plain, Approvals: approveAll}
	for name, text := range files {
		path := q.path(name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return q
}

// tree is every file below tasks, with its text.
func (q Queue) tree(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(q.path(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(q.path(), path)
		out[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestQueueOrder(t *testing.T) {
	q := queueOf(t, map[string]string{
		"queue/p/1.yaml": "low 4 1 - -", "queue/p/2.yml": "late 2 9 - -", "queue/p/3.yaml": "b 2 3 - -", "queue/p/4.yaml": "a 2 3 - -",
		"queue/p/5.yaml": "undated 2 0 - -", "queue/p/6.yaml": "first 1 9 - -", "queue/other/7.yaml": "elsewhere 1 1 - -",
		"queue/p/.hidden.yaml": "hidden 1 1 - -", "queue/p/readme.md": "no", "queue/p/done/8.yaml": "was 1 1 - -",
	})
	if err := os.Symlink("1.yaml", q.path("queue/p/link.yaml")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		i, err := q.take("p")
		if err != nil {
			if !errors.Is(err, ErrNone) {
				t.Fatal(err)
			}
			break
		}
		got = append(got, i.Task.ID)
		if _, err := q.Finish(i, Done); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"first", "undated", "a", "b", "late", "low"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTaskWaitsForDependencies(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string // the id that is next, or the error
		never bool
	}{
		"done in another queue":  {map[string]string{"queue/p/a.yaml": "a 1 1 b -", "queue/q/done/b.yaml": "b 1 1 - -"}, "a", false},
		"queued":                 {map[string]string{"queue/p/a.yaml": "a 1 1 b -", "queue/p/b.yaml": "b 4 1 - -"}, "b", false},
		"blocked by the other":   {map[string]string{"queue/p/a.yaml": "a 1 1 - -", "queue/p/b.yaml": "b 4 1 - a"}, "b", false},
		"running":                {map[string]string{"queue/p/a.yaml": "a 1 1 b -", "queue/p/running/b.yaml": "b 4 1 - -"}, "no task of p may start: a: waits for b (running)", false},
		"in the inbox":           {map[string]string{"queue/p/a.yaml": "a 1 1 b -", "inbox/b.yaml": "b 4 1 - -"}, "no task of p may start: a: waits for b (in the inbox, not approved)", false},
		"failed":                 {map[string]string{"queue/p/a.yaml": "a 1 1 b -", "queue/p/failed/b.yaml": "b 4 1 - -"}, "no task of p may start: a: waits for b (failed)", true},
		"failed, tried again":    {map[string]string{"queue/p/a.yaml": "a 1 1 b -", "queue/p/failed/b.yaml": "b 4 1 - -", "queue/p/b.yaml": "b 4 1 - -"}, "b", false},
		"unknown":                {map[string]string{"queue/p/a.yaml": "a 1 1 b -"}, "no task of p may start: a: waits for b (no such task)", true},
		"of a file that is none": {map[string]string{"queue/p/a.yaml": "a 1 1 b -", "inbox/b.yaml": "?"}, "no task of p may start: a: waits for b (no task: DIR/tasks/inbox/b.yaml)", true},
		"itself": {map[string]string{"queue/p/a.yaml": "a 1 1 b -", "queue/p/b.yaml": "b 1 1 c -", "queue/p/c.yaml": "c 1 1 a -"},
			"no task of p may start: a: waits for itself: a → b → c → a, waits for b (queued); b: waits for itself: b → c → a → b, waits for c (queued); c: waits for itself: c → a → b → c, waits for a (queued)", true},
		"two of one id":                       {map[string]string{"queue/p/a.yaml": "a 1 1 - -", "queue/q/x.yaml": "a 1 1 - -"}, "no task of p may start: a: the same id, queued: DIR/tasks/queue/q/x.yaml", true},
		"done before":                         {map[string]string{"queue/p/a.yaml": "a 1 1 - -", "queue/p/done/a.yaml": "a 1 1 - -"}, "no task of p may start: a: the same id, done: DIR/tasks/queue/p/done/a.yaml", true},
		"a bad file does not stop the others": {map[string]string{"queue/p/a.yaml": "?", "queue/p/b.yaml": "b 1 1 - -"}, "b", false},
		"only a bad file":                     {map[string]string{"queue/p/a.yaml": "?"}, "no task of p may start: a.yaml: no task", true},
		"nothing":                             {map[string]string{"queue/p/done/a.yaml": "a 1 1 - -"}, "No tasks in queue", false},
	} {
		t.Run(name, func(t *testing.T) {
			q := queueOf(t, c.files)
			before := q.tree(t)
			i, err := q.Next("p")
			got := i.Task.ID
			if err != nil {
				got = strings.ReplaceAll(err.Error(), q.Dir, "DIR")
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if never := err != nil && !errors.Is(err, ErrNone); never != c.never {
				t.Errorf("an error for a person: %t", never)
			}
			if diff := cmp.Diff(before, q.tree(t)); diff != "" {
				t.Errorf("a look changed something: %s", diff)
			}
		})
	}
}

// A file that a person names is no second one with its id, however it is named.
func TestGateKnowsFileByAnyPath(t *testing.T) {
	q := queueOf(t, map[string]string{"queue/p/a.yaml": "a 2 1 - -", "inbox/other.yaml": "other 2 1 - -"})
	all, err := q.List()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(q.path("queue", "p", "a.yaml"))
	t.Chdir(dir)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a.yaml", "./a.yaml", "../p/a.yaml", filepath.Join(dir, "a.yaml"), dir + "//./a.yaml", filepath.Join(link, "a.yaml")} {
		if g := NewGraph(all).Gate(Item{Path: path, State: Inbox, Task: spec.Task{ID: "a"}}); !g.Free() {
			t.Errorf("%s: %s", path, g.Why("a"))
		}
	}
	if g := NewGraph(all).Gate(Item{Path: "b.yaml", State: Inbox, Task: spec.Task{ID: "a"}}); g.Free() {
		t.Error("another file with the id is not reported")
	}
	// Files that are checked together know each other.
	b := Item{Path: "b.yaml", State: Inbox, Task: spec.Task{ID: "b", Requires: []string{"c"}}}
	c := Item{Path: "./c.yaml", State: Inbox, Task: spec.Task{ID: "c", Requires: []string{"a"}}}
	g := NewGraph(WithGiven(all, []Item{b, c, {Path: "./a.yaml", State: Inbox, Task: spec.Task{ID: "a"}}}))
	if got := g.Gate(b); len(got.Never) > 0 || len(got.Waiting) != 1 {
		t.Errorf("%+v", got)
	}
	if got := g.Gate(c); len(got.Never) > 0 || len(got.Waiting) != 1 {
		t.Errorf("%+v", got)
	}
	if s := g.State("a"); s != Queued || len(g.byID["a"]) != 1 {
		t.Errorf("a is %s, of %d files", s, len(g.byID["a"]))
	}
}

func TestClaimNamesClaimant(t *testing.T) {
	q := queueOf(t, map[string]string{"queue/p/a@b.yaml": "a 1 1 - -"})
	i, err := q.take("p")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("queue/p/running/a@b@%s.%d.%d.yaml", q.Self.Host, os.Getpid(), q.Self.Start)
	if diff := cmp.Diff(map[string]string{want: "a 1 1 - -"}, q.tree(t)); diff != "" {
		t.Error(diff)
	}
	all, err := q.List()
	if err != nil || len(all) != 1 || all[0].By != q.Self || all[0].By.Life(q.Self.Host, process.System()) != Alive {
		t.Errorf("%+v %v", all, err)
	}
	if left, err := q.Abandoned("p", process.System()); err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
	if _, err := q.GiveBack(i); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"queue/p/a@b.yaml": "a 1 1 - -"}, q.tree(t)); diff != "" {
		t.Error(diff)
	}
}

// A reused process number, and an unused one, are
// dead claimants; of another machine's, and of a file that names none, nothing
// is known.
func TestOnlyClaimsOfTheDeadAreAbandoned(t *testing.T) {
	here := Here()
	name := func(id, host string, pid int, start uint64) string {
		return fmt.Sprintf("queue/p/running/%s@%s.%d.%d.yaml", id, host, pid, start)
	}
	q := queueOf(t, map[string]string{
		name("mine", here.Host, here.PID, here.Start): "mine 1 1 - -", name("reused", here.Host, here.PID, here.Start+1): "reused 1 1 - -",
		name("dead", here.Host, 1<<30, 5): "dead 1 1 - -", name("far", "elsewhere", here.PID, 5): "far 1 1 - -",
		"queue/p/running/byhand.yaml": "byhand 1 1 - -",
	})
	left, err := q.Abandoned("p", process.System())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range left {
		got = append(got, i.Task.ID)
	}
	if diff := cmp.Diff([]string{"dead", "reused"}, got); diff != "" {
		t.Fatal(diff)
	}
	// Of two who would recover it, one does.
	if _, err := q.Claim(left[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Claim(left[0]); !errors.Is(err, ErrTaken) {
		t.Errorf("%v", err)
	}
	for id, want := range map[string]string{"mine": "is being done by", "far": ErrMayLive.Error(), "byhand": ErrMayLive.Error(), "reused": ""} {
		_, err := q.Retry(id, false, process.System())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
	}
	for _, id := range []string{"far", "byhand"} {
		if i, err := q.Retry(id, true, process.System()); err != nil || i.Path != q.path("queue/p", id+".yaml") {
			t.Errorf("%s: %+v %v", id, i, err)
		}
	}
}

// What runs is what was claimed: a file that changes in between is
// read again, and one that is another task by then goes back.
func TestClaimRereadsFile(t *testing.T) {
	q := queueOf(t, map[string]string{"queue/p/a.yaml": "a 1 1 - -", "queue/p/b.yaml": "b 2 1 - -"})
	next, err := q.Next("p")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{{"a 3 1 - -", ""}, {"z 1 1 - -", "is z now"}, {"?", "no task"}} {
		if err := os.WriteFile(next.Path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		i, err := q.Claim(next)
		if c.want == "" {
			if err != nil || i.Task.Priority != 3 {
				t.Fatalf("%+v %v", i, err)
			}
			if _, err := q.GiveBack(i); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v", err)
		}
		if got := q.tree(t)["queue/p/a.yaml"]; got != c.text {
			t.Errorf("it is not back: %v", q.tree(t))
		}
	}
}

// An earlier run's file is never replaced.
func TestFinishedTaskKeepsFile(t *testing.T) {
	q := queueOf(t, map[string]string{"queue/p/a.yaml": "a 1 2 - -", "queue/p/failed/a.yaml": "a 1 1 - -", "queue/p/failed/a.2.yaml": "a 1 1 - -"})
	i, err := q.take("p")
	if err == nil {
		_, err = q.Finish(i, Failed)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"queue/p/failed/a.yaml": "a 1 1 - -", "queue/p/failed/a.2.yaml": "a 1 1 - -", "queue/p/failed/a.3.yaml": "a 1 2 - -"}
	if diff := cmp.Diff(want, q.tree(t)); diff != "" {
		t.Error(diff)
	}
}

func TestInboxRefusesDuplicateID(t *testing.T) {
	q := queueOf(t, map[string]string{"queue/p/done/x.yaml": "old 1 1 - -"})
	if i, err := q.Add("from.yaml", []byte("a 1 1 - -")); err != nil || i.Path != q.path("inbox/a.yaml") {
		t.Fatalf("%+v %v", i, err)
	}
	before := q.tree(t)
	for _, text := range []string{"a 2 2 - -", "old 1 1 - -", "?", "../a 1 1 - -", "x/y 1 1 - -"} {
		if i, err := q.Add("from.yaml", []byte(text)); err == nil {
			t.Errorf("%q: %+v", text, i)
		}
	}
	if _, err := q.Add("big.yaml", make([]byte, MaxFile+1)); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(before, q.tree(t)); diff != "" {
		t.Error(diff)
	}
}

func TestEnqueueErrors(t *testing.T) {
	q := queueOf(t, map[string]string{
		"inbox/a.yaml": "a 1 1 - -", "inbox/after.yaml": "after 1 1 a -", "inbox/lost.yaml": "lost 1 1 missing -", "inbox/bad.yaml": "?",
		"inbox/c1.yaml": "c1 1 1 c2 -", "inbox/c2.yaml": "c2 1 1 c1 -", "inbox/again.yaml": "there 1 1 - -", "queue/q/x.yaml": "there 1 1 - -",
		"inbox/hopes.yaml": "hopes 1 1 sad -", "queue/q/failed/sad.yaml": "sad 1 1 - -", "queue/q/name.yaml": "other 1 1 - -", "inbox/name.yaml": "name 1 1 - -",
	})
	for id, want := range map[string]string{
		"a": "", "after": "", "hopes": "", "lost": "missing (no such task)", "bad": "bad.yaml: no task", "c1": "waits for itself: c1 → c2 → c1", "there": "the same id, queued",
		"other": "it is queued", "none": "unknown task", "name": "a file of that name", "../a": "unknown task",
	} {
		i, err := q.Enqueue(id, "q")
		if want == "" && (err != nil || i.Path != q.path("queue/q", id+".yaml")) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %+v %v", id, i, err)
		}
	}
	for _, bad := range []string{"", "..", "a/b", ".q", "x.lock"} {
		if _, err := q.Enqueue("name", bad); err == nil {
			t.Errorf("enqueued into %q", bad)
		}
	}
}

// What the format of a task file takes for an id is what its queue does.
func TestValidIDMatchesFormat(t *testing.T) {
	r, err := schema.NewTaskReader("")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "A-1_b.c", strings.Repeat("x", 80), strings.Repeat("x", 81), "", ".", "..", "a..b", "a.", "a.lock", "a.lock.b", "-a", "_a", "a/b", "a b", "é", "a\x00", "a@{1}", "9"} {
		text, err := json.Marshal(map[string]any{"id": id, "goal": "g"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Read("t", text)
		if ValidID(id) != (err == nil) {
			t.Errorf("%q: the queue says %t, the format %v", id, ValidID(id), err)
		}
	}
}

// take claims the task that is to be done first. Its errors are Next's.
func (q Queue) take(project string) (Item, error) {
	for {
		free, err := q.free(project)
		if err != nil {
			return Item{}, err
		}
		for _, i := range free { // where others are at work, the first is often gone
			got, err := q.Claim(i)
			if !errors.Is(err, ErrTaken) {
				return got, err
			}
		}
	}
}

// In a sandbox a process has numbers that mean others outside, and it does not see
// those: an executor there takes no claim of a live one for abandoned, and outside
// no claim of its is.
func TestClaimantsOfNamespacesAreApart(t *testing.T) {
	outside, inside := here("pearl", process.System()), here("pearl", boxed{process.System()})
	if outside.Host != "pearl" || inside.Host != "pearl-4026532345" || inside.PID != outside.PID || inside.Start != outside.Start {
		t.Fatalf("%+v, %+v", outside, inside)
	}
	inside.Start++
	for _, c := range []struct {
		of, by Claimant
		want   Life
	}{{outside, inside, Unknown}, {inside, outside, Unknown}, {inside, inside, Gone}, {outside, outside, Alive}} {
		if got := c.of.Life(c.by.Host, process.System()); got != c.want {
			t.Errorf("%+v is %s to %+v, want %s", c.of, got, c.by, c.want)
		}
	}
	if base, got := claimed(claimName("a.yaml", inside)); base != "a.yaml" || got != inside {
		t.Errorf("%s, %+v", base, got)
	}
}

// boxed is the table of a process in another PID namespace.
type boxed struct{ process.Table }

func (boxed) Partial() string   { return "this process runs in a sandbox" }
func (boxed) Namespace() string { return "pid:[4026532345]" }
