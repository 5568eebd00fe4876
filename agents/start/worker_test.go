package start

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/schema/spec"
)

// state is a run whose contract names an adapter and its substrate.
func state(adapter, substrate string) *run.State {
	st := &run.State{ID: "r1"}
	st.Contract.Goal, st.Contract.Adapter = "port it.", adapter
	st.Policy.Settings = spec.RunSettings{Adapter: adapter, Substrate: substrate, RequireEvidence: true}
	return st
}

func TestWorkersFollowTask(t *testing.T) {
	for name, c := range map[string]struct {
		task spec.RunTask
		st   *run.State
		tmux bool
		want string // adapter, substrate and command; or "error: " and a part of it
	}{
		"its command":               {spec.RunTask{ID: "t", Command: []string{"make"}}, state("codex", worker.Tmux), true, "command process make"},
		"the command adapter":       {spec.RunTask{ID: "t", Adapter: Command, Command: []string{"make"}, Substrate: worker.Tmux}, state("", ""), true, "command tmux make"},
		"the adapter, no command":   {spec.RunTask{ID: "t", Adapter: Command}, state("", ""), true, "error: task t has the adapter command but no command"},
		"by hand":                   {spec.RunTask{ID: "t", Adapter: Manual}, state("", ""), true, "error: " + supervise.ErrByHand.Error()},
		"the run's adapter":         {spec.RunTask{ID: "t"}, state("codex", worker.Tmux), true, "codex tmux agent codex false"},
		"another, by the config":    {spec.RunTask{ID: "t", Adapter: "pi"}, state("codex", worker.Tmux), true, "pi process agent pi true"},
		"another tool's name":       {spec.RunTask{ID: "t", Adapter: "claudeCode"}, state("", ""), true, "claude process agent claude true"},
		"without tmux":              {spec.RunTask{ID: "t"}, state("codex", worker.Tmux), false, "codex process agent codex true"},
		"that wants tmux, without":  {spec.RunTask{ID: "t", Substrate: worker.Tmux}, state("codex", ""), false, "error: task t wants tmux"},
		"an unknown runtime":        {spec.RunTask{ID: "t", Adapter: "vim"}, state("", ""), true, "error: unknown runtime"},
		"disabled":                  {spec.RunTask{ID: "t", Adapter: "gemini"}, state("", ""), true, "error: adapter gemini is not enabled"},
		"disabled, by the run":      {spec.RunTask{ID: "t"}, state("gemini", ""), true, "error: adapter gemini is not enabled"},
		"disabled, named nowhere":   {spec.RunTask{ID: "t"}, state("", ""), true, "error: adapter qwen is not enabled"},
		"no headless form":          {spec.RunTask{ID: "t", Adapter: "mute"}, state("", ""), true, "error: mute cannot answer a prompt without a terminal: give task t the substrate tmux"},
		"no headless form, in tmux": {spec.RunTask{ID: "t", Adapter: "mute", Substrate: worker.Tmux}, state("", ""), true, "mute tmux agent mute false"},
	} {
		look := machine(map[bool]string{true: "tmux"}[c.tmux], "").Look
		w := &Workers{
			Runtime: func(word string) (Chosen, error) {
				if word == "" {
					return Chosen{Choice: chosen(t, "qwen")}, errors.New("qwen is not installed")
				}
				rt, ok := known(spec.Runtime{ID: "mute", Command: "mute"}).Runtime(word)
				if !ok {
					return Chosen{}, errors.New("unknown runtime")
				}
				return Chosen{Choice: launch.Choice{Runtime: rt}, Program: launch.Program{Runtime: rt}}, nil
			},
			Config: func() (run.Config, error) {
				return run.Config{Adapters: map[string]run.Adapter{"claude": {Enabled: true, Substrate: worker.Process}, "gemini": {}, "qwen": {}}}, nil
			},
			Look: look,
			Agent: func(word string, headless bool) []string {
				return []string{"agent", word, map[bool]string{true: "true", false: "false"}[headless]}
			},
		}
		p, err := w.Plan(run.Task{RunTask: c.task}, c.st)
		got := strings.Join(append([]string{p.Adapter, p.Substrate}, p.Command...), " ")
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want && !(strings.HasPrefix(c.want, "error: ") && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestDisabledCommandsDoNotStart(t *testing.T) {
	w := &Workers{Config: func() (run.Config, error) {
		return run.Config{Adapters: map[string]run.Adapter{"command": {Substrate: worker.Process}}}, nil
	}}
	_, err := w.Plan(run.Task{RunTask: spec.RunTask{ID: "t", Command: []string{"make"}}}, state("", ""))
	if no := (*run.NotEnabled)(nil); !errors.As(err, &no) {
		t.Errorf("%v", err)
	}
}

func TestWorkersChooseRuntimeOnce(t *testing.T) {
	asked := 0
	w := &Workers{
		Runtime: func(word string) (Chosen, error) {
			asked++
			c := chosen(t, word)
			return Chosen{Choice: c, Program: launch.Program{Runtime: c.Runtime}}, nil
		},
		Config: func() (run.Config, error) { return run.Config{}, nil },
		Look:   machine("tmux", "").Look,
		Agent:  func(string, bool) []string { return nil },
	}
	if w.Passed("CODEX_HOME") {
		t.Error("the home of a runtime that no task has is passed")
	}
	p, err := w.Plan(run.Task{RunTask: spec.RunTask{ID: "t", Adapter: "codex", Env: map[string]string{"B": "2", "A": "1"}}}, state("", ""))
	if err != nil || !slices.Equal(p.Env, []string{"A=1", "B=2"}) {
		t.Errorf("%q, %v", p.Env, err)
	}
	if _, err := w.Plan(run.Task{RunTask: spec.RunTask{ID: "u", Adapter: "codex"}}, state("", "")); err != nil || asked != 1 {
		t.Errorf("asked %d times, %v", asked, err)
	}
	if !w.Passed("CODEX_HOME") || !w.Passed("PATH") || w.Passed("SECRET") {
		t.Error("a worker in tmux gets other variables")
	}
}

func TestWorkerPromptIsOneLine(t *testing.T) {
	c := Chosen{Choice: chosen(t, "codex"), Program: launch.Program{Runtime: chosen(t, "codex").Runtime, Args: []string{"--model", "m"}}}
	st := state("codex", worker.Process)
	st.Contract.Acceptance = []string{"tests pass", "it builds"}
	task := &run.Task{RunTask: spec.RunTask{ID: "t", Title: "the\nparser."}}
	for headless, want := range map[bool]string{
		true:  "codex exec --skip-git-repo-check Hello. You are a worker of the run r1, whose goal is: port it. Your task is t: the parser. The run is accepted if: tests pass; it builds. It is not done without a change of files, or an artifact named as evidence (aisync run evidence add --help says how to add it). Do this task and no other. Ask no questions: they are not answered. When it is done, say what you did, and end.",
		false: "codex Hello. You are a worker of the run r1, whose goal is: port it. Your task is t: the parser. The run is accepted if: tests pass; it builds. It is not done without a change of files, or an artifact named as evidence (aisync run evidence add --help says how to add it). Do this task and no other. Ask no questions: they are not answered. When it is done, run: aisync run worker done.",
	} {
		s := c.AsWorker("/p", launch.Decision{Role: "agent", ID: "x"}, st, task, "w1", "Hello. ", headless)
		got := strings.Join(slices.DeleteFunc(slices.Clone(s.Command), func(a string) bool { return a == "--model" || a == "m" }), " ")
		if !strings.HasPrefix(got, want) || strings.Contains(s.Opening, "\n") || s.Type {
			t.Errorf("headless %v:\n%s\nwant\n%s", headless, got, want)
		}
		if !slices.Contains(s.Command, "--model") {
			t.Errorf("without its own arguments: %q", s.Command)
		}
	}
	task.Evidence = []string{"output:log"}
	if s := c.AsWorker("/p", launch.Decision{Role: "agent"}, st, task, "", "", true); !strings.Contains(s.Opening, "It is not done without this evidence: output:log (aisync run evidence add") {
		t.Error(s.Opening)
	}
}

func TestAgentInWorkTreeAsksNothing(t *testing.T) {
	st := state("codex", worker.Process)
	w := run.Worker{ID: "w1"}
	w.Worktree = "/trees/w1"
	st.Workers = []run.Worker{w}
	task := &run.Task{RunTask: spec.RunTask{ID: "t"}}
	for name, c := range map[string]struct {
		runtime  string
		headless bool
		begins   string
	}{
		"codex":             {"codex", true, "codex exec --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check You"},
		"codex in tmux":     {"codex", false, "codex --dangerously-bypass-approvals-and-sandbox You"},
		"claude":            {"claude", true, "claude --dangerously-skip-permissions -p You"},
		"qwen in tmux":      {"qwen", false, "qwen --approval-mode yolo -i You"},
		"opencode has none": {"opencode", true, "opencode run You"},
	} {
		choice := chosen(t, c.runtime)
		one := Chosen{Choice: choice, Program: launch.Program{Runtime: choice.Runtime}}
		s := one.AsWorker("/p", launch.Decision{Role: "agent"}, st, task, "w1", "", c.headless)
		if got := strings.Join(s.Command, " "); !strings.HasPrefix(got, c.begins) || !strings.Contains(got, "Commit your work there with git") || s.Dir != "/trees/w1" {
			t.Errorf("%s: %s in %s", name, got, s.Dir)
		}
		if c.runtime == "claude" && s.Environment["CLAUDE_CODE_SANDBOXED"] != "1" {
			t.Error("claude asks whether the work tree of a trusted project is trusted")
		}
		one.Distrust = "cd /p && claude"
		if s := one.AsWorker("/p", launch.Decision{Role: "agent"}, st, task, "w1", "", c.headless); s.Environment["CLAUDE_CODE_SANDBOXED"] != "" {
			t.Error("the work tree of a project that is not trusted is trusted")
		}
		if got := strings.Join(one.AsWorker("/p", launch.Decision{Role: "agent"}, st, task, "", "", c.headless).Command, " "); strings.Contains(got, "dangerously") || strings.Contains(got, "yolo") || strings.Contains(got, "Commit your work") {
			t.Errorf("%s in the person's files: %s", name, got)
		}
	}
}

func TestUntrustedProjectIsRefusedInTmux(t *testing.T) {
	w := &Workers{
		Runtime: func(word string) (Chosen, error) {
			c := chosen(t, word)
			return Chosen{Choice: c, Program: launch.Program{Runtime: c.Runtime}, Distrust: "cd /p && codex"}, nil
		},
		Config: func() (run.Config, error) { return run.Config{}, nil },
		Look:   machine("tmux", "").Look,
		Agent:  func(string, bool) []string { return []string{"agent"} },
	}
	apart := true
	task := spec.RunTask{ID: "t", Adapter: "codex", Substrate: worker.Tmux, Worktree: &apart}
	if _, err := w.Plan(run.Task{RunTask: task}, state("", "")); err == nil || !strings.HasSuffix(err.Error(), "; run: cd /p && codex") {
		t.Errorf("in tmux: %v", err)
	}
	task.Substrate = worker.Process
	if _, err := w.Plan(run.Task{RunTask: task}, state("", "")); err != nil {
		t.Errorf("as a process, which shows no dialog: %v", err)
	}
}
