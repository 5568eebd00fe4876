// Package link is the provider of symbolic links, each owned as a whole: its
// value is the text of its target. It never follows a link, and never replaces
// a file or folder. Start reading at Observe.
package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/reconcile/provide"
)

// To is a link to target, as Readlink returns it: relative to the folder of the
// link, or absolute.
func To(target string) reconcile.Body { return body(target) }

// TargetOf returns where a link of To leads; ok is false for other bodies.
func TargetOf(b reconcile.Body) (target string, ok bool) {
	to, ok := b.(body)
	return string(to), ok
}

type body string

func (b body) Fingerprint() reconcile.Fingerprint { return token(string(b)) }
func (b body) Redacted() json.RawMessage {
	v, _ := json.Marshal(string(b)) // a string: cannot fail
	return v
}

func token(target string) reconcile.Fingerprint {
	return reconcile.Fingerprint(fsys.LinkDigest(target))
}

// Provider keeps links. It has no state.
type Provider struct{}

var (
	_ reconcile.Preflighter = Provider{}
	_ reconcile.Attester    = Provider{}
)

// Kind implements reconcile.Provider.
func (Provider) Kind() string { return "link" }

// Observe implements reconcile.Provider.
func (Provider) Observe(_ context.Context, r reconcile.ReadEnv, batch []reconcile.Target) []reconcile.Observation {
	out := make([]reconcile.Observation, len(batch))
	for i, t := range batch {
		out[i], _ = observe(r.FS, t.Resource.Address, r.Home)
	}
	return out
}

// Attest implements reconcile.Attester: git stores the target of a link as its
// text.
func (Provider) Attest(_ reconcile.Target, text []byte) map[reconcile.LeafKey]reconcile.Fingerprint {
	return map[reconcile.LeafKey]reconcile.Fingerprint{"": token(string(text))}
}

// observe also returns the link's target.
func observe(r fsys.Reader, a reconcile.Address, home fsys.LogicalPath) (reconcile.Observation, string) {
	p := a.Path(home)
	info, err := r.Lstat(p)
	if err != nil {
		return provide.Unseen(a, err), ""
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		what := "file"
		if info.IsDir() {
			what = "folder"
		}
		return reconcile.Observation{Presence: reconcile.Blocked, Reason: fmt.Sprintf("%s is a %s, not a link; move it away, or take the link out of the spec", a.Name(), what)}, ""
	}
	target, err := r.Readlink(p)
	if err != nil {
		return reconcile.Observation{Presence: reconcile.Unknown, Reason: fmt.Sprintf("%s: %v", a.Name(), err)}, ""
	}
	is := token(target)
	return reconcile.Observation{Presence: reconcile.Present, Token: is, Live: map[reconcile.LeafKey]reconcile.Fingerprint{"": is}}, target
}

// Explain implements reconcile.Provider.
func (Provider) Explain(_ context.Context, r reconcile.ReadEnv, c reconcile.Change) []reconcile.Line {
	_, is := observe(r.FS, c.Target.Resource.Address, r.Home)
	want, err := target(r, c)
	if err != nil { // only the fingerprint of the wanted target is known, or the backup is gone
		if is == "" {
			return nil
		}
		return []reconcile.Line{{Op: '~', Text: "-> " + is}}
	}
	var lines []reconcile.Line
	if is != "" && is != want {
		lines = append(lines, reconcile.Line{Op: '-', Text: "-> " + is})
	}
	if want != "" && is != want {
		lines = append(lines, reconcile.Line{Op: '+', Text: "-> " + want})
	}
	return lines
}

// target is the link's target after c; "" if the link goes.
func target(r reconcile.ReadEnv, c reconcile.Change) (string, error) {
	want, prior, err := provide.Wanted(c)
	if want != nil {
		to, ok := want.(body)
		if !ok {
			return "", fmt.Errorf("%s wants a %T, not a link", c.Target.Resource.Address, want)
		}
		return string(to), nil
	}
	if err != nil || prior == "" {
		return "", err
	}
	b, err := r.Backup(prior)
	if err != nil {
		return "", fmt.Errorf("prior target of %s: %w", c.Target.Resource.Address.Name(), err)
	}
	return string(b), nil
}

// Apply implements reconcile.Provider.
func (Provider) Apply(_ context.Context, c reconcile.Change, w reconcile.WriteEnv) (reconcile.Outcome, error) {
	a := c.Target.Resource.Address
	p := a.Path(w.Home)
	now, _ := observe(w.FS, a, w.Home)
	want, err := target(w.ReadEnv, c)
	if err != nil {
		return reconcile.Outcome{}, err
	}
	out := reconcile.Outcome{}
	if want != "" {
		out.Token = token(want)
	}
	switch {
	case now.Presence == reconcile.Blocked || now.Presence == reconcile.Unknown:
		return reconcile.Outcome{}, fmt.Errorf("%w; %s", reconcile.ErrStale, now.Reason)
	case now.Token == out.Token:
		return out, nil
	case now.Token != c.Before.Token:
		return reconcile.Outcome{}, fmt.Errorf("%s %w; run the command again", a.Name(), reconcile.ErrStale)
	}
	expect := fsys.Expect{Absent: now.Token == "", Digest: string(now.Token)}
	keep := provide.KeepAs(w, now.Token)
	if want == "" {
		err = w.FS.Remove(p, expect, keep)
	} else if out.Dirs, err = w.FS.MkdirAll(p.Dir(), 0o755); err == nil {
		err = w.FS.Symlink(p, want, expect, keep)
	}
	if errors.Is(err, fsys.ErrChanged) {
		err = fmt.Errorf("%w (%w); run the command again", reconcile.ErrStale, err)
	}
	if err != nil {
		provide.Unmake(w, out.Dirs)
		return reconcile.Outcome{}, fmt.Errorf("%s: %w", a.Name(), err)
	}
	return out, nil
}

// Preflight implements reconcile.Preflighter: every folder that changes must be
// writable.
func (Provider) Preflight(_ context.Context, r reconcile.ReadEnv, batch []reconcile.Change) []reconcile.Problem {
	return provide.Unwritable(r, batch)
}
