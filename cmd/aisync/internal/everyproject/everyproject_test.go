package everyproject

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/projects"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/environ"
	"aisync.dev/aisync/reconcile"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == WorkerCommand {
		os.Exit(Serve(os.Stdin, os.Stdout, os.Environ(), pretend))
	}
	os.Exit(m.Run())
}

// pretend stands for the program: it does what its first argument says.
func pretend(argv []string, _ io.Reader, stdout, stderr io.Writer, env []string) int {
	dir, _ := os.Getwd()
	switch argv[1] {
	case "die":
		os.Exit(9)
	case "wait":
		ended := make(chan os.Signal, 1)
		signal.Notify(ended, syscall.SIGTERM)
		fmt.Fprint(os.Stderr, "waits")
		<-ended
		fmt.Fprintln(stderr, "aisync: interrupted")
		return 130
	case "fail":
		fmt.Fprintln(stderr, "a note\naisync: first: why\naisync: second")
		return 1
	}
	fmt.Fprintf(stdout, "%s in %s (%s, %s), pid %d", argv[1], filepath.Base(dir), environ.New(env)["PWD"], environ.New(env)["AISYNC_CLI_ARGS"], os.Getpid())
	return 0
}

// newRun returns a run and folders for so many projects.
func newRun(t *testing.T, n int) (*Run, []projects.Project, *bytes.Buffer) {
	t.Helper()
	t.Setenv("AISYNC_CLI_ARGS", "--verbose")
	var out bytes.Buffer
	r := &Run{cmd: &cobra.Command{Use: "work"}, App: &cli.App{Out: &out, Err: io.Discard, Env: environ.New(os.Environ())}}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		dir := filepath.Join(top, fmt.Sprint("p", i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		r.List = append(r.List, projects.Project{Dir: dir})
	}
	return r, r.List, &out
}

func always(words ...string) func(projects.Project) []string {
	return func(projects.Project) []string { return words }
}

func TestEachRunsTheCommandInEachProject(t *testing.T) {
	r, list, _ := newRun(t, 7)
	called := 0
	answers := r.Each(t.Context(), list, 3, always("work"), func(Answer) { called++ })
	pids := map[string]bool{}
	for i, a := range answers {
		want := fmt.Sprintf("work in p%d (%s, ), pid ", i, list[i].Dir)
		if a.Code != 0 || a.Dir != list[i].Dir || !strings.HasPrefix(a.Out, want) {
			t.Errorf("%+v, want %s", a, want)
		}
		pids[strings.TrimPrefix(a.Out, want)] = true
	}
	if called != 7 || len(pids) > 3 {
		t.Errorf("%d calls, by %d workers", called, len(pids))
	}
}

func TestWhatEndsAWorkerEndsNoOtherProject(t *testing.T) {
	r, list, _ := newRun(t, 4)
	if err := os.Remove(list[2].Dir); err != nil {
		t.Fatal(err)
	}
	answers := r.Each(t.Context(), list, 1, func(p projects.Project) []string {
		return []string{map[string]string{"p0": "die", "p1": "fail"}[filepath.Base(p.Dir)]}
	}, nil)
	for i, want := range []string{"the process that worked here ended: exit status 9", "first: why; second", "the folder is gone", ""} {
		if got := answers[i].Error(); got != want {
			t.Errorf("p%d: %q, want %q", i, got, want)
		}
	}
}

func TestWhatIsInterruptedHasNotBegunElsewhere(t *testing.T) {
	r, list, _ := newRun(t, 3)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Second, cancel) // the first one waits by then, or has not begun
	answers := r.Each(ctx, list, 1, always("wait"), nil)
	for i, a := range answers {
		if a.Code != 130 {
			t.Errorf("p%d: %+v", i, a)
		}
	}
	if got := answers[2].Error(); got != "interrupted before it began" {
		t.Errorf("the last one: %s", got)
	}
}

// lines returns a difference, each line with its sign.
func lines(text ...string) (out []reconcile.Line) {
	for _, l := range text {
		out = append(out, reconcile.Line{Op: l[0], Text: l[1:]})
	}
	return out
}

func TestEqualChangesAreOne(t *testing.T) {
	r, _, out := newRun(t, 0)
	g := Groups{Order: []string{"warning"}}
	g.Add("a", Change{Word: "warning", What: "beware"})
	g.Add("a", Change{Word: "~", What: "x.md", Why: "moved", Lines: lines("@1", " before", "-old", "+new", "+more")})
	g.Add("b", Change{Word: "~", What: "x.md", Why: "moved", Lines: lines("@9", "-old", "+new", "+more", " after")})
	g.Add("b", Change{Word: "~", What: "x.md", Why: "moved", Lines: lines("@9", "-old", "+other")})
	g.Add("c", Change{Word: "+", What: "w.md", Lines: lines("+text"), Whole: true})
	for _, p := range []string{"a", "b", "c", "d"} {
		g.Add(p, Change{Word: "=", What: "y.md"})
		g.Add(p, Change{Word: "=", What: "y.md"})
	}
	g.Print(r, "What changes", 4, cli.DiffShort, func(_ cli.Painter, word string) string { return word })
	want := `What changes
  = y.md  in all 4 projects
  ~ x.md  moved  +2 −1  in a, b
      -old
      +new
      +more
  + w.md  +1  in c
  ~ x.md  moved  +1 −1  in b
      9
      -old
      +other
  warning beware  in a
`
	if out.String() != want {
		t.Errorf("%s", out)
	}
	if docs := g.Docs(); len(docs) != 5 || docs[1].Added != 2 || strings.Join(docs[1].Projects, " ") != "a b" {
		t.Errorf("%+v", docs)
	}
}

func TestManyChangesAreCountedUnlessEachMatters(t *testing.T) {
	for every, want := range map[bool]int{false: most, true: most + 10} {
		r, _, out := newRun(t, 0)
		g := Groups{Every: every}
		for i := range most + 10 {
			g.Add("a", Change{Word: "+", What: fmt.Sprint("x", i)})
		}
		g.Print(r, "Title", 1, cli.DiffShort, Sign)
		if got := strings.Count(out.String(), " x"); got != want || strings.Contains(out.String(), "10 more changes (--verbose)") == every {
			t.Errorf("%v: %d\n%s", every, got, out)
		}
	}
}

func TestEqualFailuresAreSaidOnce(t *testing.T) {
	r, _, out := newRun(t, 0)
	why := "failed: " + strings.Repeat("the same reason ", 3)
	rows := []Row{{"a", "in order", false}, {"b", why, true}, {"cc", why, true}, {"d", why, true}, {"e", why, true}, {"f", "failed: short", true}}
	r.PrintRows(rows)
	want := "a           in order\n4 projects  " + why + "\n    b, cc, d, e\nf           failed: short\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out, want)
	}
	r.Gap()
	if !strings.HasSuffix(out.String(), "\n\n") {
		t.Error("no gap after rows")
	}
}

func TestFieldsOfADocument(t *testing.T) {
	for doc, want := range map[string]string{
		"":                      `{"project":"p","error":"why"}`,
		" {}\n":                 `{"project":"p","error":"why"}`,
		"{\n \"ok\": true\n}\n": "{\"project\":\"p\",\"error\":\"why\",\n \"ok\": true\n}",
	} {
		if got, err := Fields("p", "why", doc); err != nil || string(got) != want {
			t.Errorf("%q: %s, %v", doc, got, err)
		}
	}
	for _, bad := range []string{"[]", "{", "text"} {
		if _, err := Fields("p", "", bad); err == nil {
			t.Errorf("%q is an object", bad)
		}
	}
}

func TestTheGravestCodeIsThatOfAll(t *testing.T) {
	for want, codes := range map[int][][]int{
		0: {nil, {0, 0}}, 2: {{0, 2}}, 4: {{2, 4, 0}}, 3: {{4, 3}}, 1: {{3, 1, 4}, {6}, {7, 2}}, 130: {{1, 130}},
	} {
		for _, list := range codes {
			if got := cli.ExitCode(ExitFor(list)); got != want {
				t.Errorf("%v: %d, want %d", list, got, want)
			}
		}
	}
}

func TestAPlanIsPartOfTheOneThatWasShown(t *testing.T) {
	change := func(before string, more ...reconcile.Line) reconcile.ChangeDoc {
		return reconcile.ChangeDoc{Address: "file:x", Action: "~", Before: reconcile.Fingerprint(before), Lines: more}
	}
	shown := &Planned{Undecided: []Effect{{Digest: "1"}, {Digest: "2"}}}
	shown.Changes = []reconcile.ChangeDoc{change("a", lines("+x")...)}
	for name, c := range map[string]struct {
		before  string
		effects []Effect
		want    bool
	}{
		"the same":           {"a", shown.Undecided, true},
		"less to ask":        {"a", shown.Undecided[:1], true},
		"something to ask":   {"a", []Effect{{Digest: "3"}}, false},
		"another file there": {"b", nil, false},
	} {
		p := &Planned{Undecided: c.effects}
		p.Changes = []reconcile.ChangeDoc{change(c.before)}
		if p.IsPartOf(shown) != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
}
