package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

func taskNightly(a *app) *cobra.Command {
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
		Args:        noArgs,
		Annotations: map[string]string{"effect": "writes"},
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := a.hostPlaces()
			if err != nil {
				return err
			}
			nights := p.Physical(p.State.Join("nights"))
			if last {
				return a.lastNight(nights)
			}
			s, _, _, err := a.specFor(cmd.Context(), "")
			if err != nil {
				return err
			}
			if s.Host == nil || s.Host.Nightly == nil {
				return advice.New(errors.New("the host's spec names no repositories for the night"), `write into it: tasks: {nightly: "02:00", repos: ["~/src/chiffon"]}`)
			}
			n, err := a.night(cmd.Context(), p, *s.Host.Nightly)
			if err != nil {
				return err
			}
			if err := n.Write(nights); err != nil {
				return err
			}
			a.printf("%s", termtext.SafeLines(n.Text()))
			if !n.OK() {
				return exit(exitError)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&last, "last", false, "print what came of the last night, and do nothing")
	return cmd
}

// night works all queues that the host's spec names, with what stands there.
func (a *app) night(ctx context.Context, p place.Places, n spec.Nightly) (task.Night, error) {
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
			return a.taskQueue(taskPlace{repo: dir})
		},
		Runner: func(ctx context.Context, q task.Queue) (task.Runner, error) { return a.taskRunner(ctx, q, f) },
		Until:  end, Now: now,
	}.Work(ctx, n)
}

func (a *app) lastNight(dir string) error {
	text, err := task.LastNight(dir)
	if err != nil {
		return err
	}
	if text == "" {
		a.say("no night was worked yet")
		return nil
	}
	a.printf("%s", termtext.SafeLines(text))
	return nil
}
