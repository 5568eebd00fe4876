package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/task"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/atomicfile"
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
			if err := n.write(nights); err != nil {
				return err
			}
			a.printf("%s", safeLines(n.text()))
			if !n.ok() {
				return exit(exitError)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&last, "last", false, "print what came of the last night, and do nothing")
	return cmd
}

// night is what came of one.
type night struct {
	began, ended time.Time
	queues       []nightQueue
}

type nightQueue struct {
	repo, queue string
	reports     []*task.Report
	err         error
}

// night works all queues, one after the other. What is wrong with one of them
// keeps none of the others from being worked.
func (a *app) night(ctx context.Context, p place.Places, n spec.Nightly) (night, error) {
	out := night{began: now()}
	end, err := untilTime(n.Until, time.Now())
	if err != nil {
		return out, err
	}
	f := runFlags{push: n.Push, executor: n.Executor}
	if g := n.Gitea; g != nil {
		f.back = backFlags{giteaFlags: giteaFlags{url: g.URL, tokenEnv: g.Token.Env, tokenFile: p.Expand(g.Token.File)}, comment: g.Comment, pull: g.PullRequest}
	}
	left := n.Max
	for _, repo := range n.Repos {
		var q task.Queue
		var names []string
		dir, err := place.ExistingFolder("/", p.Expand(repo.Value))
		if err != nil {
			err = fmt.Errorf("%s: %w", repo.Pos, err)
		} else if q, err = a.taskQueue(taskPlace{repo: dir}); err == nil {
			names, err = q.Projects()
		}
		if err != nil {
			out.queues = append(out.queues, nightQueue{repo: repo.Value, err: err})
			continue
		}
		for _, name := range names {
			if n.Max > 0 && left == 0 {
				break
			}
			one := nightQueue{repo: repo.Value, queue: name}
			r, err := a.taskRunner(ctx, q, f)
			if err == nil {
				one.reports, err = r.Run(ctx, name, left, end)
			}
			if !a.nothingToRun(err) {
				one.err = err
			}
			if n.Max > 0 {
				left -= len(one.reports)
			}
			out.queues = append(out.queues, one)
		}
	}
	out.ended = now()
	return out, ctx.Err()
}

func (n night) ok() bool {
	for _, q := range n.queues {
		if q.err != nil {
			return false
		}
		for _, r := range q.reports {
			if !r.OK() {
				return false
			}
		}
	}
	return true
}

// text is the night for whoever gets up.
func (n night) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The night from %s to %s\n", n.began.Local().Format("2006-01-02 15:04"), n.ended.Local().Format("15:04"))
	for _, q := range n.queues {
		fmt.Fprintf(&b, "\n%s", q.repo)
		if q.queue != "" {
			fmt.Fprintf(&b, ", queue %s", q.queue)
		}
		b.WriteString(": ")
		switch {
		case len(q.reports) > 0:
			b.WriteString(task.Summary(q.reports))
		case q.err == nil:
			b.WriteString("nothing to do\n")
		default:
			b.WriteString("nothing was done\n")
		}
		if q.err != nil {
			for line := range strings.Lines(q.err.Error()) {
				fmt.Fprintf(&b, "  %s\n", strings.TrimRight(line, "\n"))
			}
		}
	}
	return b.String()
}

func (n night) write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write down the night: %w", err)
	}
	name := filepath.Join(dir, n.began.UTC().Format("20060102-150405.000")+".txt")
	if err := atomicfile.Write(name, []byte(n.text()), atomicfile.Options{}); err != nil {
		return fmt.Errorf("write down the night: %w", err)
	}
	return nil
}

func (a *app) lastNight(dir string) error {
	all, err := filepath.Glob(filepath.Join(dir, "*.txt")) // sorted, and so by time
	if err != nil {
		return err
	}
	if len(all) == 0 {
		a.say("no night was worked yet")
		return nil
	}
	text, err := os.ReadFile(all[len(all)-1])
	if err != nil {
		return err
	}
	a.printf("%s", safeLines(string(text)))
	return nil
}
