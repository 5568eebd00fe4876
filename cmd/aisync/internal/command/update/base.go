package update

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"aisync.dev/aisync/app/newer"
	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/review"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/reconcile"
)

// base compares the pinned version of what the host's spec extends with the newest.
// One with which the spec has an error is refused.
func (f *finder) base(ctx context.Context, p *newer.Pinned) (*move, error) {
	s := f.session
	r := f.asker.Source(ctx, p)
	m := newMove(p, r)
	switch r.State {
	case newer.Unknown:
		return nil, r.Err
	case newer.Current:
		return nil, nil
	case newer.Newer:
	default:
		return m, nil
	}
	resolver := s.WritingResolver(pin.Lock)
	resolver.Update = pin.Update{IDs: []string{p.Name}}
	dir, to, err := resolver.Source(ctx, p.Source)
	if err != nil {
		return nil, err
	}
	before, _, err := s.WritingResolver(pin.Lock).Source(ctx, p.Source)
	if err != nil {
		m.say("the pinned version cannot be had any more, so all of the newer one is shown: " + err.Error())
		before = ""
	}
	files, err := pin.CompareBase(before, dir)
	if err != nil {
		return nil, err
	}
	if len(files) > 0 {
		m.Review.Items = []*review.Item{{Kind: newer.KindBase, Name: p.Name, Action: string(reconcile.Update), Files: files}}
	}
	next := *s.Machine
	if next.BasesNow = maps.Clone(next.BasesNow); next.BasesNow == nil {
		next.BasesNow = map[string]string{}
	}
	next.BasesNow[p.Source.URL] = dir
	after, err := stack.Look(ctx, &next, stack.ScopeHost)
	if err != nil {
		return nil, fmt.Errorf("the spec cannot be used with %s of it: %w", short(to), err)
	}
	rehearsal, err := stack.DryRun(after)
	if err != nil {
		return nil, err
	}
	now := review.OfHost(ctx, hostYield(after, rehearsal.WritingResolver(pin.Lock)))
	had := review.OfHost(ctx, hostYield(s.View, s.WritingResolver(pin.Lock)))
	m.Review.Effects = slices.DeleteFunc(now, func(e review.Effect) bool { return slices.Contains(had, e) })
	m.To = to
	return m, m.take(resolver, p.Name)
}
