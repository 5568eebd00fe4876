package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/agents/tmuxtest"
	"aisync.dev/aisync/catalog"
)

// program writes a program and returns a runner of it in a new project.
func program(t *testing.T, script string, d Decision) (Runner, *bytes.Buffer) {
	t.Helper()
	root, bin, said := newProject(t), t.TempDir(), &bytes.Buffer{}
	if err := os.WriteFile(filepath.Join(bin, "claude"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	rt, _ := catalog.With(ownNothing).Runtime("claude")
	s := Plan(root, d, Choice{Runtime: rt, Label: "claude"}, Program{Runtime: rt}, nil)
	return Runner{
		Start: s, Environ: map[string]string{"PATH": bin + ":" + os.Getenv("PATH"), "HOME": bin, identity.VarID: "another.agent", identity.VarLedger: "another.agent", identity.VarHelper: "1"},
		Streams: Streams{Out: said, Err: said},
	}, said
}

func TestEnvironDescribesAgentNotLauncher(t *testing.T) {
	for _, d := range []Decision{{Role: Primary}, {Role: "agent", ID: "pearl.p.claude.0001"}, {Role: "helper", ID: "helper-0001"}} {
		r, said := program(t, `printf '%s|' "$AI_AGENT_ID" "$AI_HELPER" "$PI_ENSEMBLE_AGENT" "$AI_RUNTIME" "$AI_PROJECT_DIR" "$AI_SESSION_CONTEXT" "$PWD"`, d)
		if code, err := r.Run(context.Background()); code != 0 || err != nil {
			t.Fatal(code, err)
		}
		context, helps := "", ""
		if d.ID != "" {
			context = filepath.Join(r.Start.Root, project.Contexts, d.ID+".org")
		}
		if d.Role == "helper" {
			helps = "1"
		}
		want := strings.Join([]string{d.ID, helps, d.ID, "claude", r.Start.Root, context, r.Start.Root, ""}, "|")
		if got := said.String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestRunReturnsProgramExitCode(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 143, "kill -9 $$": 137} {
		r, _ := program(t, script, Decision{Role: Primary})
		if code, err := r.Run(context.Background()); code != want || err != nil {
			t.Errorf("%s: %d, %v", script, code, err)
		}
	}
}

func TestRunForwardsSignals(t *testing.T) {
	r, said := program(t, "trap 'echo told; exit 3' TERM; echo ready; while :; do sleep 0.05; done", Decision{Role: Primary})
	r.Streams.Out = nil
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	r.Streams.Out = out
	shown := func() string { b, _ := os.ReadFile(out.Name()); return string(b) }
	go func() {
		for !strings.Contains(shown(), "ready") {
			time.Sleep(10 * time.Millisecond)
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT) // of a terminal: the program has it by itself
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	}()
	if code, err := r.Run(context.Background()); code != 3 || err != nil || !strings.Contains(shown(), "told") {
		t.Errorf("%d, %v, %q %q", code, err, shown(), said)
	}
}

// A launcher that is interrupted while it prepares starts no program that would
// outlive the signal; a signal just before it listens is still passed on.
func TestRunKeepsEarlySignal(t *testing.T) {
	early := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(early)
	r, said := program(t, "echo started", Decision{Role: Primary})
	if code, err := r.Run(ctx); code != 1 || !errors.Is(err, early) || said.Len() > 0 {
		t.Errorf("%d, %v, %q", code, err, said)
	}

	ctx, cancel = context.WithCancelCause(context.Background())
	r, _ = program(t, "trap 'exit 3' TERM; >up; while :; do sleep 0.05; done", Decision{Role: Primary})
	go func() {
		for up := filepath.Join(r.Start.Root, "up"); ; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(up); err == nil {
				break
			}
		}
		cancel(early)
	}()
	if code, err := r.Run(ctx); code != 3 || err != nil {
		t.Errorf("%d, %v", code, err)
	}
}

func TestChecksRunAroundProgram(t *testing.T) {
	check := func(event, command string, required bool) Check {
		return Check{Event: event, Command: command, Required: required, Runtimes: []string{"claude"}}
	}
	foreign := Check{Event: "SessionStart", Command: "echo foreign", Runtimes: []string{"codex"}}
	for _, c := range []struct {
		name   string
		checks []Check
		script string
		code   int
		said   string // in this order
		err    string
	}{
		{"in order", []Check{check("SessionEnd", "echo end", false), check("Stop", "echo stop", false), check("SessionStart", "echo start", true), foreign}, "echo program", 0, "start program stop end", ""},
		{"they are told what happens", []Check{check("SessionStart", `grep -o '"hook_event_name":"[A-Za-z]*"'`, true)}, ":", 0, `"hook_event_name":"SessionStart"`, ""},
		{"a required one keeps it from starting", []Check{check("SessionStart", "echo no tests; exit 1", true)}, "echo program", 1, "no tests", "claude was not started: the check of SessionStart failed"},
		{"an advisory one is said", []Check{check("SessionStart", "exit 1", false)}, "echo program", 0, "the check of SessionStart failed program", ""},
		{"a required one after fails it", []Check{check("Stop", "exit 2", true)}, "echo program", 1, "program", "the check of Stop failed"},
		{"the program's own failure stays", []Check{check("Stop", "exit 2", true)}, "exit 9", 9, "", "the check of Stop failed"},
		{"one that hangs is ended", []Check{{Event: "SessionStart", Command: "sleep 30", Required: true, Timeout: 1, Runtimes: []string{"claude"}}}, "echo program", 1, "", "took longer than 1s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, said := program(t, c.script, Decision{Role: Primary})
			r.Checks = c.checks
			code, err := r.Run(context.Background())
			if code != c.code || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%d, %v", code, err)
			}
			rest := said.String()
			for _, word := range strings.SplitAfter(c.said, " ") {
				_, after, ok := strings.Cut(rest, strings.TrimSpace(word))
				if !ok {
					t.Fatalf("%q is not in %q", word, said)
				}
				rest = after
			}
			if strings.Contains(said.String(), "foreign") || c.code == 1 && c.name != "a required one after fails it" && strings.Contains(said.String(), "program") {
				t.Errorf("said %q", said)
			}
		})
	}
}

func TestRunSyncsCopyForOldTools(t *testing.T) {
	r, _ := program(t, ":", Decision{Role: "agent", ID: "pearl.p.claude.0001"})
	alone := true
	r.Roster = func() roster.Roster {
		agents := []roster.Agent{{PID: 1, ID: r.Start.ID}}
		if !alone {
			agents = append(agents, roster.Agent{PID: 2})
		}
		return roster.Roster{Agents: agents}
	}
	root, own := r.Start.Root, session.ByID(r.Start.Root, r.Start.ID).Path
	copied := func() string {
		id, err := session.Copied(root)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	r.syncCopy()
	if copied() != "" {
		t.Fatal("a copy of nothing")
	}
	if err := os.MkdirAll(filepath.Dir(own), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(own, []byte("* Summary\none\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.syncCopy()
	if copied() != r.Start.ID {
		t.Fatal("no copy")
	}
	later := time.Now().Add(time.Second)
	if err := os.WriteFile(own, []byte("* Summary\ntwo\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(own, later, later); err != nil {
		t.Fatal(err)
	}
	r.syncCopy()
	if text, _ := os.ReadFile(filepath.Join(root, project.Singleton)); !strings.Contains(string(text), "two") {
		t.Errorf("the copy is old: %s", text)
	}
	h, err := HoldID(root, "")
	if err != nil {
		t.Fatal(err)
	}
	r.syncCopy()
	h.Release()
	if copied() != "" {
		t.Error("the copy stays while a primary runs")
	}
	alone = false
	r.syncCopy()
	if copied() != "" {
		t.Error("a copy beside others")
	}
}

// server is a tmux server of our own.
func server(t *testing.T) Tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("needs tmux")
	}
	dir, err := os.MkdirTemp("", "tmux") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	tm := Tmux{Environ: append(slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "TMUX") }), "TMUX_TMPDIR="+dir, "SHELL=/bin/sh", "LC_ALL=C")} // tmux hides tabs where no locale tells of UTF-8
	t.Cleanup(func() {
		tmuxtest.End(t, tmuxtest.Default(dir))
		_ = os.RemoveAll(dir)
	})
	return tm
}

func names(t *testing.T, tm Tmux) string {
	t.Helper()
	out, err := tm.run("list-windows", "-a", "-F", "#{session_name}=#{window_name}")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(out, "\n", " ")
}

func TestWindowNames(t *testing.T) {
	tm := server(t)
	root := filepath.Join(newProject(t), "org drill.d")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	open := func(s Start) {
		t.Helper()
		s.Root = root
		if _, _, err := tm.Open(s, []string{"sleep", "60"}, []string{"A=b c"}); err != nil {
			t.Fatal(err)
		}
	}
	open(Start{Role: Primary, Label: "claude"})
	if got := names(t, tm); got != "ai=org drill.d" {
		t.Fatalf("one agent: %s", got)
	}
	open(Start{Role: "helper", ID: "helper-0001", Label: "claude"})
	if got := names(t, tm); got != "ai=org drill.d ai=org drill.d:helper-0001" {
		t.Fatalf("and a helper: %s", got)
	}
	open(Start{Role: "agent", ID: "x", Label: "local-qwen30b"})
	if got := names(t, tm); got != "ai=org drill.d:claude ai=org drill.d:helper-0001 ai=org drill.d:local-qwen30b" {
		t.Fatalf("and another agent: %s", got)
	}
	if id := tm.Find(root); id == "" || tm.Find("/elsewhere") != "" || tm.Find("") == "" {
		t.Errorf("found %q, %q, %q", id, tm.Find("/elsewhere"), tm.Find(""))
	}
}

func TestConcurrentWindowNames(t *testing.T) {
	tm := server(t)
	root := newProject(t)
	done := make(chan error, 8)
	for i := range 8 {
		go func() {
			_, _, err := tm.Open(Start{Root: root, Role: "agent", ID: fmt.Sprint(i), Label: fmt.Sprintf("r%d", i)}, []string{"sleep", "60"}, nil)
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	got := strings.Fields(names(t, tm))
	slices.Sort(got)
	for i, name := range got {
		if want := fmt.Sprintf("ai=%s:r%d", project.Name(root), i); name != want {
			t.Errorf("%s, want %s", name, want)
		}
	}
	if len(got) != 8 {
		t.Errorf("%d windows", len(got))
	}
}

func TestOpeningIsTypedAtPrompt(t *testing.T) {
	tm := server(t)
	root, out := newProject(t), filepath.Join(t.TempDir(), "got")
	id, _, err := tm.Open(Start{Root: root, Role: Primary, Label: "aider"}, []string{"sh", "-c", `sleep 0.4; printf 'ask> '; read -r line; printf '%s' "$line" > ` + out + `; sleep 60`}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := Runner{Start: Start{Root: root, Type: true, Opening: `Read "it" & go; $HOME -l`, Ready: "ask> ", ReadyDelay: 20000}, Pane: id, Environ: map[string]string{}}
	for _, kv := range tm.Environ {
		name, value, _ := strings.Cut(kv, "=")
		r.Environ[name] = value
	}
	began := time.Now()
	if err := r.typeOpening(make(chan struct{})); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it waited %s: for its delay, not for the prompt", took)
	}
	for range 100 {
		if text, err := os.ReadFile(out); err == nil && string(text) == r.Start.Opening {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	text, _ := os.ReadFile(out)
	t.Errorf("it got %q", text)
}

func TestProgramIsToldItsFolder(t *testing.T) {
	from := map[string]string{"PWD": "/where/the/launcher/is"}
	for want, s := range map[string]Start{"/p": {Root: "/p"}, "/p/work": {Root: "/p", Dir: "/p/work"}} {
		if env := s.Environ(from); !slices.Contains(env, "PWD="+want) || len(env) != 1 {
			t.Errorf("%+v: %q, want PWD=%s", s, env, want)
		}
	}
}
