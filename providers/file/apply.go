package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/provide"
)

// Apply implements reconcile.Provider. It leaves a target alone that already is
// as c wants it.
func (x Provider) Apply(ctx context.Context, c reconcile.Change, w reconcile.WriteEnv) (reconcile.Outcome, error) {
	a := c.Target.Resource.Address
	p := a.Path(w.Home)
	if err := ctx.Err(); err != nil {
		return reconcile.Outcome{}, err
	}
	s := see(w.ReadEnv, c.Target, true)
	if s.presence != reconcile.Absent && s.presence != reconcile.Present {
		return reconcile.Outcome{}, fmt.Errorf("%w; %s", reconcile.ErrStale, s.reason)
	}
	if s.token() != c.Before.Token {
		return done(w.ReadEnv, c, s)
	}
	b, err := build(w.ReadEnv, c, s)
	if err != nil {
		return reconcile.Outcome{}, inFile(a, err)
	}
	out := b.outcome()
	if b.token() == s.token() {
		return out, nil
	}
	if s.readOnly() {
		return reconcile.Outcome{}, fmt.Errorf("%w; %s", reconcile.ErrStale, s.readOnlyReason(a.Name()))
	}
	if s.via != "" {
		p = s.via
	}
	out.Dirs, err = b.write(w, p, s, c.ExactMode)
	if errors.Is(err, fsys.ErrChanged) {
		err = fmt.Errorf("%w (%w); run the command again", reconcile.ErrStale, err)
	}
	if err != nil {
		provide.Unmake(w, out.Dirs)
		return reconcile.Outcome{}, fmt.Errorf("%s: %w", a.Name(), err)
	}
	if b.gone {
		x.Tidy(ctx, w, a)
	}
	return out, nil
}

var _ reconcile.Tidier = Provider{}

// Tidy implements reconcile.Tidier.
func (x Provider) Tidy(_ context.Context, w reconcile.WriteEnv, gone reconcile.Address) {
	if x.Gone != nil {
		x.Gone(w, gone)
	}
}

var _ reconcile.Foreteller = Provider{}

// Foretell implements reconcile.Foreteller. Of a whole file only the outcome of
// a merge can be told.
func (Provider) Foretell(_ context.Context, r reconcile.ReadEnv, c reconcile.Change) reconcile.Outcome {
	if !slices.ContainsFunc(c.Leaves, func(l reconcile.LeafChange) bool { return l.Writes() && (l.Key != "" || l.MergeBoth) }) {
		return reconcile.Outcome{}
	}
	s := see(r, c.Target, true)
	if s.token() != c.Before.Token {
		return reconcile.Outcome{} // Apply reports that it is stale
	}
	b, err := build(r, c, s)
	if err != nil {
		return reconcile.Outcome{} // and what is wrong
	}
	return b.outcome()
}

func (b built) outcome() reconcile.Outcome {
	return reconcile.Outcome{LeafPrivate: b.private, LeafLive: b.live, LeafMarked: b.marked, Token: b.token(), Content: b.base}
}

// write replaces s on disk by b, with mode unless it is 0, and returns the
// folders that it made.
func (b built) write(w reconcile.WriteEnv, p fsys.LogicalPath, s seen, mode fs.FileMode) ([]fsys.LogicalPath, error) {
	keep := provide.KeepAs(w, s.token())
	if b.gone {
		return nil, w.FS.Remove(p, s.expect(), keep)
	}
	var dirs []fsys.LogicalPath
	if s.presence == reconcile.Absent {
		var err error
		if dirs, err = w.FS.MkdirAll(p.Dir(), 0o755); err != nil {
			return dirs, err
		}
	}
	if mode == 0 {
		mode = b.mode(s)
	}
	return dirs, w.FS.Replace(p, fsys.Content{Bytes: b.doc, Mode: mode}, s.expect(), keep)
}

// mode returns 0 where the present mode stays: only the executable bits are
// aisync's.
func (b built) mode(s seen) fs.FileMode {
	switch {
	case b.secret && s.presence == reconcile.Absent:
		return 0o600
	case b.secret && s.mode.Perm()&0o077 != 0:
		return s.mode.Perm() &^ 0o077
	case s.presence == reconcile.Absent && b.exec:
		return 0o755
	case s.presence == reconcile.Absent:
		return 0o644
	case b.exec == s.exec:
		return 0
	case b.exec:
		return s.mode.Perm() | s.mode.Perm()&0o444>>2
	}
	return s.mode.Perm() &^ 0o111
}

// done is the outcome where s has changed since the plan was made. It succeeds
// if everything is as c wants it, as after a kill between the write and its
// record.
func done(r reconcile.ReadEnv, c reconcile.Change, s seen) (reconcile.Outcome, error) {
	a := c.Target.Resource.Address
	if before, kept := planned(r, c); kept { // then the notes can be had again
		if b, err := build(r, c, before); err == nil && b.token() == s.token() {
			return b.outcome(), nil
		}
	}
	b, err := build(r, c, s)
	if err == nil && b.token() == s.token() && b.holds(c, s) {
		return reconcile.Outcome{Token: s.token()}, nil
	}
	return reconcile.Outcome{}, fmt.Errorf("%s %w; run the command again", a.Name(), reconcile.ErrStale)
}

// planned is the file that the plan saw; kept is false if no backup has it.
func planned(r reconcile.ReadEnv, c reconcile.Change) (_ seen, kept bool) {
	if c.Before.Token == "" {
		return seen{presence: reconcile.Absent}, true
	}
	if r.Backup == nil {
		return seen{}, false
	}
	doc, err := r.Backup(reconcile.BackupID(c.Before.Token))
	return seen{presence: reconcile.Present, digest: fsys.Digest(doc), exec: executes(c.Before.Token), doc: doc}, err == nil
}

// holds reports whether s is what c makes, beyond what c leaves alone.
func (b built) holds(c reconcile.Change, s seen) bool {
	for _, l := range c.Leaves {
		if l.MergeBoth || l.Key == reconcile.Seed && l.Writes() && l.Want != nil {
			return false // what c would have made cannot be told from s
		}
	}
	return true
}

var _ reconcile.Preflighter = Provider{}

// Preflight implements reconcile.Preflighter: every folder that changes must be
// writable.
func (Provider) Preflight(_ context.Context, r reconcile.ReadEnv, batch []reconcile.Change) []reconcile.Problem {
	var problems []reconcile.Problem
	asked := map[fsys.LogicalPath]error{} // by folder
	for _, c := range batch {
		a := c.Target.Resource.Address
		p := a.Path(r.Home)
		err, ok := asked[p.Dir()]
		if !ok {
			err = r.FS.Writable(p)
			asked[p.Dir()] = err
		}
		if err != nil {
			problems = append(problems, reconcile.Problem{Address: a, Err: fmt.Errorf("%s: %w", a.Name(), err)})
		}
	}
	return problems
}
