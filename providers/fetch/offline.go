package fetch

import (
	"context"
	"fmt"

	"aisync.dev/aisync/reconcile/fsys"
)

// Offline is the Fetcher of a program that may not use the network. Every
// call fails with an error that wraps ErrOffline, and touches nothing.
type Offline struct{}

// Fetch implements Fetcher.
func (Offline) Fetch(_ context.Context, a Artifact, _ Store, _ fsys.LogicalPath, _ func(done, total int64)) error {
	return fmt.Errorf("fetch %s (%d bytes): it %w; run again without --offline", a.Name, a.Size, ErrOffline)
}

// Tree implements Fetcher.
func (Offline) Tree(_ context.Context, src, _ string) error {
	return fmt.Errorf("fetch %s: it %w; run again without --offline", redacted(src), ErrOffline)
}
