package models

import (
	"context"
	"net"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/store"
)

func modelsServeCommand(a *cli.App) *cobra.Command {
	listen := "127.0.0.1:4873"
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "hand the models of this machine to others, by digest, until ^C",
		Long: `Serves the bytes of the store over HTTP, read-only and by sha256 alone, until it
is interrupted. Other machines fetch from it with the source peer://HOST:PORT,
and trust it with nothing: what they lock is the digest.

It listens on this machine alone unless another address is named; everybody who
can reach that address can then read every model in the store.`,
		Example: `  $ aisync models serve --listen 192.168.1.20:4873
  $ aisync models pull tiny --source peer://192.168.1.20:4873   (on the other)`,
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return modelsServe(cmd.Context(), a, listen, cmd.Flags().Changed("listen"))
		},
	}
	cmd.Flags().StringVar(&listen, "listen", listen, "`HOST:PORT` to listen on; port 0 takes a free one")
	return cmd
}

func modelsServe(ctx context.Context, a *cli.App, addr string, told bool) error {
	w, err := a.Loaded(ctx, stack.ScopeHost, stack.Look)
	if err != nil {
		return err
	}
	dir := w.Places.Physical(w.ModelStore())
	return store.Serve(ctx, dir, addr, told, func(files int, at net.Addr) {
		a.Printf("Serving %s of %s at peer://%s\n", quantity.Count(files, "file"), termtext.Safe(dir), at)
		a.Hint("To end it: ^C")
	}, func(line string) { a.Say("%s", termtext.Safe(line)) })
}
