package launch

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	adapter "aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/agents/acp"
	"aisync.dev/aisync/agents/identity"
	"aisync.dev/aisync/agents/launch"
	"aisync.dev/aisync/agents/ledger"
	"aisync.dev/aisync/agents/process"
	"aisync.dev/aisync/agents/project"
	"aisync.dev/aisync/agents/roster"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/schema/spec"
)

// ACPCommand builds the command acp.
func ACPCommand(a *cli.App) *cobra.Command {
	var name, word string
	cmd := &cobra.Command{
		Use:   "acp [--seat NAME] [--runtime RUNTIME] -- PROGRAM [ARGUMENT...]",
		Short: "run an agent for an editor, so that the ledger can wake it",
		Long: `Stands between an agent and the editor that starts it and talks with it by the
Agent Client Protocol on stdin and stdout. Put it before the program in the
editor's agent command. Lines pass unchanged. The agent gets a seat in the
ledger of the project in which the editor starts it, and ensemble-tmux wakes it
by a prompt in the session that was used last, between the editor's turns; a
prompt of the editor waits until that turn has ended. Without a ledger nothing
wakes it. The program gets the variables that the host's spec adds to its launches,
and, where it is the runtime's own command, the arguments, in front of yours. No
check is run.

The exit code is that of the program.`,
		Example:     "  $ aisync acp -- opencode acp\n  …",
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(1, "the program"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if name != "" && !ledger.ValidAgent(name) {
				return cli.Usagef("--seat %q: want 1 to 64 letters, digits, dots, underscores and hyphens", name)
			}
			dir, err := project.Physical(cli.WorkingFolder())
			if err != nil {
				return err
			}
			root, err := project.Root(dir)
			if err != nil {
				return err
			}
			s, index, p, err := SpecFor(cmd.Context(), a, root)
			if err != nil {
				a.Say("aisync: continuing without the specs, which cannot be read:")
				a.Report(err)
				s, index = &spec.Spec{}, catalog.With(spec.Catalog{})
			}
			id := roster.Match(process.Process{Comm: filepath.Base(args[0]), Args: args}, index.Runtimes())
			rt, ok := index.Find(cmp.Or(word, id))
			if !ok {
				return cli.Usagef("%s is no program that the catalog knows; say which runtime it is: --runtime", args[0])
			}
			l := &Launcher{host: s.Host, Choice: launch.Choice{Runtime: rt}, Program: launch.Program{Runtime: rt}}
			use := l.use()
			variables, secrets, err := adapter.Variables(&use, Programs(a, p).Secret)
			if err != nil {
				return err
			}
			if filepath.Base(args[0]) == rt.Command {
				args = slices.Concat(args[:1], use.Arguments(), args[1:])
			}
			l.sayLoosened(a)
			environ := maps.Clone(a.Env)
			if name != "" {
				environ[identity.VarLedger] = name
			}
			maps.Copy(variables, map[string]string{identity.VarRuntime: rt.ID, identity.VarProject: root})
			begin := launch.Start{Root: root, Dir: dir, Role: "agent", Runtime: rt.ID, Label: rt.ID, Command: args, Environment: variables, Secrets: secrets}
			code, err := acp.Serve(cmd.Context(), launch.Runner{Start: begin, Environ: environ, Streams: launch.Streams{Err: cli.Bare(a.Err)}}, a.In, cli.Bare(a.Out),
				func(f string, args ...any) { a.Say("aisync: "+f, args...) })
			if err != nil {
				a.Report(fmt.Errorf("%s: %w", rt.ID, err))
			}
			return ProgramEnded{cli.ExitWith(code)}
		},
	}
	cmd.Flags().StringVar(&name, "seat", "", "the `NAME` of the agent in the ledger; without it the runtime's")
	cmd.Flags().StringVar(&word, "runtime", "", "the `RUNTIME` that the program is, where its name does not tell")
	return cmd
}
