package session

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/detect"
	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/keeper"
	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
)

func sessionArchive(a *cli.App) *cobra.Command {
	var whose string
	var gone bool
	cmd := &cobra.Command{
		Use:   "archive [WORDS]",
		Short: "move the context of this agent, or of a crashed one, to .ai/sessions",
		Long: `Moves the context to .ai/sessions/YYYY-MM-DD-HH-MM-<id>-<words>.org and prints
its new path. It never replaces a file there. With --agent it archives the
context of a crashed agent; of an agent that may still run, only with --gone.`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := entries(a)
			if err != nil {
				return err
			}
			c := p.own
			if whose == "" {
				err = c.Owned(meta(a, p.AtWork, c, p.others, ""), p.others)
			} else {
				c, err = p.contextOf(whose, gone)
			}
			if errors.Is(err, errNoContext) && gone {
				if n, err := p.forget(whose); n > 0 || err != nil {
					a.Say("removed the record of %s, which has no context", termtext.Safe(whose))
					return err
				}
			}
			if err != nil {
				return err
			}
			if gone {
				if _, err := p.forget(whose); err != nil {
					return err
				}
			}
			to, err := c.Archive(strings.Join(args, " "), cli.Now())
			if err != nil {
				return err
			}
			a.Printf("%s\n", to)
			return session.SyncCopy(p.Root, false)
		},
	}
	cmd.Flags().StringVar(&whose, "agent", "", "archive the context of the crashed agent `ID` (or primary)")
	cmd.Flags().BoolVar(&gone, "gone", false, "with --agent: you have checked that the agent no longer runs")
	return cmd
}

// contextOf returns the context of the agent id, or of "primary". Without gone, an
// agent that may still run is an error.
func (p present) contextOf(id string, gone bool) (session.Context, error) {
	for _, e := range p.contexts {
		if id != cmp.Or(e.ID, "primary") {
			continue
		}
		switch {
		case e.State == session.Live:
			return session.Context{}, fmt.Errorf("the agent of %s is at work; it archives its context itself", e.Path)
		case e.State == session.Stale && !gone:
			return session.Context{}, advice.New(fmt.Errorf("the agent of %s may still run", e.Path), "check that it does not, then add --gone")
		}
		return session.Context{Root: p.Root, ID: e.ID, Path: e.Path}, nil
	}
	return session.Context{}, advice.Command(fmt.Errorf("%s %w", id, errNoContext), "aisync session list")
}

var errNoContext = errors.New("has no context here")

// forget removes the records of an agent of which it is not known whether it is
// alive, and returns how many there were.
func (p present) forget(id string) (n int, err error) {
	found, err := keeper.List(p.Table, p.Root)
	for _, f := range found {
		if f.Life == keeper.Unknown && cmp.Or(f.ID, "primary") == id {
			n++
			err = errors.Join(err, keeper.Forget(p.Root, f.Name))
		}
	}
	return n, err
}

func sessionID(a *cli.App) *cobra.Command {
	var helper bool
	cmd := &cobra.Command{
		Use:   "id",
		Short: "print a new, unique id for an agent",
		Long: `Reserves and prints a unique id: host.project.runtime.1f3a, or with --helper
helper-1f3a. An agent that was started without ai and finds other agents runs:
export AI_AGENT_ID=$(aisync session id --helper).`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.AtWork()
			if err != nil {
				return err
			}
			taken, err := session.Taken(w.Root, w.Others())
			if err != nil {
				return err
			}
			made := identity.NewHelper
			if !helper {
				r := detect.Detect(detect.Surroundings{Getenv: a.Env.Get, Processes: process.System(), Runtimes: w.Runtimes})
				made = func(taken func(string) bool) string {
					return identity.New(cli.MachineName(), project.Name(w.Root), strings.Replace(r.Runtime, detect.Unknown, "agent", 1), taken)
				}
			}
			id, err := launch.Reserve(w.Root, taken, made)
			if err != nil {
				return err
			}
			a.Printf("%s\n", id)
			return nil
		},
	}
	cmd.Flags().BoolVar(&helper, "helper", false, "print the id of a helper")
	return cmd
}
