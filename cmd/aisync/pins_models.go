package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"time"

	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/fetch/hub"
	"aisync.dev/aisync/internal/fetch/oci"
	"aisync.dev/aisync/providers/service"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// served is a model as it was chosen for this host.
type served struct {
	use    spec.ModelUse
	model  spec.Model
	quant  spec.Quant
	reason string
	shape  *spec.Shape // nil: no header was ever read
}

// model chooses the quant of a model, pinned, with its files pinned.
func (p *pinner) model(ctx context.Context, use spec.ModelUse, m spec.Model) (spec.Quant, string, error) {
	q, reason, err := p.quant(ctx, use, m)
	if err != nil {
		return q, reason, err
	}
	again := false
	if q.Repo != "" {
		q.Files, again, err = p.found(ctx, use, q)
	} else {
		q.Files, err = withShards(q.Files)
	}
	if err != nil {
		return q, reason, err
	}
	name := ""
	if len(q.Files) > 0 {
		name = modelName(q.Files[0])
	}
	for i := range q.Files {
		if err := p.artifact(ctx, use, &q.Files[i], again); err != nil {
			return q, reason, err
		}
	}
	shape := p.pinShape(ctx, use, name, q)
	if f := p.w.Transfer; f.Source != "" && slices.Contains(p.w.Pulled, use.ID) {
		if len(q.Files) > 1 && sourceFor(f.Source, "a") == sourceFor(f.Source, "b") && !byDigest(f.Source) {
			return q, reason, usagef("--source %q: model %q has %d files; name their folder, with a slash at the end", safe(f.Source), use.ID, len(q.Files))
		}
		for i := range q.Files {
			q.Files[i].Sources = append([]string{sourceFor(f.Source, q.Files[i].Path)}, q.Files[i].Sources...)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.chosen[use.ID] = served{use, m, q, reason, shape}
	return q, reason, nil
}

// withShards names all shards where a quant names the first alone.
func withShards(files []spec.ModelFile) ([]spec.ModelFile, error) {
	if len(files) != 1 || files[0].SHA256 != "" || files[0].Repo == "" && !files[0].InRegistry() {
		return slices.Clone(files), nil
	}
	names, err := hub.Shards(files[0].Path)
	if err != nil {
		return nil, err
	}
	out := make([]spec.ModelFile, len(names))
	for i, name := range names {
		out[i] = files[0]
		out[i].Path, out[i].Sources = name, nil
		if i > 0 {
			out[i].Size = 0
		}
		for _, s := range files[0].Sources {
			switch {
			case spec.IsOCI(s):
				out[i].Sources = append(out[i].Sources, s)
			case path.Base(s) == path.Base(files[0].Path):
				out[i].Sources = append(out[i].Sources, s[:len(s)-len(path.Base(s))]+path.Base(name))
			}
		}
	}
	return out, nil
}

// modelName is the name under which what f is asked for is pinned: with another
// revision, or another tag, it is something else. "" where nothing of f moves.
func modelName(f spec.ModelFile) string {
	if f.Repo != "" {
		return atRevision(f.Repo, f.Revision) + "/" + f.Path
	}
	for _, s := range f.Sources {
		if spec.IsOCI(s) {
			artifact, _, _ := strings.Cut(s, "#")
			return artifact + "#" + path.Base(f.Path)
		}
	}
	return ""
}

// atRevision is a repository, and its revision where one is named.
func atRevision(repo, revision string) string {
	if revision == "" {
		return repo
	}
	return repo + "@" + revision
}

// artifact fills in what only a hub or a registry knows of a file: commit or
// manifest, size and digest. What the spec itself says of them must be what is
// there. again: what is pinned of it was found for another answer.
func (p *pinner) artifact(ctx context.Context, use spec.ModelUse, f *spec.ModelFile, again bool) error {
	name := modelName(*f)
	if name == "" {
		return nil
	}
	l, said := p.lockOf(false), f.SHA256 != ""
	pin, ok := p.get(l, "model", name, "")
	if !ok || again && !p.isFresh("model", name) {
		if said && (!p.strict || p.w.Offline) {
			if f.Repo != "" {
				f.Sources = append([]string{hub.Source(f.Repo, cmp.Or(f.Commit, f.Revision, "main"), f.Path)}, f.Sources...)
			}
			return nil // the digest decides
		}
		if ask, err := p.mayAsk(use, name); err != nil || !ask {
			return err
		}
		values, err := p.ask(ctx, f)
		if err != nil {
			return p.unknown(use, err)
		}
		if said && values["sha256"] != f.SHA256 {
			where, _, _ := strings.Cut(cmp.Or(f.Repo, name), "#")
			return fmt.Errorf("%s: the spec says sha256 %s, and %s has %s: %w; correct the spec if the new one is right", name, f.SHA256, where, values["sha256"], hub.ErrChanged)
		}
		pin = reconcile.Pin{Kind: "model", Name: name, Values: values}
		p.set(l, pin)
	}
	if said && pin.Values["sha256"] != f.SHA256 {
		return advice.Command(fmt.Errorf("%s: the spec says sha256 %s, and %s pins %s", name, f.SHA256, lockName, pin.Values["sha256"]), "aisync lock --update "+use.ID)
	}
	return pinned(f, pin)
}

// mayAsk reports whether what, of which nothing is pinned, shall be resolved
// now. Where it shall not, it stays as it is: the plan says so.
func (p *pinner) mayAsk(use spec.ModelUse, what string) (bool, error) {
	switch {
	case p.w.Locked:
		return false, p.unpinned(what, spec.Position{})
	case p.strict && p.w.Offline:
		return false, fmt.Errorf("pinning it %w", reconcile.ErrOffline)
	case p.s == nil, !p.about(reconcile.Address("model:" + use.ID)):
		return false, nil // the plan says that it must be pinned first; or it is not part of this apply
	case !p.resolve:
		p.leave(use, fmt.Errorf("it is not pinned, and pinning it %w", reconcile.ErrOffline))
		return false, nil
	}
	return true, nil
}

// unknown says what it means that nobody could tell what a model is: an error
// where all must be pinned, else the model is left out.
func (p *pinner) unknown(use spec.ModelUse, err error) error {
	var network net.Error
	var later interface{ RetryAfter() time.Duration }
	switch {
	case p.strict && (errors.As(err, &network) || errors.As(err, &later) || errors.As(err, new(*silence))):
		return advice.Command(err, "aisync lock again, when the hub can be reached")
	case p.strict:
		return err
	}
	p.leave(use, fmt.Errorf("it could not be pinned: %w", err))
	return nil
}

// pinned puts a pin's values into f.
func pinned(f *spec.ModelFile, pin reconcile.Pin) error {
	damaged := advice.Command(fmt.Errorf("%s: the pin of model %s is damaged", lockName, pin.Name), "aisync lock --update "+pin.Name)
	if _, err := fmt.Sscan(pin.Values["size"], &f.Size); err != nil || len(pin.Values["sha256"]) != 64 {
		return damaged
	}
	f.SHA256, f.Commit = pin.Values["sha256"], pin.Values["commit"]
	switch {
	case f.Repo != "" && f.Commit == "":
		return damaged
	case f.Repo != "":
		f.Sources = append([]string{hub.Source(f.Repo, f.Commit, f.Path)}, f.Sources...)
		return nil
	}
	f.Sources = slices.Clone(f.Sources)
	i := slices.IndexFunc(f.Sources, spec.IsOCI)
	var err error
	if f.Sources[i], err = oci.At(f.Sources[i], pin.Values["manifest"]); err != nil {
		return damaged
	}
	return nil
}

// pinShape returns what decides the memory of a model, whose first file is
// pinned under name. What was pinned just
// now has its header read, where that can be, and the pin takes it along.
func (p *pinner) pinShape(ctx context.Context, use spec.ModelUse, name string, q spec.Quant) *spec.Shape {
	l := p.lockOf(false)
	if use.Quant == "auto" {
		if pin, ok := l.lock.Pin("quant", use.ID, p.w.Spec.Host.Name); ok && pin.Values["shape"] != "" {
			return parsedShape(pin.Values["shape"])
		}
	}
	if name == "" {
		return nil
	}
	p.mu.Lock()
	pin, ok := l.lock.Pin("model", name, "")
	fresh := p.fresh["model "+name]
	p.mu.Unlock()
	switch {
	case !ok:
		return nil
	case pin.Values["shape"] != "" || !fresh:
		return parsedShape(pin.Values["shape"])
	}
	shape := p.w.shape(ctx, q.Files, p.resolve)
	if shape != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		pin.Values["shape"] = shape.String()
		l.lock.SetPin(pin)
	}
	return shape
}

// parsedShape is nil for what an older lock, or a newer one, does not tell.
func parsedShape(text string) *spec.Shape {
	s, err := spec.ParseShape(text)
	if text == "" || err != nil {
		return nil
	}
	return &s
}

// load is what serving x takes.
func (x served) load() hosts.Load {
	return hosts.Load{
		Name: x.use.ID, Model: x.use.ID, Quant: x.quant.Name, Weights: x.quant.Size(), Shape: x.shape,
		Context: x.use.Context, Quants: x.model.Quants, Ignore: x.use.Fit == "ignore",
	}
}

// serviceLoads are the models that the enabled services of the host serve, as
// far as they were chosen; one that was not has no weights.
func (p *pinner) serviceLoads() []hosts.Load {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []hosts.Load
	for _, s := range p.w.Spec.Host.Services {
		var mine []hosts.Load
		ids := service.ModelsOf(s)
		for _, id := range ids {
			if !s.Enabled || s.Kind == "external" {
				continue
			}
			l := hosts.Load{Model: id}
			if x, ok := p.chosen[id]; ok {
				l = x.load()
			}
			l.Name = s.Name
			if len(ids) > 1 {
				l.Name += "/" + id
			}
			l.Context = cmp.Or(int64(s.Context), l.Context)
			l.Sequences = int64(s.Parallel)
			mine = append(mine, l)
		}
		if s.Kind == "llama-swap" && len(mine) > 0 { // it has one in memory at a time
			mine = []hosts.Load{slices.MaxFunc(mine, func(a, b hosts.Load) int { return cmp.Compare(a.Weights, b.Weights) })}
		}
		out = append(out, mine...)
	}
	return out
}

// fitNotes warns of models that do not fit this machine: each alone, and those
// that the services serve at once. It asks nobody and reads no file.
func (p *pinner) fitNotes() ([]reconcile.Note, error) {
	if len(p.chosen) == 0 {
		return nil, nil
	}
	f, err := p.w.Facts()
	if err != nil {
		return nil, err
	}
	var notes []reconcile.Note
	warn := func(pos spec.Position, format string, args ...any) {
		notes = append(notes, reconcile.Note{Warning: true, Origin: []reconcile.Position{reconcile.Position(pos)}, Text: fmt.Sprintf(format, args...)})
	}
	for _, use := range p.w.Spec.Host.Models {
		x, ok := p.chosen[use.ID]
		if !ok {
			continue
		}
		if v := hosts.Fit([]hosts.Load{x.load()}, f); v.Warn {
			warn(use.Pos, "model %q at %s does not fit: it %s; aisync models fit %s says what would; fit: \"ignore\" silences this", use.ID, x.quant.Name, v.Reason(), use.ID)
		}
	}
	loads := slices.DeleteFunc(p.serviceLoads(), func(l hosts.Load) bool { return l.Weights == 0 })
	if v := hosts.Fit(loads, f); len(notes) == 0 && len(loads) > 1 && v.Warn {
		i := slices.IndexFunc(p.w.Spec.Host.Services, func(s spec.Service) bool { return s.Enabled })
		warn(p.w.Spec.Host.Services[i].Pos, "the models of the enabled services do not fit at once: serving them %s; aisync models fit says what would", v.Reason())
	}
	return notes, nil
}
