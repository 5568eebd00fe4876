package run

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/project"
	runs "aisync.dev/aisync/agents/run"
	"aisync.dev/aisync/agents/start"
	"aisync.dev/aisync/agents/supervise"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	launchcmd "aisync.dev/aisync/cmd/aisync/internal/command/launch"
)

// workers returns how to start the workers of the run r; program is the path of aisync.
func workers(ctx context.Context, a *cli.App, r *runs.Run, program string) *start.Workers {
	return &start.Workers{
		Runtime: func(word string) (start.Chosen, error) {
			l, err := launchcmd.Prepare(ctx, a, r.Workspace(), word)
			if err != nil {
				var c start.Chosen
				if l != nil {
					c.Choice = l.Choice
				}
				return c, err
			}
			c, err := chosen(l)
			if err == nil {
				err = launchcmd.Installed(a, l.Program.Runtime)
			}
			return c, err
		},
		Config:  r.Store().Config,
		Sandbox: func() start.Sandbox { return launchcmd.Sandbox(ctx, a, r.Workspace()) },
		Look:    launchcmd.Programs(a, place.Places{}).Look,
		Agent: func(word string, headless bool) []string {
			words := append([]string{program, "run", "worker", "agent", "--runtime=" + word}, launchcmd.SameHost(a)...)
			if headless {
				words = append(words, "--headless")
			}
			return words
		},
	}
}

// chosen is the runtime of a launch, as a worker starts it.
func chosen(l *launchcmd.Launcher) (start.Chosen, error) {
	do, err := l.Distrust()
	return start.Chosen{Choice: l.Choice, Program: l.Program, Distrust: do}, err
}

// runWorkerAgent builds the hidden command that a worker's supervisor process runs for
// a task whose adapter is a runtime.
func runWorkerAgent(a *cli.App) *cobra.Command {
	var word string
	var headless bool
	cmd := &cobra.Command{
		Use:         "agent",
		Short:       "run the agent of this worker",
		Long:        "Runs an agent program with the task AISYNC_TASK as its instruction. Supervisors\ncall it.",
		Annotations: map[string]string{"effect": "writes"},
		Hidden:      true,
		Args:        cli.NoArgs,
		RunE:        func(cmd *cobra.Command, args []string) error { return workAsAgent(cmd.Context(), a, word, headless) },
	}
	cmd.Flags().StringVar(&word, "runtime", "", "run the agent program `NAME`")
	cmd.Flags().BoolVar(&headless, "headless", false, "run without a terminal: answer and exit")
	return cmd
}

func workAsAgent(ctx context.Context, a *cli.App, word string, headless bool) error {
	r, err := openRun(a, "")
	if err != nil {
		return err
	}
	st, err := r.State()
	if err != nil {
		return err
	}
	t := st.Task(a.Env.Get(supervise.VarTask))
	if t == nil {
		return fmt.Errorf("run %s has no task %q", r.ID, a.Env.Get(supervise.VarTask))
	}
	root := r.Workspace()
	r.Close()
	l, err := launchcmd.Prepare(ctx, a, root, word)
	if err != nil {
		return err
	}
	checks, err := launchcmd.Cleared(ctx, a, l)
	if err != nil {
		return err
	}
	d := launch.Decision{Role: "agent"}
	opening := ""
	if project.Is(root) {
		if err := d.MakeID(root, cli.MachineName(), l.Choice.Label); err != nil {
			return err
		}
		hold, err := launch.HoldID(root, d.ID)
		if err != nil {
			return err
		}
		defer hold.Release()
		opening = launch.Opening(root, d, l.Program) + " "
	}
	c, err := chosen(l)
	if err != nil {
		return err
	}
	s := c.AsWorker(root, d, st, t, a.Env.Get(supervise.VarWorker), opening, headless)
	agent := launch.Runner{
		Start: s, Environ: a.Env, Checks: checks, Streams: launch.Streams{In: a.In, Out: cli.Bare(a.Out), Err: cli.Bare(a.Err)},
		Roster: l.Agents,
	}
	if !headless {
		agent.Pane = a.Env.Get("TMUX_PANE")
	}
	code, err := agent.Run(ctx)
	if err != nil {
		a.Report(err)
	}
	return launchcmd.ProgramEnded{Code: cli.ExitWith(code)}
}
