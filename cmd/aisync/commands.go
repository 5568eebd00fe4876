package main

import (
	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/command/apply"
	"aisync.dev/aisync/cmd/aisync/internal/command/bundles"
	"aisync.dev/aisync/cmd/aisync/internal/command/docs"
	"aisync.dev/aisync/cmd/aisync/internal/command/doctor"
	"aisync.dev/aisync/cmd/aisync/internal/command/drift"
	editcmd "aisync.dev/aisync/cmd/aisync/internal/command/edit"
	fleetcmd "aisync.dev/aisync/cmd/aisync/internal/command/fleet"
	hookcmd "aisync.dev/aisync/cmd/aisync/internal/command/hook"
	launchcmd "aisync.dev/aisync/cmd/aisync/internal/command/launch"
	mcpcmd "aisync.dev/aisync/cmd/aisync/internal/command/mcp"
	"aisync.dev/aisync/cmd/aisync/internal/command/message"
	"aisync.dev/aisync/cmd/aisync/internal/command/models"
	runcmd "aisync.dev/aisync/cmd/aisync/internal/command/run"
	"aisync.dev/aisync/cmd/aisync/internal/command/runtimes"
	"aisync.dev/aisync/cmd/aisync/internal/command/services"
	sessioncmd "aisync.dev/aisync/cmd/aisync/internal/command/session"
	"aisync.dev/aisync/cmd/aisync/internal/command/start"
	statecmd "aisync.dev/aisync/cmd/aisync/internal/command/state"
	"aisync.dev/aisync/cmd/aisync/internal/command/task"
	updatecmd "aisync.dev/aisync/cmd/aisync/internal/command/update"
)

// commands returns the constructors of all commands, in the order of the help.
func commands() []func(*cli.App) *cobra.Command {
	return []func(*cli.App) *cobra.Command{
		start.InitCommand, apply.PlanCommand, apply.ApplyCommand, drift.Command, apply.StatusCommand, showCommand,
		apply.RollbackCommand, apply.AdoptCommand, apply.PruneCommand, apply.DestroyCommand, apply.ConvergeCommand, statecmd.Command,
		models.Command, runtimes.Command, runtimes.ContextCommand, servicesCommand,
		apply.LockCommand, updatecmd.OutdatedCommand, updatecmd.UpdateCommand, start.ValidateCommand, start.FactsCommand,
		editcmd.AddCommand, editcmd.RemoveCommand, start.ImportCommand, editcmd.LintCommand, bundles.Command,
		doctor.Command, fleetcmd.ReportCommand, fleetcmd.Command,
		launchcmd.LaunchCommand, launchcmd.ACPCommand, launchcmd.DetectCommand, launchcmd.RosterCommand, sessioncmd.Command, message.Command, sessioncmd.WhoCommand,
		message.LedgerCommand, hookcmd.Command, mcpcmd.Command, task.Command, runcmd.Command,
		agentsCommand, docs.VersionCommand, docs.CompletionCommand, docs.GenerateCommand,
	}
}

// servicesCommand is the command services with what starts programs.
func servicesCommand(a *cli.App) *cobra.Command {
	cmd := services.Command(a)
	cmd.AddCommand(launchcmd.WarmCommand(a))
	return cmd
}

// showCommand is the command show with what else can be shown.
func showCommand(a *cli.App) *cobra.Command {
	cmd := apply.ShowCommand(a)
	cmd.AddCommand(editcmd.ShowMCPCommand(a), updatecmd.ShowSourceCommand(a))
	return cmd
}

// rootCommand builds the command tree. It reads no file and changes nothing.
func rootCommand(a *cli.App) *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:   "aisync",
		Short: "keep the AI coding setup of your machines and projects as one spec describes it",
		Long: `aisync keeps the AI coding setup of a machine and a project as their specs say.
It shows each change before it makes it, and can undo it.`,
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
				a.SurviveClosedOutput()
			}
			a.ForeignProject = cmd.Annotations["effect"] == "read-only" && cmd.Flags().Changed("project")
			return a.OpenLog(cmd)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return cli.UnknownCommand(cmd, args[0])
			case version:
				_, err := a.Call().PrintVersion()
				return err
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	root.Flags().BoolVarP(&version, "version", "V", false, "print the version")
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	a.Flags.Register(root.PersistentFlags(), a.Env)
	root.SetFlagErrorFunc(cli.FlagError)
	for _, command := range commands() {
		root.AddCommand(command(a))
	}
	root.SetHelpCommand(docs.HelpCommand(a))
	describeAgents(root)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd == root {
			printHelp(root)
			return
		}
		help(cmd, args)
	})
	return root
}
