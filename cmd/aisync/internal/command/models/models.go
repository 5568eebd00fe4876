// Package models is the command models and those below it.
package models

import (
	"context"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
)

// Command builds the command models.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "models",
		Short: "the model files of this machine: fetch, list, prove, share, clean up",
		Long: `Models lie in one folder, the store of the host's spec, each once, under the
digest of its bytes; every program gets a name of its own for the same bytes. A
file is visible under a model's name only when its sha256 was right.`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return cli.UnknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	for _, sub := range []func(*cli.App) *cobra.Command{
		modelsLsCommand, modelsPathCommand, modelsPullCommand, modelsFitCommand,
		modelsVerifyCommand, modelsAdoptCommand, modelsGCCommand, modelsServeCommand,
	} {
		cmd.AddCommand(sub(a))
	}
	return cmd
}

// readInventory loads the model files of the host. It can neither write nor dial.
func readInventory(ctx context.Context, a *cli.App) (*stack.Inventory, error) {
	v, err := a.Loaded(ctx, stack.ScopeHost, stack.Look)
	if err != nil {
		return nil, err
	}
	return inventoryOf(ctx, v)
}

// inventoryOf returns the model files of v, and declares them in v.
func inventoryOf(ctx context.Context, v *stack.View) (*stack.Inventory, error) {
	inv, err := v.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	v.Declared.Add(inv.Declared)
	return inv, nil
}

// modelNames completes the models of the spec.
func modelNames(a *cli.App, cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	w, err := a.Loaded(cmd.Context(), stack.ScopeHost, stack.Look)
	if err != nil || w.Spec.Host == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, m := range w.Spec.Host.Models {
		names = append(names, m.ID)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
