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
		Short: "work the queues of the repositories that the host's spec names, as the timer does",
		Long: `Does what task run does, for every queue of every repository that the host's spec
names under tasks, with the executor, the bounds, the remote and the Gitea server
that stand there, and writes what came of it into aisync's state (nights). The
timer that aisync apply makes of tasks: nightly runs it; where nothing keeps
time, it can be run by hand. With --last it says what came of the last night.

Exit code 0: all were done, or there was nothing to do; 1: one failed, or a
queue could not be worked.`,
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
				return advice.New(errors.New("the host's spec names no repositories for the night"), `write into it: tasks: {nightly: "02:00", repos: ["~/src/chiffon"]}`)
			}
			n, err := night(cmd.Context(), a, p, *s.Host.Nightly)
			if err != nil {
				return err
			}
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
	cmd.Flags().BoolVar(&last, "last", false, "print what came of the last night, and do nothing")
	return cmd
}

// night works all queues that the host's spec names, with what stands there.
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
		a.Say("no night was worked yet")
		return nil
	}
	a.Printf("%s", termtext.SafeLines(text))
	return nil
}
