package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/internal/fetch/peer"
	"aisync.dev/aisync/providers/store"
)

func modelsServeCommand(a *app) *cobra.Command {
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
		Args:        noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.modelsServe(cmd.Context(), listen, cmd.Flags().Changed("listen"))
		},
	}
	cmd.Flags().StringVar(&listen, "listen", listen, "`HOST:PORT` to listen on; port 0 takes a free one")
	return cmd
}

func (a *app) modelsServe(ctx context.Context, addr string, told bool) error {
	w, err := a.loaded(ctx, ScopeHost, Look)
	if err != nil {
		return err
	}
	blobs := blobs{w.Places.Physical(w.modelStore())}
	all, err := blobs.List()
	if err != nil {
		return err
	}
	ln, err := peer.Listen(addr, told)
	if err != nil {
		return err
	}
	a.printf("Serving %s of %s at peer://%s\n", plural(len(all), "file"), safe(blobs.dir), ln.Addr())
	a.hint("To end it: ^C")
	return peer.Serve(ctx, ln, blobs, peer.Options{Access: func(x peer.Access) { a.say("%s", safe(x.String())) }})
}

// blobs are the whole files of a store as a peer hands them out.
type blobs struct{ dir string } // physical

// Find implements peer.Store.
func (b blobs) Find(sha256 string) (string, int64, bool) {
	if raw, err := hex.DecodeString(sha256); err != nil || len(raw) != 32 {
		return "", 0, false
	}
	name := string(store.Blob("/", sha256))
	path := filepath.Join(b.dir, name)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", 0, false
	}
	return path, info.Size(), true
}

// List implements peer.Store.
func (b blobs) List() ([]peer.Blob, error) {
	names, err := filepath.Glob(filepath.Join(globQuoted(b.dir), "sha256", "??", "*"))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", b.dir, err)
	}
	out := []peer.Blob{}
	for _, n := range names {
		sum := filepath.Base(n)
		if _, size, ok := b.Find(sum); ok {
			out = append(out, peer.Blob{SHA256: sum, Size: size})
		}
	}
	return out, nil
}

// globQuoted keeps what is special to a pattern from being so.
func globQuoted(path string) string {
	var out []rune
	for _, r := range path {
		switch r {
		case '*', '?', '[', '\\':
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}
