package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	launchcmd "aisync.dev/aisync/cmd/aisync/internal/command/launch"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

func taskNightly(a *cli.App) *cobra.Command {
	var last bool
	cmd := &cobra.Command{
		Use:   "nightly",
		Short: "carry out the tasks of all repositories in the host's spec, as the timer does",
		Long: `Runs task run for every queue of every repository under tasks in the host's
spec, with the executor, limits, remote and Gitea server given there, and writes
a report into aisync's state (nights). The timer that aisync apply makes from
tasks: nightly runs it; without a timer, run it by hand. It asks nothing: tasks
that you have not approved on this machine are passed over, and the report names
them with the command that approves them. --last prints the report of the last
night.

Exit code 0: all tasks were done, or there were none; 1: a task failed or is not
approved, or a queue could not be read.`,
		Example: `  aisync task nightly
  aisync task nightly --last`,
		Args:        cli.NoArgs,
		Annotations: map[string]string{"effect": "writes"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.HostPlaces()
			if err != nil {
				return err
			}
			nights := p.Physical(p.State.Join("nights"))
			if last {
				return lastNight(a, nights)
			}
			s, _, _, err := launchcmd.SpecFor(cmd.Context(), a, "")
			if err != nil {
				return err
			}
			if s.Host == nil || s.Host.Nightly == nil {
				return advice.New(errors.New("the host's spec names no repositories under tasks"), `add to it: tasks: {nightly: "02:00", repos: ["~/src/chiffon"]}`)
			}
			n, err := night(cmd.Context(), a, p, *s.Host.Nightly)
			if err != nil {
				return err
			}
			sayKept(cmd.Context(), a, "")
			if err := n.Write(nights); err != nil {
				return err
			}
			a.Printf("%s", termtext.SafeLines(n.Text()))
			if !n.OK() {
				return cli.Exit(cli.ExitError)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&last, "last", false, "print the report of the last night, and run nothing")
	return cmd
}

// night carries out the tasks of all queues that n names.
func night(ctx context.Context, a *cli.App, p place.Places, n spec.Nightly) (task.Night, error) {
	end, err := untilTime(n.Until, time.Now())
	if err != nil {
		return task.Night{}, err
	}
	f := runFlags{push: n.Push, executor: n.Executor}
	if g := n.Gitea; g != nil {
		f.back = backFlags{giteaFlags: giteaFlags{url: g.URL, tokenEnv: g.Token.Env, tokenFile: p.Expand(g.Token.File)}, comment: g.Comment, pull: g.PullRequest}
	}
	return task.Shift{
		Open: func(repo spec.Named) (task.Queue, error) {
			dir, err := place.ExistingFolder("/", p.Expand(repo.Value))
			if err != nil {
				return task.Queue{}, fmt.Errorf("%s: %w", repo.Pos, err)
			}
			if g := n.Gitea; g != nil {
				f.back.repo = g.Repos[repo.Value]
				f.back.setting = fmt.Sprintf("set tasks: gitea: repos: {%q: \"OWNER/REPO\"} in the host's spec", repo.Value)
			}
			return taskQueue(a, taskPlace{repo: dir})
		},
		Runner: func(ctx context.Context, q task.Queue) (task.Runner, error) { return taskRunner(ctx, a, q, f) },
		Until:  end, Now: cli.Now,
	}.Work(ctx, n)
}

func lastNight(a *cli.App, dir string) error {
	text, err := task.LastNight(dir)
	if err != nil {
		return err
	}
	if text == "" {
		a.Say("no nightly run yet")
		return nil
	}
	a.Printf("%s", termtext.SafeLines(text))
	return nil
}
