// Package dir is the provider of folders that must exist. It never changes what
// a folder holds, and removes a folder that aisync made only while it is empty.
// A folder with first contents is a Layout. Start reading at Observe.
package dir

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

// Folder is the body of a folder that must exist.
func Folder() reconcile.Body { return body{} }

type body struct{}

func (body) Fingerprint() reconcile.Fingerprint { return exists }
func (body) Redacted() json.RawMessage          { return json.RawMessage(`true`) }

const exists reconcile.Fingerprint = "dir"

// Provider keeps folders. It is stateless.
type Provider struct {
	Layouts map[string]Layout // layouts by folder name: what may be removed with the folder
}

var _ reconcile.Preflighter = Provider{}

// Kind implements reconcile.Provider.
func (Provider) Kind() string { return "dir" }

// Observe implements reconcile.Provider. A link that leads to a folder within
// the scope is a folder.
func (Provider) Observe(_ context.Context, r reconcile.ReadEnv, batch []reconcile.Target) []reconcile.Observation {
	out := make([]reconcile.Observation, len(batch))
	for i, t := range batch {
		out[i] = see(r.FS, t, r.Home)
	}
	return out
}

func see(r fsys.Reader, t reconcile.Target, home fsys.LogicalPath) reconcile.Observation {
	o := observe(r, t.Resource.Address, home)
	if b, ok := layoutOf(t); ok {
		o = b.observe(o, r, t.Resource.Address.Path(home))
	}
	return o
}

func observe(r fsys.Reader, a reconcile.Address, home fsys.LogicalPath) reconcile.Observation {
	p := a.Path(home)
	info, err := r.Lstat(p)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if _, err = r.ReadDir(p); fsys.Conclusive(err) {
			return reconcile.Observation{Presence: reconcile.Blocked, Reason: fmt.Sprintf("%s does not link to a usable folder (%v); create its target, or remove the link", a.Name(), err)}
		}
	} else if err == nil && !info.IsDir() {
		return reconcile.Observation{Presence: reconcile.Blocked, Reason: fmt.Sprintf("%s is a file; move it away, or take the folder out of the spec", a.Name())}
	}
	if err != nil {
		return provide.Unseen(a, err)
	}
	return reconcile.Observation{Presence: reconcile.Present, Token: exists, Live: map[reconcile.LeafKey]reconcile.Fingerprint{"": exists}}
}

// Explain implements reconcile.Provider. It has nothing to add to the address,
// except why a folder stays.
func (Provider) Explain(_ context.Context, r reconcile.ReadEnv, c reconcile.Change) []reconcile.Line {
	a := c.Target.Resource.Address
	if removes(c) {
		if list, err := r.FS.ReadDir(a.Path(r.Home)); err == nil && len(list) > 0 {
			return []reconcile.Line{{Op: ' ', Text: fmt.Sprintf("stays if it is not empty; it holds %d entries now", len(list))}}
		}
	}
	if b, ok := layoutOf(c.Target); ok && !removes(c) {
		return b.explain(r.FS, a.Path(r.Home))
	}
	return nil
}

func removes(c reconcile.Change) bool {
	if c.Exact != nil {
		return *c.Exact == ""
	}
	for _, l := range c.Leaves {
		if l.Action == reconcile.Delete {
			return true
		}
	}
	return false
}

// Apply implements reconcile.Provider. A folder that is not empty stays,
// without an error: its contents are not aisync's.
func (d Provider) Apply(_ context.Context, c reconcile.Change, w reconcile.WriteEnv) (reconcile.Outcome, error) {
	a := c.Target.Resource.Address
	p := a.Path(w.Home)
	now := see(w.FS, c.Target, w.Home)
	if now.Presence == reconcile.Blocked || now.Presence == reconcile.Unknown {
		return reconcile.Outcome{}, fmt.Errorf("%w; %s", reconcile.ErrStale, now.Reason)
	}
	if removes(c) {
		if _, err := w.FS.Lstat(p); errors.Is(err, fs.ErrNotExist) {
			return reconcile.Outcome{}, nil // as after a kill
		}
		if laid := d.Layouts[a.Name()]; now.Presence == reconcile.Present && laid.first != nil {
			if err := laid.empty(w.FS, p); err != nil {
				return reconcile.Outcome{}, fmt.Errorf("%s: %w", a.Name(), err)
			}
		}
		err := w.FS.Rmdir(p)
		switch {
		case err == nil || errors.Is(err, fs.ErrNotExist):
			return reconcile.Outcome{}, nil
		case errors.Is(err, fsys.ErrNotEmpty), errors.Is(err, fsys.ErrBlocked):
			return reconcile.Outcome{Token: exists}, nil
		}
		return reconcile.Outcome{}, fmt.Errorf("%s: %w", a.Name(), err)
	}
	if now.Token == exists {
		return reconcile.Outcome{Token: exists}, nil
	}
	b, filled := layoutOf(c.Target)
	if l, known := d.Layouts[a.Name()]; known && !filled { // put back
		b, filled = l.layout, true
	}
	mode := fs.FileMode(0o755)
	if filled {
		mode = 0o700
	}
	made, err := w.FS.MkdirAll(p, mode)
	if err != nil {
		provide.Unmake(w, made)
		return reconcile.Outcome{}, fmt.Errorf("%s: %w", a.Name(), err)
	}
	if filled {
		if err := b.complete(w.FS, p); err != nil {
			return reconcile.Outcome{}, fmt.Errorf("%s: %w", a.Name(), err)
		}
	}
	if n := len(made); n > 0 && made[n-1] == p {
		made = made[:n-1] // the folder itself has a separate record
	}
	return reconcile.Outcome{Token: exists, Dirs: made}, nil
}

// Preflight implements reconcile.Preflighter: every folder that changes must be
// writable.
func (Provider) Preflight(_ context.Context, r reconcile.ReadEnv, batch []reconcile.Change) []reconcile.Problem {
	return provide.Unwritable(r, batch)
}
