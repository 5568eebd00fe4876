package file

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Provider keeps files. It has no state.
type Provider struct {
	Seal Seal // for leaves that hold a secret; nil: they differ from every record
	// Gone is called for each file that Apply has removed, to remove what others made
	// because of it; nil: nothing. It may be called again.
	Gone func(w reconcile.WriteEnv, gone reconcile.Address)
}

// Kind implements reconcile.Provider.
func (Provider) Kind() string { return "file" }

// Observe implements reconcile.Provider. It hashes a file that is owned as a
// whole and does not keep its text. A document that cannot be parsed is Blocked
// where a leaf is wanted in it, and Unknown where one is only recorded, so that
// the record stays.
func (p Provider) Observe(ctx context.Context, r reconcile.ReadEnv, batch []reconcile.Target) []reconcile.Observation {
	out := make([]reconcile.Observation, len(batch))
	const chunk = 16
	var g errgroup.Group
	g.SetLimit(2 * runtime.GOMAXPROCS(0))
	for start := 0; start < len(batch); start += chunk {
		g.Go(func() (err error) {
			defer fsys.Caught(&err)
			for i := start; i < min(start+chunk, len(batch)); i++ {
				if err := ctx.Err(); err != nil {
					out[i] = reconcile.Observation{Presence: reconcile.Unknown, Reason: err.Error()}
					continue
				}
				out[i], _ = p.observe(r, batch[i])
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil { // the observations carry the errors
		panic(err)
	}
	return out
}

func (p Provider) observe(r reconcile.ReadEnv, t reconcile.Target) (reconcile.Observation, seen) {
	a := t.Resource.Address
	members := memberKeys(t.Keys())
	s := see(r, t, len(members) > 0 || isMarked(t))
	s = linked(r, t, s)
	o := reconcile.Observation{Presence: s.presence, Reason: s.reason, Token: s.token()}
	if s.readOnly() {
		o.ReadOnly, o.Reason = true, s.readOnlyReason(a.Name())
	}
	if s.presence != reconcile.Present {
		return o, s
	}
	raw := s
	if !asKnown(t, s) {
		s = asCommitted(r, a, s)
	}
	var err error
	if o.Live, err = p.live(t, s, members); err != nil {
		o.Presence, o.Live = reconcile.Blocked, nil
		if len(t.Resource.Leaves) == 0 {
			o.Presence = reconcile.Unknown
		}
		o.ReadOnly, o.Reason = false, inFile(a, err).Error()
		return o, raw
	}
	if _, whole := o.Live[""]; whole {
		former := isFormer(r, t, s)
		if former {
			o.Former = map[reconcile.LeafKey]bool{"": true}
		}
		if isCopy(r, t, raw, former) {
			o.Copies = map[reconcile.LeafKey]bool{"": true}
		}
		if isMarked(t) && merge.HasMarkers(s.doc) {
			o.Marked = map[reconcile.LeafKey]bool{"": true}
		}
	}
	return o, raw
}

// live returns the fingerprints that s holds for t's keys.
func (p Provider) live(t reconcile.Target, s seen, members []reconcile.LeafKey) (map[reconcile.LeafKey]reconcile.Fingerprint, error) {
	leaves, err := readStanding(t, s.doc, members)
	if err != nil {
		return nil, err
	}
	out := make(map[reconcile.LeafKey]reconcile.Fingerprint, 1)
	for _, key := range t.Keys() {
		switch key {
		case "":
			out[key] = s.token()
		case reconcile.Seed:
			out[key] = seedFingerprint(t, s, members)
		default:
			if l, ok := leaves[key]; ok {
				out[key] = p.fingerprint(t, key, l.Value)
			}
		}
	}
	return out, nil
}

// Attest implements reconcile.Attester. The text does not tell the executable
// bit: it is taken from the record.
func (p Provider) Attest(t reconcile.Target, text []byte) map[reconcile.LeafKey]reconcile.Fingerprint {
	s := seen{presence: reconcile.Present, digest: fsys.Digest(text), doc: text}
	s.exec = slices.ContainsFunc(t.Last, func(l reconcile.LeafRecord) bool { return executes(l.Live) })
	live, err := p.live(t, s, memberKeys(t.Keys()))
	if err != nil {
		return nil
	}
	return live
}

// asKnown reports whether all of s is exactly what is recorded or wanted.
func asKnown(t reconcile.Target, s seen) bool {
	token := s.token()
	return slices.ContainsFunc(t.Last, func(l reconcile.LeafRecord) bool { return l.Live == token }) ||
		slices.ContainsFunc(t.Resource.Leaves, func(l reconcile.Leaf) bool { return l.Key == "" && l.Body.Fingerprint() == token })
}

// fingerprint is that of the value under key.
func (p Provider) fingerprint(t reconcile.Target, key reconcile.LeafKey, v merge.Value) reconcile.Fingerprint {
	v = ownPart(t, key, v)
	if p.Seal != nil && isSecret(t, key) {
		return sealed(p.Seal, v)
	}
	return valueFingerprint(v)
}

// seedFingerprint is that of s without our members: what aisync added to a
// first content is no edit of it.
func seedFingerprint(t reconcile.Target, s seen, members []reconcile.LeafKey) reconcile.Fingerprint {
	if len(members) == 0 {
		return s.token()
	}
	ops := make([]memberOp, len(members))
	for i, key := range members {
		ops[i] = memberOp{format: formatOf(t, key), Op: merge.Op{Key: string(key)}}
	}
	bare, _, err := edit(s.doc, ops, notesOf(t).Made)
	if err != nil {
		return s.token()
	}
	return tokenOf(fsys.Digest(bare), s.exec)
}

func memberKeys(keys []reconcile.LeafKey) []reconcile.LeafKey {
	var out []reconcile.LeafKey
	for _, k := range keys {
		if k != "" && k != reconcile.Seed {
			out = append(out, k)
		}
	}
	return out
}

// readLeaves reads keys of t in doc.
func readLeaves(t reconcile.Target, doc []byte, keys []reconcile.LeafKey) (map[reconcile.LeafKey]merge.Leaf, error) {
	byFormat := map[merge.Format][]string{}
	for _, k := range keys {
		f := formatOf(t, k)
		byFormat[f] = append(byFormat[f], string(k))
	}
	out := make(map[reconcile.LeafKey]merge.Leaf, len(keys))
	for f, ks := range byFormat {
		leaves, err := merge.Read(f, doc, ks)
		if err != nil {
			return nil, err
		}
		for k, l := range leaves {
			out[reconcile.LeafKey(k)] = l
		}
	}
	return out, nil
}

// inFile prefixes the file's name to an error of package merge.
func inFile(a reconcile.Address, err error) error {
	var at *merge.Error
	if errors.As(err, &at) && at.Line > 0 {
		return fmt.Errorf("%s:%w", a.Name(), err)
	}
	return fmt.Errorf("%s: %w", a.Name(), err)
}
