package report

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aisync.dev/aisync/agents/clock"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/schema/spec"
)

// story is a run in which much happens: a task that is done at the second
// attempt, one that fails for good and blocks another, one that goes on.
func story(t *testing.T) *run.Run {
	t.Helper()
	now := clock.Moment{Wall: time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC).UnixMilli()}
	later := func(d time.Duration) { now.Wall += d.Milliseconds() }
	s, _, err := run.Init(t.TempDir(), run.Options{Home: t.TempDir(), Check: func(string, string, []byte) error { return nil }, Clock: func() clock.Moment { return now }})
	must(t, err)
	settings := spec.RunSettings{Strategy: "graph", Depth: "standard", MaxWorkers: 3, MaxAttempts: 2, ReadinessMS: 60_000, LeaseMS: 900_000, HeartbeatMS: 120_000,
		CompletedDefault: "completed-retained", RetainLogsDays: 7, WorktreeRoot: filepath.Join(s.Path, "worktrees")}
	r, err := s.Start(run.Plan{ID: "r1", Goal: "Ship <b>it</b>", Settings: settings, Tasks: []spec.RunTask{
		{ID: "build", Title: "Build it"}, {ID: "test", DependsOn: []string{"build"}}, {ID: "docs", DependsOn: []string{"build"}},
		{ID: "ship", DependsOn: []string{"test", "docs"}},
	}})
	must(t, err)
	work := func(task, worker string) string {
		t.Helper()
		must(t, r.Register(worker, run.Registration{Task: task, Adapter: "manual", Substrate: run.External, Worktree: "/trees/" + worker, Branch: "aisync/r1/" + worker}))
		token, err := r.Claim(task, worker, 0)
		must(t, err)
		later(30 * time.Second)
		return token
	}
	must(t, r.Fail(work("build", "w1"), "the compiler is missing"))
	token := work("build", "w2")
	exit := 0
	must(t, r.AddEvidence(token, run.Evidence{Kind: "command", Command: "make build", ExitCode: &exit}))
	must(t, r.Complete(token))
	must(t, r.Move("w2", run.Move{From: run.Active, To: run.CompletedRetained, By: run.BySupervisor, Reason: "done"}))
	must(t, r.Fail(work("test", "w3"), "red"))
	must(t, r.Fail(work("test", "w4"), "still red"))
	work("docs", "w5")
	later(time.Minute)
	must(t, r.Note("note", map[string]string{"text": "a look"}))
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func collected(t *testing.T) *Report {
	t.Helper()
	doc, err := Collect(story(t), true)
	must(t, err)
	return doc
}

func TestReportMatchesEvents(t *testing.T) {
	doc := collected(t)
	var tasks []string
	for _, task := range doc.Tasks {
		tasks = append(tasks, task.ID+" "+task.Status+" "+task.Worker+" "+task.Reason)
	}
	want := []string{"build completed w2 ", "test failed  still red", "docs claimed w5 ", "ship blocked  "}
	if !slices.Equal(tasks, want) {
		t.Errorf("the tasks are %q", tasks)
	}
	if build := doc.Tasks[0]; build.Attempts != 2 || build.Seconds != 60 {
		t.Errorf("build took %v s in %d attempts, want 60 in 2", build.Seconds, build.Attempts)
	}
	if n := len(doc.Attempts); n != 5 || doc.Attempts[4].Ended != open || doc.Attempts[4].To != doc.To || doc.Attempts[0].Ended != "failed" {
		t.Errorf("%d attempts: %+v", n, doc.Attempts)
	}
	if len(doc.Evidence) != 1 || doc.Evidence[0].Task != "build" || doc.Evidence[0].Command != "make build" {
		t.Errorf("the evidence is %+v", doc.Evidence)
	}
	in := map[string][]Worker{}
	for _, group := range doc.byState() {
		in[group.State] = group.Workers
	}
	if kept := in["completed-retained"]; len(kept) != 1 || kept[0].ID != "w2" || kept[0].Why != "done" || len(in["active"]) != 4 || len(in) != 2 {
		t.Errorf("the workers are %+v", doc.Workers)
	}
	if doc.To.Sub(doc.From) != 210*time.Second || doc.Events < 20 {
		t.Errorf("from %s to %s, %d events", doc.From, doc.To, doc.Events)
	}
}

func TestPageIsSelfContainedAndEscaped(t *testing.T) {
	var b bytes.Buffer
	must(t, collected(t).HTML(&b))
	must(t, new(Report).HTML(&bytes.Buffer{})) // one without anything, and the template a second time
	html := b.String()
	if os.Getenv("REPORT_OUT") != "" { // to look at it
		must(t, os.WriteFile(os.Getenv("REPORT_OUT"), b.Bytes(), 0o600))
	}
	for _, s := range []string{"Ship &lt;b&gt;it&lt;/b&gt;", "4 tasks and what they depend on", "still red", "make build", "exit 0", "<code>aisync/r1/w2</code> <code>/trees/w2</code>", "default-src 'none'"} {
		if !strings.Contains(html, s) {
			t.Errorf("the page lacks %q", s)
		}
	}
	for _, s := range []string{"<script", "<b>it", "http://", "https://", "ZgotmplZ", "<link", "@import"} {
		if strings.Contains(html, s) {
			t.Errorf("the page has %q", s)
		}
	}
	for part := range strings.SplitSeq(html, "<svg") {
		picture, _, ok := strings.Cut(part, "</svg>")
		if !ok {
			continue
		}
		dec := xml.NewDecoder(strings.NewReader("<svg" + picture + "</svg>"))
		for {
			if _, err := dec.Token(); err != nil {
				if err.Error() != "EOF" {
					t.Errorf("a picture is not well-formed: %v", err)
				}
				break
			}
		}
	}
}

func TestGraphLayout(t *testing.T) {
	var tasks []Task
	for i := range 60 {
		one := Task{ID: string(rune('A'+i%26)) + strings.Repeat("x", i), DependsOn: []string{}}
		for j := range tasks {
			if i*7%(j+3) == 1 {
				one.DependsOn = append(one.DependsOn, tasks[j].ID)
			}
		}
		tasks = append(tasks, one)
	}
	g := draw(tasks)
	at := map[string]Box{}
	for i, b := range g.Boxes {
		at[b.Task.ID] = b
		if b.X < 0 || b.Y < 0 || b.X+boxWidth > g.Width || b.Y+boxHeight > g.Height {
			t.Errorf("%s lies outside: %d, %d", b.Task.ID, b.X, b.Y)
		}
		for _, o := range g.Boxes[:i] {
			if abs(b.X-o.X) < boxWidth && abs(b.Y-o.Y) < boxHeight {
				t.Errorf("%s covers %s", b.Task.ID, o.Task.ID)
			}
		}
	}
	edges := 0
	for _, b := range g.Boxes {
		for _, d := range b.Task.DependsOn {
			edges++
			if at[d].X >= b.X {
				t.Errorf("%s stands right of %s, which needs it", d, b.Task.ID)
			}
		}
	}
	if len(g.Boxes) != 60 || len(g.Edges) != edges || edges == 0 {
		t.Errorf("%d boxes, %d of %d arrows", len(g.Boxes), len(g.Edges), edges)
	}
	if g := draw(slices.Repeat([]Task{{ID: "t"}}, maxBoxes+5)); g.Left != 5 || len(g.Boxes) != maxBoxes {
		t.Errorf("%d drawn, %d left out", len(g.Boxes), g.Left)
	}
}

func abs(n int) int { return max(n, -n) }

func TestSpanFormatsDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0 s", 1240 * time.Millisecond: "1.2 s", 42 * time.Second: "42 s", 200 * time.Second: "3 min 20 s", time.Hour: "1 h", 125 * time.Minute: "2 h 5 min", 50 * time.Hour: "2 d 2 h",
	} {
		if got := Span(d); got != want {
			t.Errorf("%s is said as %q, want %q", d, got, want)
		}
	}
}
