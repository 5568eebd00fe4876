package pin

import (
	"context"
	"errors"
	"fmt"
	"net"

	"aisync.dev/aisync/internal/fetch/hub"
	"aisync.dev/aisync/internal/fetch/oci"
	"aisync.dev/aisync/internal/fetch/unpinned"
	"aisync.dev/aisync/reconcile"
)

// Endpoint is the address of the hub in use.
func (n *Network) Endpoint() string { return n.endpoint() }

// Terms is the page of a repository's terms.
func (n *Network) Terms(repo string) string { return hub.Client{Endpoint: n.endpoint()}.Terms(repo) }

// Repository describes a repository of the hub at a revision. The error wraps
// reconcile.ErrOffline if the network must not be used.
func (n *Network) Repository(ctx context.Context, repo, rev string) (hub.Repository, error) {
	return described(ctx, n.endpoint(), func(ctx context.Context) (hub.Repository, error) {
		return n.hubNow().Repository(ctx, repo, rev)
	})
}

// Search finds repositories with GGUF files on the hub, the most fetched first.
func (n *Network) Search(ctx context.Context, words string, limit int) ([]hub.Listed, error) {
	return described(ctx, n.endpoint(), func(ctx context.Context) ([]hub.Listed, error) {
		return n.hubNow().Search(ctx, words, limit)
	})
}

// Artifact describes an artifact of an OCI registry.
func (n *Network) Artifact(ctx context.Context, source string) (oci.Resolved, error) {
	if n.Offline {
		return oci.Resolved{}, fmt.Errorf("ask for %s: %w", source, reconcile.ErrOffline)
	}
	return described(ctx, source, func(ctx context.Context) (oci.Resolved, error) {
		return n.registry(n.client()).Resolve(ctx, source)
	})
}

// Size asks a server for the size in bytes of the file at address.
func (n *Network) Size(ctx context.Context, address string) (int64, error) {
	if n.Offline {
		return 0, fmt.Errorf("ask for %s: %w", address, reconcile.ErrOffline)
	}
	return described(ctx, address, func(ctx context.Context) (int64, error) {
		return unpinned.Size(ctx, n.client().HTTP(), address)
	})
}

// hubNow is the hub. Offline it refuses, and no client is made.
func (n *Network) hubNow() hub.Client {
	if n.Offline {
		return hub.Client{Endpoint: n.endpoint(), Offline: true}
	}
	return n.hub(n.client())
}

// described asks the host at with the time limit of all descriptions.
func described[T any](ctx context.Context, at string, get func(context.Context) (T, error)) (T, error) {
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	got, err := get(asking)
	var network net.Error
	if err != nil && ctx.Err() == nil && (asking.Err() != nil || errors.As(err, &network) && network.Timeout()) {
		err = &timeoutError{hostOf(at)}
	}
	return got, err
}
