// Package models provides the command models and its subcommands.
package models

import (
	"context"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/providers/store"
)

// Command builds the command models.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "models",
		Short: "fetch, list, verify, share and clean up model files",
		Long: `The store of the host's spec is one folder that has each model once, named by
the digest of its bytes; every program gets its own name for the same bytes. A
file gets a model's name only after its sha256 was verified.`,
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
		modelsLsCommand, modelsSearchCommand, modelsPathCommand, modelsPullCommand, modelsPushCommand, modelsFitCommand,
		modelsBenchCommand, modelsVerifyCommand, modelsAdoptCommand, modelsDuCommand, modelsGCCommand, modelsServeCommand,
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

// stored returns the model files of the host, what the store has of each model, and
// what no model uses.
func stored(ctx context.Context, a *cli.App) (inv *stack.Inventory, models []store.Model, loose []store.Garbage, err error) {
	if inv, err = readInventory(ctx, a); err != nil {
		return nil, nil, nil, err
	}
	if models, err = store.List(inv.View.Reader, inv.Folder, inv.Files); err != nil {
		return nil, nil, nil, err
	}
	loose, err = store.Loose(inv.View.Reader, inv.Folder, inv.Files)
	return inv, models, loose, err
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

// modelNames completes the models of the host's spec.
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
