package main

import (
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/internal/termtext"
)

func completionCommand(a *app) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "print a completion script for bash, zsh, fish or powershell",
		Long: `Prints a script that completes aisync's commands and flags. It writes no file
itself; put its output where your shell looks for completions.`,
		Example: `  bash        aisync completion bash > ~/.local/share/bash-completion/completions/aisync
  zsh         aisync completion zsh > "${fpath[1]}/_aisync"
  fish        aisync completion fish > ~/.config/fish/completions/aisync.fish
  powershell  aisync completion powershell | Out-String | Invoke-Expression`,
		Annotations: map[string]string{"effect": "read-only"},
		ValidArgs:   shells,
		Args:        exactArgs(1, "SHELL ("+strings.Join(shells, ", ")+")"),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.out, true)
			case "zsh":
				return root.GenZshCompletion(a.out)
			case "fish":
				return root.GenFishCompletion(a.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.out)
			}
			return usagef("completion: no shell %q; want one of %s", termtext.Safe(args[0]), strings.Join(shells, ", "))
		},
	}
}
