package newer

import (
	"context"
	"fmt"

	"aisync.dev/aisync/app/mcpserver"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
)

// Server returns which version of a registry's server p is pinned to, and its newest.
// What the registry said before is no answer: it says what was, not what is.
func (a *Asker) Server(ctx context.Context, p *Pinned, registry mcpserver.Registry) (*Row, *mcpserver.Answer) {
	r := p.Row()
	src := p.From
	src.Version, src.SHA256 = "", ""
	newest, err := registry.Get(ctx, src)
	switch {
	case err != nil:
		return r.failed(err), nil
	case newest.Kept:
		return r.failed(fmt.Errorf("%s was not asked: %w", registry.Client.Address(), reconcile.ErrOffline)), nil
	}
	r.Newest = newest.Version
	if r.State = Newer; r.Newest == r.Pin {
		r.State = Current
	}
	if newest.Status == "deprecated" {
		r.Note = "deprecated"
		if newest.StatusMessage != "" {
			r.Note += ": " + termtext.OneLine(newest.StatusMessage)
		}
	}
	return r, &newest
}
