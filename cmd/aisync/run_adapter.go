package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/roster"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/supervise"
	"aisync.dev/aisync/agents/run/worker"
	"aisync.dev/aisync/internal/termtext"
)

// Adapters that are no runtimes.
const (
	adapterCommand = "command"
	adapterManual  = "manual"
)

// workerPlans says how the workers of one run are started.
type workerPlans struct {
	a         *app
	ctx       context.Context
	run       *runs.Run
	program   string
	config    *runs.Config
	launchers map[string]*launcher // by the word for the runtime
}

// plan is supervise.Supervisor.Plan.
func (p *workerPlans) plan(t runs.Task, st *runs.State) (supervise.Plan, error) {
	word := runs.Runtime(cmp.Or(t.Adapter, st.Contract.Adapter))
	if t.Adapter == "" && len(t.Command) > 0 {
		word = adapterCommand
	}
	out := supervise.Plan{Adapter: word}
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		out.Env = append(out.Env, name+"="+t.Env[name])
	}
	var err error
	switch word {
	case adapterManual:
		return out, supervise.ErrByHand
	case adapterCommand:
		if len(t.Command) == 0 {
			return out, fmt.Errorf("task %s has the adapter command, and no command", t.ID)
		}
		out.Command = t.Command
		out.Substrate, err = p.substrate(t, word, st)
		return out, err
	}
	l, err := p.launcher(word)
	if err != nil {
		return out, err
	}
	out.Adapter = l.choice.Runtime.ID
	if out.Substrate, err = p.substrate(t, out.Adapter, st); err != nil {
		return out, err
	}
	how := l.program.Runtime.Launch
	out.Command = append([]string{p.program, "run", "worker", "agent", "--runtime=" + l.word}, p.a.sameHost()...)
	if out.Substrate == worker.Tmux {
		out.Ready, out.ReadyDelay = how.Ready, how.ReadyDelay
		return out, nil
	}
	if len(how.Headless) == 0 {
		return out, fmt.Errorf("%s answers no prompt without a terminal: give task %s the substrate tmux", out.Adapter, t.ID)
	}
	out.Command = append(out.Command, "--headless")
	return out, nil
}

// substrate is what the task says, what the run was started with for its adapter,
// or what the config says of another.
func (p *workerPlans) substrate(t runs.Task, word string, st *runs.State) (string, error) {
	sub := t.Substrate
	if sub == "" && word != adapterCommand && word == runs.Runtime(st.Settings().Adapter) {
		sub = st.Settings().Substrate
	}
	if sub == "" {
		if p.config == nil {
			c, err := p.run.Store().Config()
			if err != nil {
				return "", err
			}
			p.config = &c
		}
		sub = cmp.Or(p.config.Adapters[word].Substrate, worker.Process)
	}
	if sub == worker.Tmux {
		if _, err := launch.LookPath("tmux", p.a.env.Get("PATH")); err != nil {
			if t.Substrate != "" {
				return "", fmt.Errorf("task %s wants tmux: %w", t.ID, err)
			}
			sub = worker.Process
		}
	}
	return sub, nil
}

func (p *workerPlans) launcher(word string) (*launcher, error) {
	if l := p.launchers[word]; l != nil {
		return l, nil
	}
	l, err := p.a.launcher(p.ctx, p.run.Workspace(), word)
	if err == nil {
		err = p.a.installed(l.program.Runtime)
	}
	if err != nil {
		return nil, err
	}
	p.launchers[word] = l
	return l, nil
}

// passed says which variables a worker in tmux gets of this environment: the
// server has those of whoever started it.
func (p *workerPlans) passed(name string) bool {
	if name == "PATH" || name == "HOME" || strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "AISYNC_") {
		return true
	}
	for _, l := range p.launchers {
		if name == l.choice.Runtime.HomeVar {
			return true
		}
	}
	return false
}

// runWorkerAgent is what a keeper runs for a task whose adapter is a runtime.
func runWorkerAgent(a *app) *cobra.Command {
	var word string
	var headless bool
	cmd := &cobra.Command{
		Use:         "agent",
		Short:       "run the agent of this worker",
		Long:        "Runs an agent program with the task of AISYNC_TASK as its instruction. A\nsupervisor calls it.",
		Annotations: map[string]string{"effect": "writes"},
		Hidden:      true,
		Args:        noArgs,
		RunE:        func(cmd *cobra.Command, args []string) error { return a.workAsAgent(cmd.Context(), word, headless) },
	}
	cmd.Flags().StringVar(&word, "runtime", "", "the agent program `NAME`")
	cmd.Flags().BoolVar(&headless, "headless", false, "without a terminal: answer and end")
	return cmd
}

func (a *app) workAsAgent(ctx context.Context, word string, headless bool) error {
	r, err := a.openRun("")
	if err != nil {
		return err
	}
	st, err := r.State()
	if err != nil {
		return err
	}
	t := st.Task(a.env.Get(supervise.VarTask))
	if t == nil {
		return fmt.Errorf("run %s has no task %q", r.ID, a.env.Get(supervise.VarTask))
	}
	root := r.Workspace()
	r.Close()
	l, err := a.launcher(ctx, root, word)
	if err != nil {
		return err
	}
	checks, err := a.cleared(ctx, l)
	if err != nil {
		return err
	}
	d := launch.Decision{Role: "agent"}
	opening := ""
	if project.Is(root) {
		if err := d.MakeID(root, machineName(), l.choice.Label); err != nil {
			return err
		}
		hold, err := launch.HoldID(root, d.ID)
		if err != nil {
			return err
		}
		defer hold.Release()
		opening = launch.Opening(root, d) + " "
	}
	s := launch.Plan(root, d, l.choice, l.program, nil)
	if w := st.Worker(a.env.Get(supervise.VarWorker)); w != nil {
		s.Dir = w.Worktree
	}
	s.Opening = opening + taskPrompt(st, t, headless)
	form := l.program.Runtime.Launch.Interactive
	if headless {
		form, s.Type = l.program.Runtime.Launch.Headless, false
	}
	s.Command = slices.Concat([]string{l.program.Runtime.Command}, l.program.Runtime.Launch.Args, l.program.Args)
	for _, arg := range form {
		s.Command = append(s.Command, strings.ReplaceAll(arg, "{prompt}", s.Opening))
	}
	agent := launch.Runner{
		Start: s, Environ: a.env, Checks: checks, Streams: launch.Streams{In: a.in, Out: bare(a.out), Err: bare(a.err)},
		Roster: func() (roster.Roster, error) { return l.everybody() },
	}
	if !headless {
		agent.Pane = a.env.Get("TMUX_PANE")
	}
	code, err := agent.Run(ctx)
	if err != nil {
		a.report(err)
	}
	return programEnded{exitWith(code)}
}

// taskPrompt is the instruction for one task, on one line: programs take a line's
// end for the end of it.
func taskPrompt(st *runs.State, t *runs.Task, headless bool) string {
	var say []string
	add := func(format string, args ...any) { say = append(say, fmt.Sprintf(format, args...)) }
	add("You are a worker of the run %s, whose goal is: %s.", st.ID, strings.TrimRight(st.Contract.Goal, ". \n"))
	add("Your task is %s: %s.", t.ID, strings.TrimRight(cmp.Or(t.Goal, t.Title, st.Contract.Goal), ". \n"))
	if len(st.Contract.Acceptance) > 0 {
		add("The run is accepted if: %s.", strings.Join(st.Contract.Acceptance, "; "))
	}
	const how = "(aisync run evidence add --help says how to add it)"
	switch {
	case len(t.Evidence) > 0:
		add("It is not done without this evidence: %s %s.", strings.Join(t.Evidence, ", "), how)
	case st.Settings().RequireEvidence && !headless: // there the answer is evidence
		add("It is not done without evidence, such as a check that passed %s.", how)
	}
	add("Do this task and no other.")
	if headless {
		add("When it is done, say what you did, and end. If it cannot be done, run: aisync run worker fail --reason WHY.")
	} else {
		add("When it is done, run: aisync run worker done. If it cannot be done, run: aisync run worker fail --reason WHY.")
	}
	return termtext.OneLine(strings.Join(say, " "))
}
