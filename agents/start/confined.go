package start

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"aisync.dev/aisync/agents/confine"
	"aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/sandbox"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/agents/worker"
	"aisync.dev/aisync/schema/spec"
)

// Sandbox is what the sandboxes of a host's workers are made from.
type Sandbox struct {
	Box          sandbox.Box // its way, and what it shows
	Path         string      // PATH, whose programs it shows
	Err          error       // why there is none on this machine
	Network      bool        // whether the host allows workers the network
	NetworkField string      // the field that allows it, and its file
	// Program returns the program of a runtime as it works there.
	Program func(id string) (confine.Program, error)
}

// confined reports whether the workers of a task need a sandbox: the task, the run,
// or the present config says so. None of them takes back what another says.
func (w *Workers) confined(t run.Task, st *run.State) (bool, error) {
	if t.Sandbox || st.Settings().Sandbox {
		return true, nil
	}
	if err := w.readConfig(); err != nil {
		return false, err
	}
	return w.config.Settings.Sandbox, nil
}

func refused(next, format string, args ...any) *supervise.Refused {
	return &supervise.Refused{Why: fmt.Sprintf(format, args...), Next: next}
}

const otherTask = "add a task with a command, which waits for this one and proves it"

// Unconfinable returns why the workers of a task can have no sandbox on any machine;
// nil: they can.
func Unconfinable(t spec.RunTask, set spec.RunSettings) *supervise.Refused {
	_, path := t.Env["PATH"]
	switch {
	case t.Substrate == worker.Tmux:
		return refused("give the task the substrate process", "it asks for a sandbox and for tmux, whose windows have the rights of the person")
	case !run.InTree(t, set):
		return refused(`give the task "worktree": true, or start the run with --worktrees`, "a worker in a sandbox needs a separate work tree")
	case path:
		return refused("let its command set PATH", "its env has PATH, by which a sandbox decides what it shows")
	}
	for _, want := range t.Evidence {
		if kind, _, _ := strings.Cut(want, ":"); kind == "artifact" {
			return refused(otherTask, "a worker in a sandbox cannot add the evidence %s", want)
		}
	}
	return nil
}

// confine makes out the plan of a worker in a sandbox, or returns why it cannot have
// one: a *supervise.Refused.
func (w *Workers) confine(out *supervise.Plan, t run.Task, st *run.State) error {
	if no := Unconfinable(t.RunTask, st.Settings()); no != nil {
		return no
	}
	for _, want := range t.Evidence {
		if kind, _, _ := strings.Cut(want, ":"); kind == "command" && out.Adapter != Command {
			return refused(otherTask, "an agent in a sandbox cannot add the evidence %s", want)
		}
	}
	if w.box == nil {
		box := w.Sandbox()
		w.box = &box
	}
	if w.box.Err != nil {
		return refused("then run: aisync run supervise "+st.ID, "%v", w.box.Err)
	}
	if t.Network && !w.box.Network {
		return refused("to allow it, and with it what listens on this machine, set "+w.box.NetworkField, "it asks for the network, which this host allows to no worker in a sandbox")
	}
	out.Substrate, out.Env = worker.Process, []string{"PATH=" + w.box.Path} // of the keeper, which is outside
	out.Confined = &worker.Confined{Box: w.box.Box}
	out.Confined.Box.Network = t.Network
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		out.Confined.Env = append(out.Confined.Env, name+"="+t.Env[name])
	}
	return nil
}

// confineAgent makes out the plan of an agent in a sandbox. Its program has a
// separate home and talks to the host's endpoint: the person's logins stay outside.
func (w *Workers) confineAgent(out *supervise.Plan, c Chosen, t run.Task, st *run.State) error {
	if err := w.confine(out, t, st); err != nil {
		return err
	}
	id := c.Choice.Runtime.ID
	if c.Choice.Service != "" {
		return &supervise.Refused{Why: "an agent in a sandbox talks to the host's endpoint, and the adapter names the service " + c.Choice.Service, Next: "start a run in which the task has the adapter of an agent program, such as opencode"}
	}
	p, err := w.box.Program(id)
	if err != nil {
		return &supervise.Refused{Why: fmt.Sprintf("%s cannot work in a sandbox, where it has a separate home without your logins and talks to the host's endpoint: %v", id, err), Next: "name an endpoint in the host's spec that it can use, or start a run with another adapter"}
	}
	at := fmt.Sprintf("http://127.0.0.1:%d/v1", worker.ModelPort)
	if out.Confined.Box.Network && p.Access.Open() {
		at = p.Endpoint
	}
	set, err := p.Set(at)
	if err != nil {
		return err
	}
	box := out.Confined
	box.Files, box.Endpoint, box.Access = set.Files, p.Endpoint, p.Access
	box.Env = append(p.Environment(set, true), box.Env...)
	box.Box.Show = slices.Concat(box.Box.Show, p.Show)
	out.Command = p.Command(taskPrompt(st, &t, inSandbox, true), true)
	return nil
}
