// Package packages is the provider of installed programs: one resource a
// package, named by its manager (package:npm/@openai/codex). A package manager
// is a value in a slice, one file each. aisync checks what a manager installed,
// and only releases what was installed before. Observing does not dial, and
// nothing asks for a password. Start reading at Provider.Observe, then
// manager.go.
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
	Offline  bool             // no download is allowed
	Cache    fsys.LogicalPath // for archives of releases
	EUID     int              // of this process
	UID, GID int              // the home's owner, with Chown
	Chown    bool             // this process is root, working for UID
}

// Provider installs and removes packages, with each manager one change at a
// time: a manager has one database.
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

// New returns a provider with all managers.
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
	return "installed packages stay and removed ones are not reinstalled; change the spec, or use the package manager"
}

// Recall implements reconcile.Recallable: the address names the package, and
// the record its allowed versions.
func (Provider) Recall() {}

// Folder implements reconcile.Placed.
func (Provider) Folder(t reconcile.Target, home fsys.LogicalPath) fsys.LogicalPath {
	if m, _ := split(t.Resource.Address); m != nil && m.folder != "" {
		return home.Join(m.folder)
	}
	return ""
}

// Address is that of the package that a manager calls name.
func Address(via, name string) reconcile.Address {
	return reconcile.Address("package:" + via + "/" + name)
}

// nameOf is the manager's name for a.
func nameOf(a reconcile.Address) string {
	_, name, _ := strings.Cut(a.Name(), "/")
	return name
}

// split returns the manager of a, nil if it is unknown, and the package's name
// there.
func split(a reconcile.Address) (*manager, string) {
	via, name, _ := strings.Cut(a.Name(), "/")
	return managerOf(via), name
}

// request is what a spec wants of one package. A non-empty unknown says why that
// cannot be told: the package then stays as it is.
type request struct {
	want    constraint
	unknown string
	archive Archive // of a release
	program string  // the program that a link starts; "": none
	// integrity is the digest that npm has of a package's tarball, in its form;
	// "": any.
	integrity string
}

func (w request) Fingerprint() reconcile.Fingerprint { return reconcile.Fingerprint(w.want) }
func (w request) Redacted() json.RawMessage {
	says := map[string]string{"version": w.want.String()}
	if w.archive.URL != "" {
		says["url"] = w.archive.URL
	}
	if w.archive.SHA256 != "" {
		says["sha256"] = w.archive.SHA256
	}
	if w.integrity != "" {
		says["integrity"] = w.integrity
	}
	b, _ := json.Marshal(says) // strings: cannot fail
	return b
}

// Satisfied implements reconcile.Relater: an installed version satisfies every
// want that allows it.
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
			out[i] = unknown("the packages of %s cannot be listed: %s", m.name, complaintLine(failed[m]))
		default:
			out[i] = observe(m, t, found[m][name])
		}
	}
	return out
}

func unknown(format string, args ...any) reconcile.Observation {
	return reconcile.Observation{Presence: reconcile.Unknown, Reason: fmt.Sprintf(format, args...)}
}

// observe returns the want that the installed version fulfils: the recorded
// one, the spec's, or exactly this version. An upgrade within the spec's range
// is thus no drift.
func observe(m *manager, t reconcile.Target, is installed) reconcile.Observation {
	var want, last constraint
	if len(t.Resource.Leaves) > 0 {
		body := t.Resource.Leaves[0].Body
		if w, ok := body.(request); ok && w.unknown != "" {
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

// Explain implements reconcile.Provider: the versions, and the commands that
// run as root.
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
	if integrity := requestOf(c).integrity; integrity != "" {
		lines = append(lines, reconcile.Line{Op: ' ', Text: "digest " + integrity})
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

// target is what is wanted after c; ok is false if nothing is.
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
