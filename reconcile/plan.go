package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/matrix"
	"aisync.dev/aisync/reconcile/resource"
)

// Plan compares what is wanted with what is there and what is recorded, and
// decides. It never writes and never dials. An error means that no plan is
// possible: a dependency cycle, a pattern without a match, a context that
// ended.
func (e *Engine) Plan(ctx context.Context, r ReadEnv, s *Store, in Input) (*Plan, error) {
	for _, o := range in.Owners {
		if dir := o.ProjectDir(); !utf8.ValidString(dir) {
			return nil, fmt.Errorf("the folder %q has a name that is not UTF-8, which records cannot hold; rename it", dir)
		}
	}
	if s.journal != nil {
		e.replay(ctx, r, s, s.journal)
	}
	resources, conflicts := resource.Compose(in.Declarations)
	unwanted := slices.Concat(in.Strays, slices.Collect(maps.Keys(in.Duplicates)))
	known := s.places(r, resources, unwanted, in.Owners)
	resources, clashes, asked := known.Compose(resources)
	p := &Plan{
		Conflicts:   slices.Concat(conflicts, clashes),
		Unsupported: slices.Clone(in.Unsupported),
		Notes:       slices.Clone(in.Notes),
		Owners:      in.Owners,
		Choice:      in.Choice,
		Partial:     len(in.Targets)+len(in.Excludes) > 0,
	}
	targets := withStrays(e.targets(p, resources, s, in.Owners, known, asked), unwanted, known)
	seen, err := e.observe(ctx, r, targets)
	if err != nil {
		return nil, err
	}
	p.Changes = make([]Change, len(targets))
	for i, t := range targets {
		p.Changes[i] = e.change(ctx, r, s, t, seen[i], in)
	}
	if _, err := order(p.Changes); err != nil {
		return nil, err
	}
	if err := p.narrow(in.Targets, in.Excludes); err != nil {
		return nil, err
	}
	if err := s.failed(); err != nil {
		return nil, err
	}
	return p, nil
}

// targets joins the resources with the records of owners; what is recorded and
// no longer declared becomes a target without leaves. It leaves targets in
// conflict alone: a spec that contradicts itself drops nothing.
func (e *Engine) targets(p *Plan, resources []Resource, s *Store, owners []Owner, known resource.Places, asked map[Address]map[Owner]Address) []Target {
	wanted := make(map[Address]Resource, len(resources))
	for _, r := range resources {
		wanted[r.Address] = r
	}
	skip := map[Address]bool{}
	for _, c := range p.Conflicts {
		skip[known.First(c.Address)], skip[known.First(c.Other)] = true, true
	}
	for _, u := range p.Unsupported {
		skip[known.First(u.Address)] = true
	}
	for _, o := range owners {
		for _, rec := range s.Records(o) {
			a := known.First(rec.Address)
			if _, ok := wanted[a]; !ok {
				wanted[a] = Resource{Address: a, Format: rec.Format, DependsOn: rec.DependsOn, Local: rec.Local}
			}
		}
	}
	targets := make([]Target, 0, len(wanted))
	for a, res := range wanted {
		if skip[a] {
			continue
		}
		if e.provider(a.Kind()) == nil {
			p.Unsupported = append(p.Unsupported, Unsupported{Address: a, Reason: fmt.Sprintf("this version has no %s kind", a.Kind()), Origin: res.FirstOrigin()})
			continue
		}
		t := Target{Resource: res, asked: asked[a]}
		if group := known.Group(a); group != nil {
			t.Aliases = group[1:]
		}
		targets = append(targets, t.withRecords(s.of(t), owners))
	}
	sort.Slice(targets, func(i, j int) bool { return targets[i].Resource.Address < targets[j].Resource.Address })
	sort.Slice(p.Unsupported, func(i, j int) bool { return p.Unsupported[i].Address < p.Unsupported[j].Address })
	return targets
}

// withStrays adds the files in aisync's folders that are no targets and whose
// names records can hold.
func withStrays(targets []Target, strays []Address, places resource.Places) []Target {
	if len(strays) == 0 {
		return targets
	}
	known := make(map[Address]bool, len(targets))
	for _, t := range targets {
		known[t.Resource.Address] = true
	}
	for _, a := range strays {
		if !known[a] && places.Group(a) == nil && utf8.ValidString(string(a)) {
			known[a] = true
			targets = append(targets, Target{Resource: Resource{Address: a}, Stray: true})
		}
	}
	sort.Slice(targets, func(i, j int) bool { return targets[i].Resource.Address < targets[j].Resource.Address })
	return targets
}

// withRecords joins t with its records: those of owners, and of others if they
// hold a leaf that is wanted here too.
func (t Target) withRecords(records []Record, owners []Owner) Target {
	last, others := map[LeafKey]LeafRecord{}, map[LeafKey]LeafRecord{}
	want := map[LeafKey]bool{}
	for _, l := range t.Resource.Leaves {
		want[l.Key] = true
	}
	for _, ours := range []bool{false, true} { // ours win
		for _, rec := range records {
			if slices.Contains(owners, rec.Owner) != ours {
				continue
			}
			if ours || t.Private == nil {
				t.Private = rec.Private
			}
			t.Inputs = rec.Inputs
			for _, l := range rec.Leaves {
				if ours || want[l.Key] {
					last[l.Key] = l
				} else if _, both := last[l.Key]; !both {
					others[l.Key] = l
				}
			}
		}
	}
	for _, l := range last {
		t.Last = append(t.Last, l)
		delete(others, l.Key)
	}
	for _, l := range others {
		t.Others = append(t.Others, l)
	}
	sort.Slice(t.Others, func(i, j int) bool { return compareKeys(t.Others[i].Key, t.Others[j].Key) < 0 })
	sort.Slice(t.Last, func(i, j int) bool { return compareKeys(t.Last[i].Key, t.Last[j].Key) < 0 })
	return t
}

// observe asks each provider once, all of them in parallel.
func (e *Engine) observe(ctx context.Context, r ReadEnv, targets []Target) ([]Observation, error) {
	seen := make([]Observation, len(targets))
	batches := map[string][]int{}
	for i, t := range targets {
		k := t.Resource.Address.Kind()
		batches[k] = append(batches[k], i)
	}
	g, ctx := errgroup.WithContext(ctx)
	for kind, at := range batches {
		g.Go(func() (err error) {
			defer fsys.Caught(&err)
			batch := make([]Target, len(at))
			for j, i := range at {
				batch[j] = targets[i]
			}
			got := e.provider(kind).Observe(ctx, r, batch)
			if len(got) != len(at) {
				return fmt.Errorf("provider %s observed %d of %d targets", kind, len(got), len(at))
			}
			for j, i := range at {
				seen[i] = got[j]
			}
			return ctx.Err()
		})
	}
	return seen, g.Wait()
}

// change decides every leaf of one target.
func (e *Engine) change(ctx context.Context, r ReadEnv, s *Store, t Target, o Observation, in Input) Change {
	p := e.provider(t.Resource.Address.Kind())
	c := Change{Target: t, Before: o}
	records := s.of(t)
	for _, key := range t.Keys() {
		c.Leaves = append(c.Leaves, relate(p, t, o, key, records, in.Owners))
	}
	for i := range c.Leaves {
		l := &c.Leaves[i]
		if m, ok := p.(Merger); ok && l.Rel.BothMoved() {
			l.Rel.CanMerge, l.Rel.CanMark = m.CanMerge(ctx, r, c, *l)
		}
		in.mayTakeOver(t, o, l)
		why := in.older(t, *l)
		l.Rel.Older = why != ""
		l.Decision = matrix.Decide(l.Rel, in.Choice)
		if l.Rel.Older {
			l.Meaning = why
			continue
		}
		s.vouch(t, *l, in.Owners)
		if why := in.held(t, l.Key); why != "" && l.Writes() {
			l.Decision = Decision{Action: Clash, Meaning: why, Provenance: l.Rel.Provenance, Pending: true}
			continue
		}
		if s.inherited && t.Resource.Local && l.Action == Accept && l.Rel.WantLive && !l.Rel.Last && c.ofProject() {
			// The project was applied before, git does not carry this, and it
			// is as it should be: another copy of these records made it.
			l.Provenance = Created
		}
		if _, sole := p.(Sole); sole && (l.Provenance == Replaced || l.Action == Accept && l.Rel.WantLive && !l.Rel.Last) {
			l.Provenance, l.TakePrior = Created, false
		}
		l.Meaning = in.reason(l.Meaning)
		if l.Action == Clash && l.Rel.Contested != "" {
			l.Meaning = fmt.Sprintf("%s wants something else here", l.Rel.Contested)
		}
		if o.Reason != "" && l.ReadOnly == o.ReadOnly && (l.Action == Clash || l.Action == Unclear || l.Action == Create && l.Rel.Last) {
			l.Meaning = o.Reason
		}
		if in.Keep != nil && (l.Writes() || l.Action != None && !in.Keep(t, l.Key)) {
			l.Decision, l.Waits = Decision{Drift: l.Drift, Pending: l.Pending, Provenance: l.Rel.Provenance}, true
			continue
		}
		if l.Action == None && l.Want != nil && l.Last != nil {
			switch {
			case !held(records, in.Owners, *l):
				l.Action, l.Meaning, l.Same = Accept, "already there for another owner", true
			case lapsed(records, in.Owners, *l):
				l.Action, l.Meaning, l.Same = Release, "only another owner still wants it", true
			}
		}
		if l.Want == nil && o.Presence == Blocked && len(t.Resource.Leaves) > 0 {
			l.Decision = Decision{Action: Clash, Meaning: o.Reason, Provenance: l.Rel.Provenance} // it may still be in there
		}
	}
	e.spare(r, c, in)
	c.Action = summary(c.Leaves, o)
	c.Owners = in.Owners
	c.Next = next(c, records, in.Owners)
	return c
}

// ofProject reports whether c is about something in the project itself.
func (c Change) ofProject() bool {
	return ofProject(c.Target.Resource.Address)
}

// relate compares one leaf's want, live and last.
func relate(p Provider, t Target, o Observation, key LeafKey, records []Record, owners []Owner) LeafChange {
	l := LeafChange{Key: key}
	if i, ok := slices.BinarySearchFunc(t.Resource.Leaves, key, func(l Leaf, k LeafKey) int { return strings.Compare(string(l.Key), string(k)) }); ok {
		l.Want = &t.Resource.Leaves[i]
	}
	if i, ok := slices.BinarySearchFunc(t.Last, key, func(l LeafRecord, k LeafKey) int { return strings.Compare(string(l.Key), string(k)) }); ok {
		l.Last = &t.Last[i]
	}
	live, has := o.Live[key]
	r := Relation{
		Want: l.Want != nil, Last: l.Last != nil, Live: has && o.Presence == Present,
		Blocked: o.Presence == Blocked, Unknown: o.Presence == Unknown, ReadOnly: o.ReadOnly,
		InputsSame: t.Inputs == o.Inputs, Stray: t.Stray,
	}
	mine, other := holders(records, owners, key)
	satisfied := func(f Fingerprint) bool {
		if rel, ok := p.(Relater); ok {
			return rel.Satisfied(*l.Want, f)
		}
		return l.Want.Body.Fingerprint() == f
	}
	if r.Want {
		r.Own = l.Want.Own
		r.WantLive = r.Live && satisfied(live)
	}
	if r.Want && r.Last {
		r.WantLast = satisfied(l.Last.Wanted())
		r.Declined = l.Last.Declined != "" && l.Last.Declined == l.Want.Body.Fingerprint()
		if !mine && !r.WantLast && !r.Declined { // what another owner made counts as another writer's
			r.Last, l.Last, r.Contested = false, nil, other
		}
	}
	if r.Last {
		r.Provenance, r.NoPrior = l.Last.Provenance, l.Last.Prior == ""
		r.LiveLast = r.Live && live == l.Last.Live
		if !r.Want {
			r.Own = l.Last.Own
		}
		r.Shared = shared(records, owners, key, l.Last.Live) || r.Live && shared(records, owners, key, live)
		_, merges := p.(Merger)
		r.Refused, r.Merged = l.Last.Declined != "", merges && l.Last.Want != ""
		r.Marked, r.Resolved = r.Live && l.Last.Marked && o.Marked[key], r.Live && l.Last.Marked && !o.Marked[key]
	} else {
		r.Former = r.Live && r.Want && !r.WantLive && o.Former[key]
	}
	r.Copy = r.Live && r.Want && o.Copies[key]
	l.Rel = r
	return l
}

// holders reports whether an owner of the plan has key recorded, and returns
// another owner that has; "" if none has.
func holders(records []Record, owners []Owner, key LeafKey) (mine bool, other Owner) {
	for i := range records {
		switch o := records[i].Owner; {
		case records[i].Leaf(key) == nil:
		case slices.Contains(owners, o):
			mine = true
		default:
			other = o
		}
	}
	return mine, other
}

// shared reports whether an owner other than owners has key recorded with the
// value live.
func shared(records []Record, owners []Owner, key LeafKey, live Fingerprint) bool {
	for i := range records {
		if l := records[i].Leaf(key); l != nil && !slices.Contains(owners, records[i].Owner) && l.Live == live {
			return true
		}
	}
	return false
}

// lapsed reports whether an owner in the plan has l recorded and no longer
// wants it.
func lapsed(records []Record, owners []Owner, l LeafChange) bool {
	for i := range records {
		o := records[i].Owner
		if slices.Contains(owners, o) && !slices.Contains(l.Want.Owners, o) && records[i].Leaf(l.Key) != nil {
			return true
		}
	}
	return false
}

// held reports whether every owner in the plan that wants l has it recorded.
func held(records []Record, owners []Owner, l LeafChange) bool {
	for _, o := range l.Want.Owners {
		i := slices.IndexFunc(records, func(r Record) bool { return r.Owner == o })
		if slices.Contains(owners, o) && (i < 0 || records[i].Leaf(l.Key) == nil) {
			return false
		}
	}
	return true
}
