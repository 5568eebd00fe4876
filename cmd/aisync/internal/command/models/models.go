// Package models provides the command models and its subcommands.
package models

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/providers/model"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile/fsys"
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
		modelsLsCommand, modelsPathCommand, modelsPullCommand, modelsFitCommand,
		modelsVerifyCommand, modelsAdoptCommand, modelsGCCommand, modelsServeCommand,
	} {
		cmd.AddCommand(sub(a))
	}
	return cmd
}

// stock is the host's store with the model files that specs and records name.
type stock struct {
	w    *stack.View
	dir  fsys.LogicalPath
	held []store.Held
}

// openStock opens the store read-only and without the network. It evaluates only the
// models of the spec.
func openStock(ctx context.Context, a *cli.App) (*stock, error) {
	w, err := a.Loaded(ctx, stack.ScopeHost, stack.Look)
	if err != nil {
		return nil, err
	}
	return stockOf(ctx, w)
}

func stockOf(ctx context.Context, w *stack.View) (*stock, error) {
	if w.Spec.Host == nil {
		return nil, advice.Command(fmt.Errorf("no host describes this machine, so there is no store"), "aisync init")
	}
	d, err := w.ModelDecls(ctx, w.Resolver(pin.Look))
	if err != nil {
		return nil, err
	}
	w.Declared.Add(d)
	records, err := w.Store.OfKinds("model", "view")
	if err != nil {
		return nil, err
	}
	return &stock{w, w.ModelStore(), model.Held(w.Declared.Declarations, records)}, nil
}

// only returns the files of the models ids, or all files for no ids. An unknown id is
// an error.
func (s *stock) only(ids []string) ([]store.Held, error) {
	if len(ids) == 0 {
		return s.held, nil
	}
	var out []store.Held
	for _, id := range ids {
		if !slices.ContainsFunc(s.held, func(h store.Held) bool { return h.ID == id }) {
			return nil, s.unknown(id)
		}
	}
	for _, h := range s.held {
		if slices.Contains(ids, h.ID) {
			out = append(out, h)
		}
	}
	return out, nil
}

// unknown returns the error for a model id that neither specs nor records have.
func (s *stock) unknown(id string) error {
	var names []string
	for _, h := range s.held {
		names = append(names, h.ID)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	known := "there are none"
	if len(names) > 0 {
		known = "there are " + strings.Join(names, ", ")
	}
	next := "add it to models in the host's spec"
	if _, ok := s.w.Catalog.Model(id); !ok {
		next += "; the catalog has no model of that name"
	}
	return advice.New(fmt.Errorf("unknown model %q: neither specs nor records have it (%s)", id, known), next)
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
