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
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/model"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Resolver returns what resolves the specs of v. It writes nothing.
func (v *View) Resolver(mode pin.Mode) *pin.Resolver {
	return &pin.Resolver{
		Mode: mode, Locked: v.Locked, Spec: v.Spec, Catalog: v.Catalog, Facts: v.Facts, Version: v.Version,
		Host: v.HostLock, Project: v.ProjectLock, Owned: v.Locks(),
		Network: v.Network(), Packages: packageProvider(v.Places, v.Offline || v.Locked), Env: v.ReadEnv(),
		Cache: sourceCache(v.Places), Store: v.Places.Physical(v.ModelStore()), Notify: v.notify,
	}
}

// WritingResolver returns a resolver that may store what it fetches.
func (s *Session) WritingResolver(mode pin.Mode) *pin.Resolver {
	r := s.Resolver(mode)
	r.Disk = s.FS
	return r
}

// ResolverFor returns the resolver of an apply, which pins the targets of ask.
func (s *Session) ResolverFor(ask Request) *pin.Resolver {
	r := s.WritingResolver(pin.Pin)
	r.About = func(a reconcile.Address) bool {
		named := func(pattern string) bool { return a.Match(pattern) }
		return (len(ask.Targets) == 0 || slices.ContainsFunc(ask.Targets, named)) && !slices.ContainsFunc(ask.Excludes, named)
	}
	return r
}

// Network returns how hubs, registries and sources are reached.
func (v *View) Network() *pin.Network {
	n := &pin.Network{
		Getenv: v.Env.Get, Home: v.Places.Physical(v.Places.Home), UserAgent: "aisync/" + v.Version, Offline: v.Offline,
		Connections: v.Transfer.Connections, LimitRate: v.Transfer.LimitRate,
		Retry: func(name string, why error, pause time.Duration, next, tries int) {
			v.Notify("%s: %s; trying again in %s (%d of %d)", termtext.Safe(name), termtext.Safe(PlainReason(why)), max(pause.Round(time.Second), time.Second), next, tries)
		},
	}
	if h := v.Spec.Host; h != nil {
		for _, m := range h.Mirrors {
			n.Mirrors = append(n.Mirrors, m.Value)
		}
	}
	n.Named = v.Transfer.Source
	n.Served = func(name, mirror string) { v.Notify("%s: from %s", termtext.Safe(name), termtext.Safe(mirror)) }
	n.Left = func(name, mirror string, why error) {
		v.Notify("%s: not from %s: %s", termtext.Safe(name), termtext.Safe(mirror), termtext.Safe(PlainReason(why)))
	}
	if !v.Places.Chown { // root takes nothing out of a person's cache
		n.Clones = sourceCache(v.Places).Sources()
	}
	return n
}

// sourceCache returns where fetched sources lie.
func sourceCache(p place.Places) pin.Cache {
	return pin.Cache{Dir: p.Cache, Root: p.Root, Chown: p.Chown, UID: p.UID, GID: p.GID}
}

// notify tells the person what takes time.
func (v *View) notify(e pin.Event) {
	switch e.Kind {
	case pin.Waiting:
		v.Notify("aisync: waiting for %s to say what it has of the models, %s at most", termtext.Safe(e.Name), pin.Patience)
	case pin.FetchingSource:
		v.Notify("fetching bundle source %s", termtext.Safe(e.Name))
	case pin.FetchingBase:
		v.Notify("fetching base %s", termtext.Safe(e.Name))
	case pin.FetchingArchive:
		v.Notify("fetching %s from %s: its sha256 is in no spec, so what comes is trusted and pinned", termtext.Safe(e.Name), termtext.Safe(e.From))
	case pin.HeaderUnread:
		v.Log("header", "file", e.Name, "error", e.Err.Error())
	}
}

// PlainReason returns the text of err without the addresses that the system adds.
func PlainReason(err error) string {
	for _, known := range []syscall.Errno{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EHOSTUNREACH, syscall.ENETUNREACH} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return err.Error()
}

// pickModel returns what r chose for use. Sources that Transfer names come first.
func (v *View) pickModel(ctx context.Context, r *pin.Resolver, use spec.ModelUse, m spec.Model) (spec.Quant, string, error) {
	q, reason, err := r.Model(ctx, use, m)
	from := v.Transfer.Source
	if err != nil || from == "" || !slices.Contains(v.PullModels, use.ID) {
		return q, reason, pin.Advise(err)
	}
	if len(q.Files) > 1 && sourceOf(from, "a") == sourceOf(from, "b") && !byDigest(from) {
		return q, reason, SourceError(fmt.Sprintf("source %q: model %q has %d files; name their folder, with a slash at the end", termtext.Safe(from), use.ID, len(q.Files)))
	}
	q.Files = slices.Clone(q.Files)
	for i := range q.Files {
		q.Files[i].Sources = append([]string{sourceOf(from, q.Files[i].Path)}, q.Files[i].Sources...)
	}
	return q, reason, nil
}

// takeResults puts what r resolved into v: pins into the locks, notes and what is
// left out beside the declarations. A model that is left out is unknown: an apply
// does not touch it.
func (v *View) takeResults(r *pin.Resolver) error {
	res, err := r.Result()
	for f, pins := range res.Pins {
		f.Set(pins)
	}
	for _, l := range res.LeftOut {
		next := l.Next()
		v.LeftOut = append(v.LeftOut, fmt.Errorf("%s: left out: %w%s%s", l.Address, l.Err, inBrackets(l.Pos.String()), next))
		for _, d := range v.Declared.Declarations {
			for i := range d.Leaves {
				if file, ok := d.Leaves[i].Body.(model.Artifact); ok && d.Target == l.Address {
					file.Unknown = l.Err.Error() + next
					d.Leaves[i].Body = file
				}
			}
		}
	}
	for _, n := range res.Notes {
		v.Declared.Notes = append(v.Declared.Notes, pinNote(n))
	}
	var errs []error
	for _, e := range advice.Split(err) {
		errs = append(errs, pin.Advise(e))
	}
	return errors.Join(errs...)
}

// inBrackets returns place as the end of a sentence, "" where none is known.
func inBrackets(place string) string {
	if place == "" {
		return ""
	}
	return " (" + place + ")"
}

// sourceOf returns where source has the file called name: below a folder, under
// the name of the file.
func sourceOf(source, name string) string {
	if byDigest(source) || !strings.HasSuffix(source, "/") {
		return source
	}
	return source + path.Base(name)
}

// byDigest reports whether a source finds files by their digest.
func byDigest(source string) bool {
	return strings.HasPrefix(source, "peer:") || strings.HasPrefix(source, "oci") && !strings.Contains(source, "#")
}
