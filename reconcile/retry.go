package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"aisync.dev/aisync/reconcile/fsys"
)

// attempts is how often a change is tried while another program rewrites its
// target, and pause the first wait between tries; each is twice as long as the
// one before.
const (
	attempts = 6
	pause    = 10 * time.Millisecond
)

// isStale reports whether err means that a target changed since it was
// observed.
func isStale(err error) bool { return errors.Is(err, ErrStale) || errors.Is(err, fsys.ErrChanged) }

// attempt makes change i. If its target changed, but not what the change is
// about, it observes and tries again, a bounded number of times: the plan saw
// everything that is then overwritten. The intent of each further attempt is on
// disk before it begins.
func (a *applying) attempt(ctx context.Context, i int) (Outcome, error) {
	busy := false
	for n, wait := 1, pause; ; n, wait = n+1, 2*wait {
		out, err := a.do(ctx, a.changes[i])
		switch {
		case !isStale(err) || ctx.Err() != nil:
			return out, err
		case n == attempts && busy:
			err = fmt.Errorf("%s %w, %d times in a row: a program rewrites it all the time; end that program, then run the command again", a.changes[i].Target.Resource.Address.Name(), ErrStale, n)
			return out, err
		case n == attempts:
			return out, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return out, err
		}
		c, seen := a.seenAgain(ctx, a.changes[i])
		switch seen {
		case another:
			return out, err
		case unclear:
			busy = false
			continue
		}
		step := a.intent(ctx, c)
		step.Dirs = a.journal.Entry().Changes[i].Dirs
		if err := a.journal.Revise(i, step); err != nil {
			return out, err
		}
		a.changes[i], busy = c, true
	}
}

// sight is the result of observing a target again.
type sight int

const (
	same    sight = iota // as when the change was decided
	unclear              // something else, perhaps an incomplete text
	another              // something else, permanently
)

// seenAgain is c with what is there now.
func (a *applying) seenAgain(ctx context.Context, c Change) (Change, sight) {
	whole := func(l LeafChange) bool { return l.Writes() && (l.Key == "" || l.Key == Seed) }
	if c.Exact != nil || !c.Writes() || c.Before.Presence != Present && c.Before.Presence != Absent || slices.ContainsFunc(c.Leaves, whole) {
		return c, another
	}
	now := a.engine.provider(c.Target.Resource.Address.Kind()).Observe(ctx, a.w.ReadEnv, []Target{c.Target})[0]
	switch {
	case now.Presence != Present:
		return c, unclear
	case now.ReadOnly || now.Inputs != c.Before.Inputs:
		return c, another
	}
	for _, l := range c.Leaves {
		was, had := c.Before.Live[l.Key]
		is, has := now.Live[l.Key]
		asWanted := l.Want == nil && !has || l.Want != nil && l.Last != nil && l.Want.Body.Fingerprint() == is // the plan saw a part of the text
		if l.Writes() && (had != has || was != is) && !asWanted {
			return c, unclear
		}
	}
	c.Before = now
	if a.options.RollbackOf == "" { // what a rollback records does not depend on what was there
		c.Next = next(c, a.store.of(c.Target), c.Owners)
	}
	return c, same
}
