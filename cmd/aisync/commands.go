package main

import (
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/internal/termtext"
)

// commands are all commands, in the order of the help.
func commands() []func(*app) *cobra.Command {
	return []func(*app) *cobra.Command{
		initCommand, planCommand, applyCommand, driftCommand, statusCommand, showCommand,
		rollbackCommand, adoptCommand, pruneCommand, destroyCommand,
		modelsCommand, runtimesCommand, servicesCommand,
		lockCommand, validateCommand, factsCommand,
		addCommand, removeCommand, importCommand, lintCommand,
		doctorCommand,
		launchCommand, detectCommand, rosterCommand, sessionCommand, messageCommand, whoCommand,
		ledgerCommand, taskCommand, runCommand,
		versionCommand, completionCommand, genDocsCommand,
	}
}

// rootCommand builds the whole tree. It reads and decides nothing.
func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "aisync",
		Short: "one spec, every machine: the AI coding stack of your machines and projects, reconciled",
		Long: `aisync makes a machine and a project be what their specs say: which agent
runtimes read which rules, skills, hooks and settings, and which models lie on
disk. It shows what it would do, does exactly that, tells what has changed
since, and can put back what it replaced.

  aisync plan      shows what would change, and which line of which spec asks for it
  aisync apply     makes it so, after asking
  aisync drift     tells what is no longer as it was made (exit code 2)`,
		SilenceErrors:              true,
		SilenceUsage:               true,
		DisableAutoGenTag:          true,
		SuggestionsMinimumDistance: 2,
		CompletionOptions:          cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if err := a.g.check(); err != nil {
				return err
			}
			if cmd.Annotations["effect"] == "writes" {
				a.outlive()
			}
			a.named = cmd.Annotations["effect"] == "read-only" && cmd.Flags().Changed("project")
			return a.openLog(cmd)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	a.g.register(root.PersistentFlags(), a.env)
	root.SetFlagErrorFunc(flagError)
	for _, command := range commands() {
		root.AddCommand(command(a))
	}
	return root
}

// unknownCommand names what may have been meant.
func unknownCommand(cmd *cobra.Command, name string) error {
	err := usagef("unknown command %q", termtext.Safe(name))
	cmd.SuggestionsMinimumDistance = cmd.Root().SuggestionsMinimumDistance
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		err.hint = "did you mean " + strings.Join(near, ", ") + "?"
	} else if cmd.HasParent() {
		err.hint = cmd.CommandPath() + " --help"
	} else {
		err.hint = "aisync help"
	}
	return err
}

// flagError turns what pflag says into a usage error that names a near flag.
func flagError(cmd *cobra.Command, err error) error {
	u := usagef("%v (aisync %s)", err, cmd.Name())
	if near := nearFlag(cmd, err); near != "" {
		u.hint = "did you mean --" + near + "?"
	} else {
		u.hint = cmd.CommandPath() + " --help"
	}
	return u
}
