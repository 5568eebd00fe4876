package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/providers/model"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// oldestReader is the oldest aisync that understands what this one writes; it
// is pinned so that an older one refuses instead of doing something else.
const oldestReader = "v0.1.0"

// pinner answers what a spec's sources, models and quants are pinned to. Where
// it may, it resolves what is not pinned, or what shall move, and notes it.
// It is safe for concurrent use.
type pinner struct {
	w       *View
	s       *Session                          // nil: only look
	resolve bool                              // may fetch and dial
	strict  bool                              // what cannot be pinned is an error, not a note
	about   func(reconcile.Address) bool      // only these models are resolved
	moving  func(kind string, id string) bool // what lock --update was asked to move

	mu    sync.Mutex
	fresh map[string]bool // what was pinned by this command
	said  []string        // what was pinned or moved, for people
	left  map[string]leftOut
	moves []sourceMove // bundle sources that moved

	asked  map[string]*answer // what hubs and registries said of models' files
	silent map[string]error   // those that did not answer
	chosen map[string]served  // the models of the spec as far as they were asked for
}

// leftOut is a model that an apply cannot bring because it could not be pinned.
type leftOut struct {
	pos spec.Position
	err error
}

// newPinner returns the pinner of an apply, which pins what it is about.
func (w *Session) newPinner(ask Request) *pinner {
	p := w.looker()
	p.s = w
	p.resolve = !w.Offline && !w.Locked
	p.about = func(a reconcile.Address) bool {
		named := func(pattern string) bool { return a.Match(pattern) }
		return (len(ask.Targets) == 0 || slices.ContainsFunc(ask.Targets, named)) && !slices.ContainsFunc(ask.Excludes, named)
	}
	return p
}

// looker returns the pinner of a command that only looks.
func (w *View) looker() *pinner {
	return &pinner{
		w: w, fresh: map[string]bool{}, left: map[string]leftOut{},
		asked: map[string]*answer{}, silent: map[string]error{}, chosen: map[string]served{},
		moving: func(string, string) bool { return false },
		about:  func(reconcile.Address) bool { return true },
	}
}

// lockOf returns the lock in which something asked for at pos is pinned.
func (p *pinner) lockOf(project bool) *lockFile {
	if project {
		return p.w.ProjectLock
	}
	return p.w.HostLock
}

// set pins something and notes what moved.
func (p *pinner) set(l *lockFile, pin reconcile.Pin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fresh[pin.Kind+" "+pin.Name] = true
	old, had := l.lock.Pin(pin.Kind, pin.Name, pin.Host)
	if had && old.Host == pin.Host && maps.Equal(old.Values, pin.Values) {
		return
	}
	l.lock.SetPin(pin)
	line := fmt.Sprintf("%s %s: %s", pin.Kind, pin.Name, pinText(pin))
	if had {
		line = fmt.Sprintf("%s %s: %s → %s", pin.Kind, pin.Name, pinText(old), pinText(pin))
	}
	p.said = append(p.said, line)
}

func (p *pinner) get(l *lockFile, kind, name, host string) (reconcile.Pin, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pin, ok := l.lock.Pin(kind, name, host)
	return pin, ok && (p.fresh[kind+" "+name] || !p.moving(kind, name))
}

// isFresh reports whether something was pinned by this command.
func (p *pinner) isFresh(kind, name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fresh[kind+" "+name]
}

// pinText shows what a pin says, digests cut.
func pinText(pin reconcile.Pin) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(pin.Values)) {
		v := pin.Values[k]
		if k == "url" || k == "repo" || k == "reason" || k == "shape" {
			continue
		}
		if digest, ok := strings.CutPrefix(v, "sha256:"); ok {
			v = digest
		}
		if len(v) > 20 && k != "file" {
			v = v[:12]
		}
		out = append(out, k+" "+v)
	}
	return strings.Join(out, ", ")
}

// unpinned notes or returns what it means that something has no pin.
func (p *pinner) unpinned(what string, pos spec.Position) error {
	err := fmt.Errorf("%s is not pinned in %s", what, lockName)
	if s := pos.String(); s != "" {
		err = fmt.Errorf("%s: %w", s, err)
	}
	return advice.Command(err, "aisync lock")
}

// leave notes that a model cannot be had now.
func (p *pinner) leave(use spec.ModelUse, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left[use.ID] = leftOut{use.Pos, err}
}

// markLeft makes the models that cannot be had now unknown: an apply leaves
// them as they are.
func (p *pinner) markLeft() {
	for _, id := range slices.Sorted(maps.Keys(p.left)) {
		a, l := reconcile.Address("model:"+id), p.left[id]
		next := "; pin it with aisync lock when the network is there"
		for _, d := range p.w.Declared.Declarations {
			for i := range d.Leaves {
				if file, ok := d.Leaves[i].Body.(model.Artifact); ok && d.Target == a {
					file.Unknown = l.err.Error() + next
					d.Leaves[i].Body = file
				}
			}
		}
		p.s.LeftOut = append(p.s.LeftOut, fmt.Errorf("%s: left out: %w%s%s", a, l.err, inBrackets(l.pos.String()), next))
	}
}

// inBrackets is a place behind a sentence, "" where none is known.
func inBrackets(place string) string {
	if place == "" {
		return ""
	}
	return " (" + place + ")"
}

// finish checks and pins what is about everything: the catalog and the oldest
// aisync that may apply.
func (p *pinner) finish() error {
	var errs []error
	for _, l := range []*lockFile{p.w.HostLock, p.w.ProjectLock} {
		if l == nil || l == p.w.ProjectLock && !p.w.Has(reconcile.ProjectOwner(p.w.Places.Project)) || l == p.w.HostLock && !p.w.Has(reconcile.HostOwner) {
			continue
		}
		errs = append(errs, p.common(l))
	}
	p.markLeft()
	notes, err := p.fitNotes()
	p.w.Declared.Notes = append(p.w.Declared.Notes, notes...)
	errs = append(errs, err)
	return errors.Join(errs...)
}

func (p *pinner) common(l *lockFile) error {
	if pin, ok := l.lock.Pin("aisync", "oldest", ""); ok && olderThan(versionText(), pin.Values["version"]) {
		return fmt.Errorf("%s: written for aisync %s or newer, and this is %s; upgrade aisync", l.path, pin.Values["version"], versionText())
	}
	now := catalog.Digest()
	pin, ok := p.get(l, "catalog", "embedded", "")
	switch {
	case ok && pin.Values["digest"] != now:
		if p.w.Locked {
			return advice.Command(fmt.Errorf("%s: pins another catalog than the one in aisync %s", l.path, versionText()), "aisync lock --update catalog")
		}
		p.w.Declared.Notes = append(p.w.Declared.Notes, reconcile.Note{Warning: true, Text: fmt.Sprintf("%s pins another catalog than the one in this aisync; adapters may write other bytes than a teammate's: aisync lock --update catalog", l.path)})
	case !ok && p.s != nil && !p.w.Locked:
		p.set(l, reconcile.Pin{Kind: "catalog", Name: "embedded", Values: map[string]string{"digest": now}})
		p.set(l, reconcile.Pin{Kind: "aisync", Name: "oldest", Values: map[string]string{"version": oldestReader}})
	}
	return nil
}

// olderThan compares versions of the form v1.2.3; what has no such form, such
// as a build of one's own, is never older. Nor is v0.0.0-TIME-COMMIT: so Go
// calls a build out of a clone that has no tag.
func olderThan(have, need string) bool {
	if strings.HasPrefix(have, "v0.0.0-") {
		return false
	}
	var a, b [3]int
	if n, _ := fmt.Sscanf(have, "v%d.%d.%d", &a[0], &a[1], &a[2]); n != 3 {
		return false
	}
	if n, _ := fmt.Sscanf(need, "v%d.%d.%d", &b[0], &b[1], &b[2]); n != 3 {
		return false
	}
	return slices.Compare(a[:], b[:]) < 0
}

// savePins writes the host's pins; those of a project are written by the
// engine together with its targets.
func (w *Session) savePins() error {
	if !w.HostLock.changed() {
		return nil
	}
	if !w.Places.Configured { // a folder named by --config is there
		if _, err := w.FS.MkdirAll(w.Places.ConfigHome, 0o755); err != nil {
			return w.HostLock.unwritable(err)
		}
	}
	return w.HostLock.save(w.Places.FSOptions(w.ApplyID))
}
