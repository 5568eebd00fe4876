package main

import (
	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/command/apply"
	"aisync.dev/aisync/cmd/aisync/internal/command/docs"
	"aisync.dev/aisync/cmd/aisync/internal/command/doctor"
	"aisync.dev/aisync/cmd/aisync/internal/command/drift"
	editcmd "aisync.dev/aisync/cmd/aisync/internal/command/edit"
	launchcmd "aisync.dev/aisync/cmd/aisync/internal/command/launch"
	"aisync.dev/aisync/cmd/aisync/internal/command/message"
	"aisync.dev/aisync/cmd/aisync/internal/command/models"
	runcmd "aisync.dev/aisync/cmd/aisync/internal/command/run"
	"aisync.dev/aisync/cmd/aisync/internal/command/runtimes"
	"aisync.dev/aisync/cmd/aisync/internal/command/services"
	sessioncmd "aisync.dev/aisync/cmd/aisync/internal/command/session"
	"aisync.dev/aisync/cmd/aisync/internal/command/start"
	"aisync.dev/aisync/cmd/aisync/internal/command/task"
)

// commands are all commands, in the order of the help.
func commands() []func(*cli.App) *cobra.Command {
	return []func(*cli.App) *cobra.Command{
		start.InitCommand, apply.PlanCommand, apply.ApplyCommand, drift.Command, apply.StatusCommand, apply.ShowCommand,
		apply.RollbackCommand, apply.AdoptCommand, apply.PruneCommand, apply.DestroyCommand,
		models.Command, runtimes.Command, services.Command,
		apply.LockCommand, start.ValidateCommand, start.FactsCommand,
		editcmd.AddCommand, editcmd.RemoveCommand, start.ImportCommand, editcmd.LintCommand,
		doctor.Command,
		launchcmd.LaunchCommand, launchcmd.DetectCommand, launchcmd.RosterCommand, sessioncmd.Command, message.Command, sessioncmd.WhoCommand,
		message.LedgerCommand, task.Command, runcmd.Command,
		docs.VersionCommand, docs.CompletionCommand, docs.GenerateCommand,
	}
}

// rootCommand builds the whole tree. It reads and decides nothing.
func rootCommand(a *cli.App) *cobra.Command {
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
			if err := a.Flags.Check(); err != nil {
				return err
			}
			if cmd.Annotations["effect"] == "writes" {
				a.Outlive()
			}
			a.Named = cmd.Annotations["effect"] == "read-only" && cmd.Flags().Changed("project")
			return a.OpenLog(cmd)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	a.Flags.Register(root.PersistentFlags(), a.Env)
	root.SetFlagErrorFunc(cli.FlagError)
	for _, command := range commands() {
		root.AddCommand(command(a))
	}
	return root
}
