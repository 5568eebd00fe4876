package stack

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack/place"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/model"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// LockName is the file of pins beside every spec.
const LockName = pin.FileName

// Resolver returns what resolves the specs of w.
func (w *View) Resolver(mode pin.Mode) *pin.Resolver {
	return &pin.Resolver{
		Mode: mode, Locked: w.Locked, Spec: w.Spec, Catalog: w.Catalog, Facts: w.Facts, Version: w.Version,
		Host: w.HostLock, Project: w.ProjectLock, Owned: w.Locks(),
		Network: w.Network(), Packages: installer(w.Places, w.Offline || w.Locked), Env: w.ReadEnv(),
		Cache: sourceCache(w.Places), Store: w.Places.Physical(w.ModelStore()), Notify: w.notify,
	}
}

// Writing returns a resolver that may keep what it fetches.
func (w *Session) Writing(mode pin.Mode) *pin.Resolver {
	r := w.Resolver(mode)
	r.Disk = w.FS
	return r
}

// ResolverFor returns the resolver of an apply, which pins what it is about.
func (w *Session) ResolverFor(ask Request) *pin.Resolver {
	r := w.Writing(pin.Pin)
	r.About = func(a reconcile.Address) bool {
		named := func(pattern string) bool { return a.Match(pattern) }
		return (len(ask.Targets) == 0 || slices.ContainsFunc(ask.Targets, named)) && !slices.ContainsFunc(ask.Excludes, named)
	}
	return r
}

// Network is how this command reaches hubs, registries and sources.
func (w *View) Network() *pin.Network {
	return &pin.Network{
		Getenv: w.Env.Get, Home: w.Places.Physical(w.Places.Home), UserAgent: "aisync/" + w.Version, Offline: w.Offline,
		Connections: w.Transfer.Connections, LimitRate: w.Transfer.LimitRate,
		Retry: func(name string, why error, pause time.Duration, next, tries int) {
			w.Notify("%s: %s; trying again in %s (%d of %d)", termtext.Safe(name), termtext.Safe(plainReason(why)), max(pause.Round(time.Second), time.Second), next, tries)
		},
	}
}

// sourceCache is where fetched sources lie.
func sourceCache(p place.Places) pin.Cache {
	return pin.Cache{Dir: p.Cache, Root: p.Root, Chown: p.Chown, UID: p.UID, GID: p.GID}
}

// notify says what takes time.
func (w *View) notify(e pin.Event) {
	switch e.Kind {
	case pin.Waiting:
		w.Notify("aisync: waiting for %s to say what it has of the models, %s at most", termtext.Safe(e.Name), pin.Patience)
	case pin.FetchingSource:
		w.Notify("fetching bundle source %s", termtext.Safe(e.Name))
	case pin.FetchingArchive:
		w.Notify("fetching %s from %s: its sha256 is in no spec, so what comes is trusted and pinned", termtext.Safe(e.Name), termtext.Safe(e.From))
	case pin.HeaderUnread:
		w.Log("header", "file", e.Name, "error", e.Err.Error())
	}
}

// plainReason is an error without the addresses that the system puts before it.
func plainReason(err error) string {
	for _, known := range []syscall.Errno{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EHOSTUNREACH, syscall.ENETUNREACH} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return err.Error()
}

// PinStep adds to an error of package pin what to type next.
func PinStep(err error) error {
	var e *pin.Error
	switch {
	case errors.Is(err, pin.ErrNotFetched):
		return advice.Command(err, "aisync lock")
	case !errors.As(err, &e):
		return err
	}
	switch e.Reason {
	case pin.NotPinned:
		return advice.Command(err, "aisync lock")
	case pin.Unfit:
		return advice.Command(err, "aisync lock --update "+e.ID)
	case pin.Gone:
		return advice.Command(err, "aisync lock --update "+shellquote.Terminal(e.ID)+", and look at what moved")
	case pin.Changed:
		return advice.Command(err, "aisync lock --update "+e.ID+", if the change is right")
	case pin.HubDown:
		return advice.Command(err, "aisync lock again, when the hub can be reached")
	case pin.ManagerFailed:
		return advice.Command(err, "aisync lock again, when that is mended")
	case pin.NotWritable:
		return fmt.Errorf("%w: run aisync lock in a copy that is, and bring aisync.lock along", err)
	}
	return err
}

// What to do about something that is left out.
const (
	nextOfModel   = "; pin it with aisync lock when the network is there"
	nextOfPackage = "; name a version in the spec, or pin one with aisync lock when that is mended"
)

// pickModel is r.Model, with the source that the command line names in front.
func (w *View) pickModel(ctx context.Context, r *pin.Resolver, use spec.ModelUse, m spec.Model) (spec.Quant, string, error) {
	q, reason, err := r.Model(ctx, use, m)
	from := w.Transfer.Source
	if err != nil || from == "" || !slices.Contains(w.Pulled, use.ID) {
		return q, reason, PinStep(err)
	}
	if len(q.Files) > 1 && sourceFor(from, "a") == sourceFor(from, "b") && !byDigest(from) {
		return q, reason, SourceError(fmt.Sprintf("source %q: model %q has %d files; name their folder, with a slash at the end", termtext.Safe(from), use.ID, len(q.Files)))
	}
	q.Files = slices.Clone(q.Files)
	for i := range q.Files {
		q.Files[i].Sources = append([]string{sourceFor(from, q.Files[i].Path)}, q.Files[i].Sources...)
	}
	return q, reason, nil
}

// settle puts what r resolved to its places: pins into the locks, notes and
// what is left out beside what the specs declare. A model that is left out is
// unknown: an apply leaves it as it is.
func (w *View) settle(r *pin.Resolver) error {
	res, err := r.Result()
	for f, pins := range res.Pins {
		f.Set(pins)
	}
	for _, l := range res.LeftOut {
		next := nextOfPackage
		if l.Address.Kind() == "model" {
			next = nextOfModel
		}
		w.LeftOut = append(w.LeftOut, fmt.Errorf("%s: left out: %w%s%s", l.Address, l.Err, inBrackets(l.Pos.String()), next))
		for _, d := range w.Declared.Declarations {
			for i := range d.Leaves {
				if file, ok := d.Leaves[i].Body.(model.Artifact); ok && d.Target == l.Address {
					file.Unknown = l.Err.Error() + next
					d.Leaves[i].Body = file
				}
			}
		}
	}
	for _, n := range res.Notes {
		w.Declared.Notes = append(w.Declared.Notes, pinNote(n))
	}
	var errs []error
	for _, e := range advice.Split(err) {
		errs = append(errs, PinStep(e))
	}
	return errors.Join(errs...)
}

// pinNote is a note of package pin, with what to do about it.
func pinNote(n pin.Note) reconcile.Note {
	out := reconcile.Note{Warning: true, Text: n.Text}
	switch n.Kind {
	case pin.OtherCatalog:
		out.Text += ": aisync lock --update catalog"
		return out
	case pin.TooLarge:
		out.Text += "; aisync models fit " + n.Model + " says what would; fit: \"ignore\" silences this"
	case pin.TooLargeTogether:
		out.Text += "; aisync models fit says what would"
	}
	out.Origin = []reconcile.Position{reconcile.Position(n.Pos)}
	return out
}

// SavePins writes the host's pins; those of a project are written by the
// engine together with its targets.
func (w *Session) SavePins() error {
	if !w.HostLock.Changed() {
		return nil
	}
	if !w.Places.Configured { // a folder named by --config is there
		if _, err := w.FS.MkdirAll(w.Places.ConfigHome, 0o755); err != nil {
			return PinStep(w.HostLock.NotWritable(err))
		}
	}
	return PinStep(w.HostLock.Save(w.Places.FSOptions(w.ApplyID)))
}

// inBrackets is a place behind a sentence, "" where none is known.
func inBrackets(place string) string {
	if place == "" {
		return ""
	}
	return " (" + place + ")"
}

// Locks are the locks of the owners that take part.
func (w *View) Locks() []*pin.File {
	var out []*pin.File
	if w.Has(reconcile.HostOwner) {
		out = append(out, w.HostLock)
	}
	if w.ProjectLock != nil && w.Has(reconcile.ProjectOwner(w.Places.Project)) {
		out = append(out, w.ProjectLock)
	}
	return out
}

// SaveLocks writes both locks. The project's goes through the engine, which
// keeps the targets in it.
func (w *Session) SaveLocks(ctx context.Context) error {
	if err := w.SavePins(); err != nil {
		return err
	}
	if w.ProjectLock == nil || !w.Has(reconcile.ProjectOwner(w.Places.Project)) {
		return nil
	}
	if _, err := w.Engine.Apply(ctx, w.WriteEnv(nil), w.Store, &reconcile.Plan{}, reconcile.ApplyOptions{ID: w.ApplyID, Command: "lock", Version: w.Version}); err != nil {
		return PinStep(w.ProjectLock.NotWritable(err))
	}
	return w.FS.Flush()
}

// sourceFor is where --source has the file called name; a folder has it under
// its own name.
func sourceFor(source, name string) string {
	if byDigest(source) || !strings.HasSuffix(source, "/") {
		return source
	}
	return source + path.Base(name)
}

// byDigest reports whether a source finds files by their digest.
func byDigest(source string) bool {
	return strings.HasPrefix(source, "peer:") || strings.HasPrefix(source, "oci") && !strings.Contains(source, "#")
}
