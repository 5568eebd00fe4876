// Package models is the command models and those below it.
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

// stockroom is the store of the host, and what specs and records know of it.
type stockroom struct {
	w    *stack.View
	dir  fsys.LogicalPath
	held []store.Held
}

// openStock loads what a command needs that looks at the store: no part of it
// can write or dial, and nothing but the models is asked of the spec.
func openStock(ctx context.Context, a *cli.App) (*stockroom, error) {
	w, err := a.Loaded(ctx, stack.ScopeHost, stack.Look)
	if err != nil {
		return nil, err
	}
	return stockOf(ctx, w)
}

func stockOf(ctx context.Context, w *stack.View) (*stockroom, error) {
	if w.Spec.Host == nil {
		return nil, advice.Command(fmt.Errorf("no host is described here, so there is no store"), "aisync init")
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
	return &stockroom{w, w.ModelStore(), model.Held(w.Declared.Declarations, records)}, nil
}

// only keeps the files of the models ids, or all where none is named. A name
// that nobody knows is an error.
func (s *stockroom) only(ids []string) ([]store.Held, error) {
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

// unknown says that nothing here is called id, and what is.
func (s *stockroom) unknown(id string) error {
	var names []string
	for _, h := range s.held {
		names = append(names, h.ID)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	known := "it asks for none"
	if len(names) > 0 {
		known = "there are " + strings.Join(names, ", ")
	}
	next := "name it under models of the host's spec"
	if _, ok := s.w.Catalog.Model(id); !ok {
		next += "; the catalog has none of that name either"
	}
	return advice.New(fmt.Errorf("no spec wants a model %q, and none is on record (%s)", id, known), next)
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
