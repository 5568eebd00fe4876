package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/roster"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/run/supervise"
	"aisync.dev/aisync/agents/start"
	"aisync.dev/aisync/app/stack/place"
)

// workers says how the workers of the run r are started; program is this one.
func (a *app) workers(ctx context.Context, r *runs.Run, program string) *start.Workers {
	return &start.Workers{
		Runtime: func(word string) (start.Chosen, error) {
			l, err := a.launcher(ctx, r.Workspace(), word)
			if err == nil {
				err = a.installed(l.program.Runtime)
			}
			if err != nil {
				return start.Chosen{}, err
			}
			return start.Chosen{Choice: l.choice, Program: l.program}, nil
		},
		Config: r.Store().Config,
		Look:   a.programs(place.Places{}).Look,
		Agent: func(word string, headless bool) []string {
			words := append([]string{program, "run", "worker", "agent", "--runtime=" + word}, a.sameHost()...)
			if headless {
				words = append(words, "--headless")
			}
			return words
		},
	}
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
	s := start.Chosen{Choice: l.choice, Program: l.program}.AsWorker(root, d, st, t, a.env.Get(supervise.VarWorker), opening, headless)
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
