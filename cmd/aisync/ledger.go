package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"aisync.dev/aisync/agents/ensemble"
	ledgerpage "aisync.dev/aisync/agents/ensemble/page"
	"aisync.dev/aisync/agents/wake"
	quickledger "aisync.dev/aisync/cmd/aisync/quick/ledger"
)

// ledgerCommand is the coordination ledger. Its words are pi-ensemble's, so
// package ensemble reads them itself.
func ledgerCommand(a *app) *cobra.Command {
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
				return exitWith(wake.Run(wake.Program{Program: a.ledgerProgram(cmd.Context(), args[1:]), Home: a.env.Get("HOME")}))
			}
			return exitWith(a.ensemble(cmd.Context(), args, true))
		},
	}
}

// ensemble runs a command of the ledger and returns its exit code.
func (a *app) ensemble(ctx context.Context, args []string, plain bool) int {
	p := a.ledgerProgram(ctx, args)
	p.Plain = plain
	return ensemble.Run(p)
}

func (a *app) ledgerProgram(ctx context.Context, args []string) ensemble.Program {
	p := ensemble.Program{Args: args, Out: a.out, Err: a.err, Screen: bare(a.out), Getenv: a.env.Get, Dir: workingFolder(), Done: ctx.Done(), Page: ledgerpage.Write}
	if f, ok := bare(a.out).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.Width, p.Height, _ = term.GetSize(int(f.Fd())) // without a size it is shown once
	}
	return p
}

// workingFolder is the folder that the process stands in, without links.
func workingFolder() string { return quickledger.WorkingFolder() }
