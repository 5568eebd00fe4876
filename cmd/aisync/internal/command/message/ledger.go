package message

import (
	"context"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"aisync.dev/aisync/agents/ensemble"
	ledgerpage "aisync.dev/aisync/agents/ensemble/page"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/wake"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

// LedgerCommand builds the command ledger. Its arguments are those of pi-ensemble,
// which package ensemble parses.
func LedgerCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "ledger COMMAND",
		Short: "share a blackboard, inboxes and claims between a project's agents",
		Long: `The ledger of a project is in .pi-ensemble/, as readable files: a blackboard, an
inbox for each agent, claims on paths, and an audit trail. Called as ensemble,
the program replaces that of pi-ensemble and can share the folder with it; as
aisync ledger, reads leave no audit lines. aisync ledger tmux, also called
ensemble-tmux, wakes agents in tmux. aisync ledger help lists the commands;
docs/ledger.md describes the files.`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && args[0] == "tmux" {
				return cli.ExitWith(wake.Run(wake.Program{Program: Program(cmd.Context(), a, args[1:]), Home: a.Env.Get("HOME")}))
			}
			return cli.ExitWith(Ensemble(cmd.Context(), a, args, true))
		},
	}
}

// Ensemble runs a command of the ledger and returns its exit code.
func Ensemble(ctx context.Context, a *cli.App, args []string, plain bool) int {
	p := Program(ctx, a, args)
	p.Plain = plain
	return ensemble.Run(p)
}

// Program returns the invocation of a command of the ledger with these words.
func Program(ctx context.Context, a *cli.App, args []string) ensemble.Program {
	p := ensemble.Program{Args: args, In: a.Input(), Out: a.Out, Err: a.Err, Screen: cli.Bare(a.Out), Getenv: a.Env.Get, Dir: cli.WorkingFolder(), Done: ctx.Done(), Page: ledgerpage.Write, Heap: debug.SetMemoryLimit,
		Table: process.System(), Runtimes: catalog.Runtimes, Leases: a.Leases}
	if f, ok := cli.Bare(a.Out).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.Width, p.Height, _ = term.GetSize(int(f.Fd())) // without a size it is shown once
	}
	if in, ok := a.In.(*os.File); ok && p.Width > 0 && term.IsTerminal(int(in.Fd())) {
		p.Keys = func() (<-chan byte, func()) { return keysOf(in) }
	}
	return p
}

// keysOf reads a terminal key by key until the function that it returns is
// called.
func keysOf(in *os.File) (<-chan byte, func()) {
	keys := make(chan byte)
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		close(keys)
		return keys, func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(keys)
		for key := make([]byte, 1); ; {
			if n, err := in.Read(key); n == 0 || err != nil {
				return
			}
			select {
			case keys <- key[0]:
			case <-done:
				return
			}
		}
	}()
	return keys, func() {
		close(done)
		_ = term.Restore(int(in.Fd()), before) // there is no other way to give it back
	}
}
