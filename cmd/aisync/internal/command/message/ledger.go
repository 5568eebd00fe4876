package message

import (
	"context"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"aisync.dev/aisync/agents/ensemble"
	ledgerpage "aisync.dev/aisync/agents/ensemble/page"
	"aisync.dev/aisync/agents/wake"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

// LedgerCommand is the coordination ledger. Its words are pi-ensemble's, so
// package ensemble reads them itself.
func LedgerCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "ledger COMMAND",
		Short: "the blackboard, inboxes and claims that agents of one project share",
		Long: `The ledger of a project, .pi-ensemble/, as files that a person can read: a
blackboard, an inbox for each agent, claims on paths, and an audit trail.
Called as ensemble it is a replacement for the program of pi-ensemble and works
on the same folder beside it; as aisync ledger, reads leave no audit lines.
aisync ledger tmux, which is ensemble-tmux too, wakes agents that sit in tmux.
aisync ledger help lists the commands; docs/ledger.md describes the files.`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "tmux" {
				return cli.ExitWith(wake.Run(wake.Program{Program: ledgerProgram(cmd.Context(), a, args[1:]), Home: a.Env.Get("HOME")}))
			}
			return cli.ExitWith(Ensemble(cmd.Context(), a, args, true))
		},
	}
}

// Ensemble runs a command of the ledger and returns its exit code.
func Ensemble(ctx context.Context, a *cli.App, args []string, plain bool) int {
	p := ledgerProgram(ctx, a, args)
	p.Plain = plain
	return ensemble.Run(p)
}

func ledgerProgram(ctx context.Context, a *cli.App, args []string) ensemble.Program {
	p := ensemble.Program{Args: args, Out: a.Out, Err: a.Err, Screen: cli.Bare(a.Out), Getenv: a.Env.Get, Dir: cli.WorkingFolder(), Done: ctx.Done(), Page: ledgerpage.Write}
	if f, ok := cli.Bare(a.Out).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.Width, p.Height, _ = term.GetSize(int(f.Fd())) // without a size it is shown once
	}
	return p
}
