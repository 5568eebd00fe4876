package file

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/merge"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// built is a file as it must be after a change, and what to record of it.
type built struct {
	gone    bool
	doc     []byte
	exec    bool
	private map[reconcile.LeafKey]json.RawMessage
	live    map[reconcile.LeafKey]reconcile.Fingerprint
	marked  map[reconcile.LeafKey]bool
	base    []byte // whole text of the spec, for a later diff or three-way merge
	secret  bool   // some of it is secret: readable by the owner alone
}

// token is the fingerprint of b.
func (b built) token() reconcile.Fingerprint {
	if b.gone {
		return ""
	}
	return tokenOf(fsys.Digest(b.doc), b.exec)
}

// build applies c to s. It is pure except that it reads sources and backups.
func build(r reconcile.ReadEnv, c reconcile.Change, s seen) (built, error) {
	b := built{
		gone: s.presence == reconcile.Absent, doc: s.doc, exec: s.exec,
		private: map[reconcile.LeafKey]json.RawMessage{}, live: map[reconcile.LeafKey]reconcile.Fingerprint{},
	}
	if c.Exact != nil {
		err := b.putBack(r, *c.Exact)
		return b, err
	}
	seedDropped := false
	for _, l := range c.Leaves {
		switch {
		case !l.Writes():
		case l.Key == "":
			if err := b.whole(r, c.Target.Resource.Address, l, s); err != nil {
				return b, err
			}
			if !b.gone {
				return b, nil // its members went with it
			}
		case l.Key == reconcile.Seed && l.Want == nil:
			seedDropped = true
		case l.Key == reconcile.Seed && b.gone:
			if err := b.fill(l); err != nil {
				return b, err
			}
		}
	}
	err := b.members(r, c, s, seedDropped)
	return b, err
}

// putBack gives b the earlier content with that token.
func (b *built) putBack(r reconcile.ReadEnv, token reconcile.Fingerprint) error {
	b.gone, b.doc, b.exec = token == "", nil, executes(token)
	if b.gone {
		return nil
	}
	var err error
	b.doc, err = backup(r, reconcile.BackupID(token))
	return err
}

// whole changes the one leaf that is the whole file.
func (b *built) whole(r reconcile.ReadEnv, a reconcile.Address, l reconcile.LeafChange, s seen) error {
	switch l.Action {
	case reconcile.Delete:
		b.gone, b.doc = true, nil
		return nil
	case reconcile.PutBack:
		return b.putBack(r, reconcile.Fingerprint(l.Last.Prior))
	}
	if err := b.fill(l); err != nil {
		return err
	}
	theirs := b.doc
	if isText(theirs) {
		b.base = theirs
	}
	merged, clean := merged(r, a, l, s)
	switch {
	case merged == nil && l.MergeBoth:
		return fmt.Errorf("your edit and the spec's change cannot be merged; %s", advice.ForceOrAdopt)
	case merged == nil:
		return nil
	}
	b.doc = merged
	b.live[l.Key] = b.token()
	if !clean {
		b.marked = map[reconcile.LeafKey]bool{l.Key: true}
	}
	return nil
}

// fill gives b the content that l wants.
func (b *built) fill(l reconcile.LeafChange) error {
	body, ok := l.Want.Body.(content)
	if !ok {
		return fmt.Errorf("leaf %q wants a %T, not the content of a file", l.Key, l.Want.Body)
	}
	doc, err := body.bytes()
	b.gone, b.doc, b.exec = false, doc, body.executable()
	return err
}

// members changes aisync's members of a document that others write too.
func (b *built) members(r reconcile.ReadEnv, c reconcile.Change, s seen, seedDropped bool) error {
	var ops []memberOp
	var whole []memberOp // the same, a leaf each
	alone := true        // nothing of others lies in a leaf
	maps.Copy(b.private, acceptedNotes(c))
	groups := groupsOf(c.Target)
	there, err := b.objects(c)
	if err != nil {
		return err
	}
	for _, l := range asAsked(c.Leaves) {
		if l.Key == "" || l.Key == reconcile.Seed || !l.Writes() {
			continue
		}
		op := memberOp{format: formatOf(c.Target, l.Key), Op: merge.Op{Key: string(l.Key)}}
		switch l.Action {
		case reconcile.Create, reconcile.Update:
			b.secret = b.secret || holdsSecret(l)
			op.Op, err = setOp(l)
			op.Group = groups[op.Header]
		case reconcile.PutBack:
			op.Value, op.Raw, err = priorValue(r, c.Target, l)
		}
		if err != nil {
			return err
		}
		whole = append(whole, op)
		if parts, ok := perField(c.Target, l, there[l.Key], op.Value); ok && op.Value != nil {
			for _, part := range parts {
				ops = append(ops, memberOp{format: op.format, Op: part})
			}
			alone = alone && !foreign(c.Target, l.Key, there[l.Key].Value)
			b.private[l.Key] = objectNote(l)
			continue
		}
		ops = append(ops, op)
	}
	if seedDropped {
		kept, err := keptOps(c, s)
		if err != nil {
			return err
		}
		if len(kept) == 0 && !sets(ops) {
			b.gone, b.doc = true, nil
			return nil
		}
		b.doc, ops = nil, append(kept, onlySets(ops)...)
	}
	if len(ops) == 0 || b.gone && !sets(ops) {
		return nil
	}
	notes := notesOf(c.Target)
	notes.File = notes.File || b.gone || seedDropped
	doc, made, err := edit(b.doc, ops, notes.Made)
	if err != nil {
		return err
	}
	if was, ok := asItWas(r, c, s, whole, notes.Made); ok && alone {
		doc = was
	} else if was, ok := asReplaced(r, c, s, whole, notes.Made); ok && alone {
		doc = was
	}
	b.gone = len(doc) == 0 && !sets(ops) && notes.File
	b.doc = doc
	for i, op := range ops {
		if op.Value == nil {
			continue
		}
		key := reconcile.LeafKey(op.Key)
		n := note{Made: made[i], File: notes.File}
		if style := styleOf(c.Target, key); style != merge.TextFormat(merge.FormatOf(c.Target.Resource.Address.Name())) {
			n.Style = style
		}
		l := leafOf(c, key)
		if l == nil {
			continue // a field of a leaf
		}
		if l.Want != nil {
			n.Fields = noteFields(l.Want.Body, l.Provenance)
		}
		b.private[key] = n.raw()
	}
	return nil
}

// asAsked returns list with the wanted leaves in the order of their declaration,
// after the others.
func asAsked(list []reconcile.LeafChange) []reconcile.LeafChange {
	order := func(l reconcile.LeafChange) int {
		if l.Want == nil {
			return -1
		}
		return l.Want.Order
	}
	out := slices.Clone(list)
	sort.SliceStable(out, func(i, j int) bool { return order(out[i]) < order(out[j]) })
	return out
}

// groupsOf returns the wanted lines of t in their order, by the header that they
// stand under.
func groupsOf(t reconcile.Target) map[string][]string {
	leaves := slices.Clone(t.Resource.Leaves)
	sort.SliceStable(leaves, func(i, j int) bool { return leaves[i].Order < leaves[j].Order })
	out := map[string][]string{}
	for _, l := range leaves {
		if text, ok := merge.LineOf(string(l.Key)); ok {
			if m, ok := l.Body.(member); ok {
				out[m.head] = append(out[m.head], text)
			}
		}
	}
	return out
}

// keptOps sets the members that stay in a new document when the first content
// goes: everything else in it is known to be that content.
func keptOps(c reconcile.Change, s seen) ([]memberOp, error) {
	var keys []reconcile.LeafKey
	changes := map[reconcile.LeafKey]reconcile.LeafChange{}
	for _, l := range asAsked(c.Leaves) {
		if l.Key != "" && l.Key != reconcile.Seed && !l.Writes() {
			keys = append(keys, l.Key)
			changes[l.Key] = l
		}
	}
	live, err := readLeaves(c.Target, s.doc, keys)
	if err != nil {
		return nil, err
	}
	var ops []memberOp
	for _, k := range keys {
		l, ok := live[k]
		if !ok {
			continue
		}
		op := merge.Op{Key: string(k), Value: l.Value}
		if want := changes[k].Want; want != nil {
			if m, ok := want.Body.(member); ok {
				op.Header = m.head
			}
		}
		ops = append(ops, memberOp{formatOf(c.Target, k), op})
	}
	return ops, nil
}

func setOp(l reconcile.LeafChange) (merge.Op, error) {
	if s, ok := l.Want.Body.(secretBody); ok {
		if s.v == nil {
			return merge.Op{}, fmt.Errorf("leaf %s: %w", l.Key, errSecretUnknown)
		}
		return merge.Op{Key: string(l.Key), Value: s.v}, nil
	}
	m, ok := l.Want.Body.(member)
	if !ok {
		return merge.Op{}, fmt.Errorf("leaf %s wants a %T, not a part of a file", l.Key, l.Want.Body)
	}
	return merge.Op{Key: string(l.Key), Value: m.v, Header: m.head}, nil
}

// priorValue is the value of l before aisync changed it, and its spelling then;
// nil if there was none.
func priorValue(r reconcile.ReadEnv, t reconcile.Target, l reconcile.LeafChange) (v merge.Value, raw string, err error) {
	doc, err := backup(r, l.Last.Prior)
	if err != nil {
		return nil, "", err
	}
	leaves, err := readLeaves(t, doc, []reconcile.LeafKey{l.Key})
	if err != nil {
		return nil, "", fmt.Errorf("prior value of %s: %w", l.Key, err)
	}
	return leaves[l.Key].Value, leaves[l.Key].Raw, nil
}

func backup(r reconcile.ReadEnv, id reconcile.BackupID) ([]byte, error) {
	if r.Backup == nil || id == "" {
		return nil, fmt.Errorf("no backup of the prior value is known; %s", advice.AdoptLeaf)
	}
	b, err := r.Backup(id)
	if err != nil {
		return nil, fmt.Errorf("read backup: %w", err)
	}
	return b, nil
}

// sets reports whether any op adds or changes a value.
func sets(ops []memberOp) bool {
	for _, op := range ops {
		if op.Value != nil {
			return true
		}
	}
	return false
}

// onlySets returns the ops that set a value.
func onlySets(ops []memberOp) []memberOp {
	var out []memberOp
	for _, op := range ops {
		if op.Value != nil {
			out = append(out, op)
		}
	}
	return out
}

const keepContent = 64 << 10 // bytes; larger texts are not kept as a base

func isText(b []byte) bool { return len(b) <= keepContent && !merge.IsBinary(b) }
