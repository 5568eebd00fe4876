// Package packages is the provider of installed programs: one resource a
// package, named by who installs it (package:npm/@openai/codex). A package
// manager is a value in a slice, one file each; what it installs is checked
// afterwards, and what was there before is only ever released. It looks
// without dialling, asks for no password, and keeps no files of its own.
// Start reading at Provider.Observe, then manager.go.
package packages

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
)

// Options say for whom packages are installed.
type Options struct {
	Offline  bool             // nothing may be fetched
	Cache    fsys.LogicalPath // for archives of releases
	EUID     int              // of this process
	UID, GID int              // whose the home is, where Chown
	Chown    bool             // this is root, working for UID
}

// Provider installs and removes packages. Managers keep what they have in one
// place each, so that one change at a time is made with each of them.
type Provider struct {
	options Options
	turns   map[string]*sync.Mutex // by manager
}

var (
	_ reconcile.Relater     = Provider{}
	_ reconcile.Permanent   = Provider{}
	_ reconcile.Preflighter = Provider{}
	_ reconcile.Recallable  = Provider{}
	_ reconcile.Placed      = Provider{}
)

// New returns a provider of all managers.
func New(o Options) Provider {
	p := Provider{options: o, turns: map[string]*sync.Mutex{}}
	for _, m := range managers {
		p.turns[m.name] = &sync.Mutex{}
	}
	return p
}

// Kind implements reconcile.Provider.
func (Provider) Kind() string { return "package" }

// NotUndone implements reconcile.Permanent.
func (Provider) NotUndone() string {
	return "what was installed stays, and what was removed is not fetched again; change the spec, or use the package manager"
}

// Recall implements reconcile.Recallable: the address names the package, and
// what is recorded says which versions will do.
func (Provider) Recall() {}

// Folder implements reconcile.Placed.
func (Provider) Folder(t reconcile.Target, home fsys.LogicalPath) fsys.LogicalPath {
	if m, _ := split(t.Resource.Address); m != nil && m.folder != "" {
		return home.Join(m.folder)
	}
	return ""
}

// Address names the package that a manager calls name.
func Address(via, name string) reconcile.Address {
	return reconcile.Address("package:" + via + "/" + name)
}

// nameOf is what a is called by its manager.
func nameOf(a reconcile.Address) string {
	_, name, _ := strings.Cut(a.Name(), "/")
	return name
}

// split returns who installs a, nil where nobody of that name is known, and
// what it is called there.
func split(a reconcile.Address) (*manager, string) {
	via, name, _ := strings.Cut(a.Name(), "/")
	return managerOf(via), name
}

// wish is what a spec wants of one package. unknown, where it is not "", says
// why nobody can tell: the package is then left as it is.
type wish struct {
	want    constraint
	unknown string
	archive Archive // of a release
}

func (w wish) Fingerprint() reconcile.Fingerprint { return reconcile.Fingerprint(w.want) }
func (w wish) Redacted() json.RawMessage {
	says := map[string]string{"version": w.want.String()}
	if w.archive.URL != "" {
		says["url"] = w.archive.URL
	}
	if w.archive.SHA256 != "" {
		says["sha256"] = w.archive.SHA256
	}
	b, _ := json.Marshal(says) // strings: cannot fail
	return b
}

// Satisfied implements reconcile.Relater: a version that was found stands for
// every want that it fulfils.
func (Provider) Satisfied(l reconcile.Leaf, live reconcile.Fingerprint) bool {
	return constraint(live).implies(constraint(l.Body.Fingerprint()))
}

// Observe implements reconcile.Provider, and asks each manager once.
func (p Provider) Observe(ctx context.Context, r reconcile.ReadEnv, batch []reconcile.Target) []reconcile.Observation {
	out := make([]reconcile.Observation, len(batch))
	at, err := p.at(r)
	if err != nil {
		for i := range out {
			out[i] = reconcile.Observation{Presence: reconcile.Unknown, Reason: err.Error()}
		}
		return out
	}
	names := map[*manager][]string{}
	for _, t := range batch {
		if m, name := split(t.Resource.Address); m != nil {
			names[m] = append(names[m], name)
		}
	}
	found := map[*manager]map[string]installed{}
	failed := map[*manager]error{}
	for m, list := range names {
		found[m], failed[m] = m.look(ctx, at, list)
	}
	for i, t := range batch {
		m, name := split(t.Resource.Address)
		switch {
		case m == nil:
			out[i] = unknown("this version of aisync does not know the installer of %s", t.Resource.Address.Name())
		case failed[m] != nil:
			out[i] = unknown("what %s has installed cannot be seen: %s", m.name, said(failed[m]))
		default:
			out[i] = observe(m, t, found[m][name])
		}
	}
	return out
}

func unknown(format string, args ...any) reconcile.Observation {
	return reconcile.Observation{Presence: reconcile.Unknown, Reason: fmt.Sprintf(format, args...)}
}

// observe says of what was found which want it fulfils: the recorded one, that
// of the spec, or that of exactly this version. An upgrade within what was
// asked for is thus no drift.
func observe(m *manager, t reconcile.Target, is installed) reconcile.Observation {
	var want, last constraint
	if len(t.Resource.Leaves) > 0 {
		body := t.Resource.Leaves[0].Body
		if w, ok := body.(wish); ok && w.unknown != "" {
			return reconcile.Observation{Presence: reconcile.Unknown, Reason: w.unknown}
		}
		want = constraint(body.Fingerprint())
	}
	if len(t.Last) > 0 {
		last = constraint(t.Last[0].Live)
	}
	switch {
	case is.blocked != "":
		return reconcile.Observation{Presence: reconcile.Blocked, Reason: is.blocked}
	case is.version == "":
		return reconcile.Observation{}
	}
	fits := func(c constraint) bool { return c != "" && m.satisfies(is.version, c) }
	live := exactly(is.version)
	switch {
	case fits(last) && (!fits(want) || last.implies(want)):
		live = last
	case fits(want):
		live = want
	}
	return reconcile.Observation{
		Presence: reconcile.Present, Token: reconcile.Fingerprint(exactly(is.version)),
		Live: map[reconcile.LeafKey]reconcile.Fingerprint{"": reconcile.Fingerprint(live)},
	}
}

// Explain implements reconcile.Provider: the versions, and what is run as root.
func (p Provider) Explain(_ context.Context, r reconcile.ReadEnv, c reconcile.Change) []reconcile.Line {
	m, name := split(c.Target.Resource.Address)
	at, err := p.at(r)
	if m == nil || err != nil || !c.Writes() {
		return nil
	}
	var lines []reconcile.Line
	if c.Before.Token != "" {
		lines = append(lines, reconcile.Line{Op: '-', Text: constraint(c.Before.Token).String()})
	}
	want, wanted := target(c)
	if wanted && want != anyVersion {
		lines = append(lines, reconcile.Line{Op: '+', Text: want.String()})
	}
	if m.own != nil {
		return append(lines, archiveOf(c).explain()...)
	}
	commands := m.remove(at, name)
	if wanted {
		commands = m.add(at, name, want)
	}
	for _, argv := range commands {
		if m.system {
			lines = append(lines, reconcile.Line{Op: ' ', Text: "as root: " + shellquote.Join(argv)})
		}
	}
	return lines
}

// target is what is wanted after c; ok is false where nothing is.
func target(c reconcile.Change) (want constraint, ok bool) {
	if len(c.Leaves) == 0 {
		return "", false
	}
	switch l := c.Leaves[0]; {
	case l.Action == reconcile.PutBack:
		return constraint(l.Last.Prior), true
	case l.Want != nil:
		return constraint(l.Want.Body.Fingerprint()), true
	}
	return "", false
}
