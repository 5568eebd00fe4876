package session

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/agents/detect"
	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/session"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
)

func sessionArchive(a *cli.App) *cobra.Command {
	var whose string
	var gone bool
	cmd := &cobra.Command{
		Use:   "archive [WORDS]",
		Short: "move this agent's context, or a crashed one's, to .ai/sessions",
		Long: `Moves the context to .ai/sessions/YYYY-MM-DD-HH-MM-<id>-<words>.org and prints
where it is. Nothing there is replaced. With --agent it is that of an agent which
has crashed; of one that may live still, only with --gone.`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := entries(a)
			if err != nil {
				return err
			}
			c := p.own
			if whose != "" {
				if c, err = p.leftBy(whose, gone); err != nil {
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
	cmd.Flags().StringVar(&whose, "agent", "", "archive the context of the agent `ID` (or primary), which has crashed")
	cmd.Flags().BoolVar(&gone, "gone", false, "with --agent: somebody has made sure that it lives no more")
	return cmd
}

// leftBy is the context that an agent, by its id or as "primary", has left.
func (p present) leftBy(id string, gone bool) (session.Context, error) {
	for _, e := range p.contexts {
		if id != cmp.Or(e.ID, "primary") {
			continue
		}
		switch {
		case e.State == session.Live:
			return session.Context{}, fmt.Errorf("the agent of %s is at work; it archives its context itself", e.Path)
		case e.State == session.Stale && !gone:
			return session.Context{}, advice.New(fmt.Errorf("nobody can tell whether the agent of %s lives still", e.Path), "make sure that it does not, and say so with --gone")
		}
		return session.Context{Root: p.Root, ID: e.ID, Path: e.Path}, nil
	}
	return session.Context{}, advice.Command(fmt.Errorf("%s has no context here", id), "aisync session list")
}

func sessionID(a *cli.App) *cobra.Command {
	var helper bool
	cmd := &cobra.Command{
		Use:   "id",
		Short: "make a new id for an agent, one that nobody has",
		Long: `Prints an id that nobody else gets: host.project.runtime.1f3a, or with --helper
helper-1f3a. For an agent that was started without ai and finds that it is not
alone: export AI_AGENT_ID=$(aisync session id --helper).`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.AtWork()
			if err != nil {
				return err
			}
			others, err := w.Others()
			if err != nil {
				return err
			}
			taken, err := session.Taken(w.Root, others)
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
	cmd.Flags().BoolVar(&helper, "helper", false, "a helper's")
	return cmd
}
