package models

import (
	"context"
	"net/url"
	"path"
	"slices"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/cmd/aisync/internal/command/apply"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/schema/spec"
)

func modelsPullCommand(a *cli.App) *cobra.Command {
	var f cli.ApplyFlags
	var fetching stack.Transfer
	cmd := &cobra.Command{
		Use:   "pull ID...",
		Short: "fetch these models of the spec now",
		Long: `Does what aisync apply does, for these models and their names in other programs'
folders alone, and without asking: you named them. What was fetched before an
interruption is not fetched again. The digest that is locked decides what is
right; a source is trusted with nothing.

--source is asked before the sources that the spec knows: an address of the
file, or of a folder (with a slash at the end), hf://OWNER/REPO@REVISION/PATH,
oci://HOST/REPO:TAG, or peer://HOST:PORT of a machine that runs aisync models
serve.

Exit codes: as apply.`,
		Example: `  $ aisync models pull tiny
  $ aisync models pull tiny --source peer://192.168.1.20:4873 --limit-rate 50M`,
		Annotations: map[string]string{"effect": "writes"},
		Args:        cli.MinArgs(1, "the model"),
		ValidArgsFunction: func(cmd *cobra.Command, p1 []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return modelNames(a, cmd, p1, p2)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return modelsPull(cmd.Context(), a, args, f, fetching)
		},
	}
	f.Register(cmd)
	cli.TransferFlags(cmd.Flags(), &fetching)
	cmd.Flags().StringVar(&fetching.Source, "source", "", "ask `URL` before the sources of the spec")
	_ = cmd.Flags().MarkHidden("yes") // nothing is asked
	return cmd
}

func modelsPull(ctx context.Context, a *cli.App, ids []string, f cli.ApplyFlags, fetching stack.Transfer) error {
	if err := checkSource(fetching.Source); err != nil {
		return err
	}
	s, err := openStock(ctx, a)
	if err != nil {
		return err
	}
	ask := stack.Request{Scope: stack.ScopeHost, Models: ids, Transfer: fetching}
	for _, id := range ids {
		if !slices.ContainsFunc(s.w.Spec.Host.Models, func(m spec.ModelUse) bool { return m.ID == id }) {
			return s.unknown(id)
		}
		ask.Targets = append(ask.Targets, "model:"+id)
	}
	f.Yes = true
	return apply.Apply(ctx, a, ask, f, "")
}

// checkSource refuses what cannot be a source before anything is looked at.
func checkSource(source string) error {
	if source == "" {
		return nil
	}
	if u, err := url.Parse(source); err != nil || u.Scheme == "" && !path.IsAbs(source) {
		return cli.Usagef("--source %q: want a URL such as https://HOST/FILE or peer://HOST:PORT", termtext.Safe(source))
	}
	return nil
}
