package start

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/supervise"
	"aisync.dev/aisync/agents/run/worker"
)

// Task adapters that are not runtimes.
const (
	Command = "command"
	Manual  = "manual"
)

// Chosen is the runtime that a word names, and its program.
type Chosen struct {
	Choice  launch.Choice
	Program launch.Program
}

// Workers decides how to start the workers of one run.
type Workers struct {
	// Runtime returns the runtime that a task's word names; called once a word.
	// It fails where the program is not installed.
	Runtime func(word string) (Chosen, error)
	Config  func() (run.Config, error) // of the workspace; called once
	Look    func(program string) (string, error)
	// Agent is the command of a worker that runs a runtime's program.
	Agent func(word string, headless bool) []string

	config *run.Config
	chosen map[string]Chosen // by the word for the runtime
}

// Plan implements supervise.Supervisor.Plan: how to start the worker of task t.
func (w *Workers) Plan(t run.Task, st *run.State) (supervise.Plan, error) {
	word := run.Runtime(cmp.Or(t.Adapter, st.Contract.Adapter))
	if t.Adapter == "" && len(t.Command) > 0 {
		word = Command
	}
	out := supervise.Plan{Adapter: word}
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		out.Env = append(out.Env, name+"="+t.Env[name])
	}
	var err error
	switch word {
	case Manual:
		return out, supervise.ErrByHand
	case Command:
		if len(t.Command) == 0 {
			return out, fmt.Errorf("task %s has the adapter command but no command", t.ID)
		}
		out.Command = t.Command
		out.Substrate, err = w.substrate(t, word, st)
		return out, err
	}
	c, err := w.runtime(word)
	if err != nil {
		return out, err
	}
	out.Adapter = c.Choice.Runtime.ID
	if out.Substrate, err = w.substrate(t, out.Adapter, st); err != nil {
		return out, err
	}
	how := c.Program.Runtime.Launch
	if out.Substrate == worker.Tmux {
		out.Command, out.Ready, out.ReadyDelay = w.Agent(word, false), how.Ready, how.ReadyDelay
		return out, nil
	}
	if len(how.Headless) == 0 {
		return out, fmt.Errorf("%s cannot answer a prompt without a terminal: give task %s the substrate tmux", out.Adapter, t.ID)
	}
	out.Command = w.Agent(word, true)
	return out, nil
}

// substrate returns the task's substrate, or the run's for its adapter, or the
// config's for other adapters.
func (w *Workers) substrate(t run.Task, adapter string, st *run.State) (string, error) {
	sub := t.Substrate
	if sub == "" && adapter != Command && adapter == run.Runtime(st.Settings().Adapter) {
		sub = st.Settings().Substrate
	}
	if sub == "" {
		if w.config == nil {
			c, err := w.Config()
			if err != nil {
				return "", err
			}
			w.config = &c
		}
		sub = cmp.Or(w.config.Adapters[adapter].Substrate, worker.Process)
	}
	if sub == worker.Tmux {
		if _, err := w.Look("tmux"); err != nil {
			if t.Substrate != "" {
				return "", fmt.Errorf("task %s wants tmux: %w", t.ID, err)
			}
			sub = worker.Process
		}
	}
	return sub, nil
}

func (w *Workers) runtime(word string) (Chosen, error) {
	if c, ok := w.chosen[word]; ok {
		return c, nil
	}
	c, err := w.Runtime(word)
	if err != nil {
		return c, err
	}
	if w.chosen == nil {
		w.chosen = map[string]Chosen{}
	}
	w.chosen[word] = c
	return c, nil
}

// Passed reports whether a worker in tmux gets the variable name of this
// environment.
func (w *Workers) Passed(name string) bool {
	var homes []string
	for _, c := range w.chosen {
		homes = append(homes, c.Choice.Runtime.HomeVar)
	}
	return Passed(name, homes...)
}

// AsWorker returns how to start the agent of d in its worker's folder with a
// task of a run as its instruction, after greeting. A headless agent answers and
// exits.
func (c Chosen) AsWorker(root string, d launch.Decision, st *run.State, t *run.Task, workerID, greeting string, headless bool) launch.Start {
	s := launch.Plan(root, d, c.Choice, c.Program, nil)
	if w := st.Worker(workerID); w != nil {
		s.Dir = w.Worktree
	}
	s.Opening = greeting + taskPrompt(st, t, headless)
	how := c.Program.Runtime.Launch
	form := how.Interactive
	if headless {
		form, s.Type = how.Headless, false
	}
	s.Command = slices.Concat([]string{c.Program.Runtime.Command}, how.Args, c.Program.Args)
	for _, arg := range form {
		s.Command = append(s.Command, strings.ReplaceAll(arg, "{prompt}", s.Opening))
	}
	return s
}

// taskPrompt returns the instruction for one task on one line, because programs
// submit at the end of a line.
func taskPrompt(st *run.State, t *run.Task, headless bool) string {
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
	return strings.Join(strings.Fields(strings.Join(say, " ")), " ")
}
