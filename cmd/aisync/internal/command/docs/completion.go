package docs

import (
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/termtext"
)

// CompletionCommand builds the command completion.
func CompletionCommand(a *cli.App) *cobra.Command {
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
		Args:        cli.ExactArgs(1, "SHELL ("+strings.Join(shells, ", ")+")"),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.Out, true)
			case "zsh":
				return root.GenZshCompletion(a.Out)
			case "fish":
				return root.GenFishCompletion(a.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.Out)
			}
			return cli.Usagef("completion: no shell %q; want one of %s", termtext.Safe(args[0]), strings.Join(shells, ", "))
		},
	}
}
