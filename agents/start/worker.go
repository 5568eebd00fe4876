package start

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/agents/worker"
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
	// Distrust is what a person runs so that the program trusts the project; "": it
	// trusts it, or does not ask.
	Distrust string
}

// Workers decides how to start the workers of one run.
type Workers struct {
	// Runtime returns the runtime that a task's word names; called once a word.
	// It fails where the program cannot start, and still names the runtime.
	Runtime func(word string) (Chosen, error)
	Config  func() (run.Config, error) // of the workspace; called once
	Look    func(program string) (string, error)
	// Agent is the command of a worker that runs a runtime's program.
	Agent func(word string, headless bool) []string
	// Sandbox returns what the sandboxes of this host are made from; called once.
	Sandbox func() Sandbox

	config *run.Config
	box    *Sandbox
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
		if err := w.enabled(word); err != nil {
			return out, err
		}
		out.Command = t.Command
		if confined, err := w.confined(t, st); confined || err != nil {
			if err == nil {
				err = w.confine(&out, t, st)
			}
			return out, err
		}
		out.Substrate, err = w.substrate(t, word, st)
		return out, err
	}
	c, err := w.runtime(word)
	if id := c.Choice.Runtime.ID; id != "" {
		if off := w.enabled(id); off != nil {
			return out, off
		}
	}
	if id := c.Choice.Runtime.ID; id != "" && !errors.Is(err, launch.ErrMissing) { // how it would start outside does not matter
		if confined, err := w.confined(t, st); confined || err != nil {
			if out.Adapter = id; err == nil {
				err = w.confineAgent(&out, c, t, st)
			}
			return out, err
		}
	}
	if err != nil {
		return out, err
	}
	out.Adapter = c.Choice.Runtime.ID
	if out.Substrate, err = w.substrate(t, out.Adapter, st); err != nil {
		return out, err
	}
	how := c.Program.Runtime.Launch
	if out.Substrate == worker.Tmux {
		if c.Distrust != "" && run.InTree(t.RunTask, st.Settings()) {
			return out, fmt.Errorf("%s would ask in its window whether you trust this project, and task %s cannot answer; run: %s", out.Adapter, t.ID, c.Distrust)
		}
		out.Command, out.Ready, out.ReadyDelay, out.Dialogs = w.Agent(word, false), how.Ready, how.ReadyDelay, how.Dialogs
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
		if err := w.readConfig(); err != nil {
			return "", err
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

func (w *Workers) readConfig() error {
	if w.config != nil {
		return nil
	}
	c, err := w.Config()
	if err == nil {
		w.config = &c
	}
	return err
}

// enabled returns a *run.NotEnabled if the config disables the adapter.
func (w *Workers) enabled(adapter string) error {
	if err := w.readConfig(); err != nil {
		return err
	}
	return w.config.Enabled(adapter)
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
// exits. In a separate work tree the agent asks for no permission; elsewhere it
// works in the files of the person, who decides what it may do there.
func (c Chosen) AsWorker(root string, d launch.Decision, st *run.State, t *run.Task, workerID, greeting string, headless bool) launch.Start {
	s := launch.Plan(root, d, c.Choice, c.Program, nil)
	for _, w := range st.Workers {
		if w.ID == workerID {
			s.Dir = w.Worktree
		}
	}
	kind := inWorkspace
	if s.Dir != "" {
		kind = inTree
	}
	s.Opening = greeting + taskPrompt(st, t, kind, headless)
	how := c.Program.Runtime.Launch
	form := how.Interactive
	if headless {
		form, s.Type = how.Headless, false
	}
	if s.Dir != "" && c.Distrust == "" {
		maps.Copy(s.Environment, how.Trusted)
	}
	s.Command = append([]string{c.Program.Runtime.Command}, how.Line(form, c.Program.Args, s.Opening, s.Dir != "")...)
	return s
}

// Kinds of places in which a worker works.
const (
	inWorkspace = iota
	inTree
	inSandbox
)

// taskPrompt returns the instruction for one task on one line, because programs
// submit at the end of a line.
func taskPrompt(st *run.State, t *run.Task, kind int, headless bool) string {
	var say []string
	add := func(format string, args ...any) { say = append(say, fmt.Sprintf(format, args...)) }
	add("You are a worker of the run %s, whose goal is: %s.", st.ID, strings.TrimRight(st.Contract.Goal, ". \n"))
	add("Your task is %s: %s.", t.ID, strings.TrimRight(cmp.Or(t.Goal, t.Title, st.Contract.Goal), ". \n"))
	if len(st.Contract.Acceptance) > 0 {
		add("The run is accepted if: %s.", strings.Join(st.Contract.Acceptance, "; "))
	}
	const how = "(aisync run evidence add --help says how to add it)"
	switch {
	case kind == inSandbox:
		if !t.Network {
			add("There is no network.")
		}
		if len(t.Evidence) == 0 && st.Settings().RequireEvidence {
			add("It is not done without a change of files.")
		}
	case len(t.Evidence) > 0:
		add("It is not done without this evidence: %s %s.", strings.Join(t.Evidence, ", "), how)
	case st.Settings().RequireEvidence:
		add("It is not done without a change of files, or an artifact named as evidence %s.", how)
	}
	add("Do this task and no other. Ask no questions: they are not answered.")
	switch kind {
	case inTree:
		add("You work in a git work tree with a branch for this task. Commit your work there with git: only commits go on to the tasks that wait for this one.")
	case inSandbox:
		add("You work in a git work tree in a sandbox, where git can be read and not written: aisync commits what you leave when you end. Leave no notes and no scratch files.")
		add("When it is done, say what you did, and end. If it cannot be done, change nothing, and say why.")
		return strings.Join(strings.Fields(strings.Join(say, " ")), " ")
	}
	if headless {
		add("When it is done, say what you did, and end. If it cannot be done, run: aisync run worker fail --reason WHY.")
	} else {
		add("When it is done, run: aisync run worker done. If it cannot be done, run: aisync run worker fail --reason WHY.")
	}
	return strings.Join(strings.Fields(strings.Join(say, " ")), " ")
}
