package pin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"aisync.dev/aisync/internal/fetch/hub"
	"aisync.dev/aisync/internal/fetch/oci"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/reconcile/fsys"
	"aisync.dev/aisync/schema/spec"
)

// Patience is the time limit for a hub or a registry to describe a model, and
// for reading its header.
const Patience = 15 * time.Second

// Variables for tests.
var (
	patience  = Patience
	waitingAt = 3 * time.Second // when Waiting is notified
)

// answer is what a hub or a registry says of one model's files. Equal questions
// share one answer.
type answer struct {
	once  sync.Once
	files []hub.Resolved
	oci   oci.Resolved
	err   error
}

// timeoutError reports a host that did not respond.
type timeoutError struct{ host string }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("%s did not answer within %s", e.host, patience)
}

// once returns the answer to the question key, which get asks at host. It does
// not ask a host again that did not answer once.
func (r *Resolver) once(ctx context.Context, host, key string, get func(context.Context, *answer)) *answer {
	r.mu.Lock()
	a := r.answers[key]
	if a == nil {
		a = new(answer)
		if r.answers == nil {
			r.answers, r.timeouts = map[string]*answer{}, map[string]error{}
		}
		r.answers[key] = a
	}
	r.mu.Unlock()
	a.once.Do(func() {
		r.mu.Lock()
		a.err = r.timeouts[host]
		r.mu.Unlock()
		if a.err != nil {
			return
		}
		asking, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		get(asking, a)
		var network net.Error
		if a.err != nil && ctx.Err() == nil && (asking.Err() != nil || errors.As(a.err, &network) && network.Timeout()) {
			a.err = &timeoutError{hostOf(host)}
			r.mu.Lock()
			r.timeouts[host] = a.err
			r.mu.Unlock()
		}
	})
	return a
}

// hostOf is the host of a source or an endpoint.
func hostOf(at string) string {
	if u, err := url.Parse(at); err == nil && u.Host != "" {
		return u.Host
	}
	return at
}

// filesOf asks the hub for f and its shards. All files of a model come from one
// commit.
func (r *Resolver) filesOf(ctx context.Context, f spec.ModelFile) *answer {
	first := f.Path
	if names, err := hub.Shards(f.Path); err == nil {
		first = names[0]
	}
	rev := cmp.Or(f.Commit, f.Revision, "main")
	return r.once(ctx, r.Network.endpoint(), "file "+f.Repo+"@"+rev+"/"+first, func(ctx context.Context, a *answer) {
		a.files, a.err = r.Network.hub(r.Network.client()).Files(ctx, f.Repo, rev, first)
	})
}

// quantOf asks the hub for the files that match the name of q.
func (r *Resolver) quantOf(ctx context.Context, q spec.Quant) *answer {
	rev := cmp.Or(q.Revision, "main")
	return r.once(ctx, r.Network.endpoint(), "quant "+q.Repo+"@"+rev+":"+q.Name, func(ctx context.Context, a *answer) {
		a.files, a.err = r.Network.hub(r.Network.client()).Quant(ctx, q.Repo, rev, q.Name)
	})
}

// artifactOf asks the registry for the artifact at source.
func (r *Resolver) artifactOf(ctx context.Context, source string) *answer {
	return r.once(ctx, source, "artifact "+source, func(ctx context.Context, a *answer) {
		a.oci, a.err = r.Network.registry(r.Network.client()).Resolve(ctx, source)
	})
}

// valuesOf returns the present values of f for its pin.
func (r *Resolver) valuesOf(ctx context.Context, f *spec.ModelFile) (map[string]string, error) {
	if f.Repo == "" {
		return r.valuesAtRegistry(ctx, f)
	}
	a := r.filesOf(ctx, *f)
	if a.err != nil {
		return nil, a.err
	}
	i := slices.IndexFunc(a.files, func(x hub.Resolved) bool { return x.Path == f.Path })
	if i < 0 {
		return nil, fmt.Errorf("%s: %s: %w", f.Repo, f.Path, hub.ErrNotFound)
	}
	got := a.files[i]
	return map[string]string{"repo": f.Repo, "commit": got.Commit, "sha256": got.SHA256, "size": fmt.Sprint(got.Size)}, nil
}

// valuesAtRegistry asks the first registry of f for the layer that f is, and
// its manifest.
func (r *Resolver) valuesAtRegistry(ctx context.Context, f *spec.ModelFile) (map[string]string, error) {
	source := f.Sources[slices.IndexFunc(f.Sources, spec.IsOCI)]
	a := r.artifactOf(ctx, source)
	if a.err != nil {
		return nil, a.err
	}
	base := path.Base(f.Path)
	i := slices.IndexFunc(a.oci.Layers, func(l oci.Layer) bool { return path.Base(l.Title) == base })
	if i < 0 && len(a.oci.Layers) == 1 {
		i = 0 // whatever its name there
	}
	if i < 0 {
		var names []string
		for _, l := range a.oci.Layers {
			names = append(names, path.Base(l.Title))
		}
		return nil, fmt.Errorf("%s has no %s; it has %s", source, base, strings.Join(names, ", "))
	}
	l := a.oci.Layers[i]
	return map[string]string{"manifest": a.oci.Manifest, "sha256": l.SHA256, "size": fmt.Sprint(l.Size)}, nil
}

// filesNow returns the present files of q, ignoring pins.
func (r *Resolver) filesNow(ctx context.Context, q spec.Quant) ([]spec.ModelFile, error) {
	if q.Repo != "" {
		a := r.quantOf(ctx, q)
		var files []spec.ModelFile
		for _, x := range a.files {
			files = append(files, spec.ModelFile{Path: x.Path, Repo: q.Repo, Revision: q.Revision, Commit: x.Commit, Size: x.Size, SHA256: x.SHA256, Sources: []string{x.Source}})
		}
		return files, a.err
	}
	files, err := withShards(q.Files)
	for i := range files {
		if f := &files[i]; err == nil && f.SHA256 == "" {
			var values map[string]string
			if values, err = r.valuesOf(ctx, f); err == nil {
				err = fill(f, reconcile.Pin{Name: fileName(*f), Values: values})
			}
		}
	}
	return files, err
}

// Prefetch asks for everything that Model will ask for uses, at once: a silent
// hub costs one wait, however many models there are.
func (r *Resolver) Prefetch(ctx context.Context, uses []spec.ModelUse) {
	if !r.dials() {
		return
	}
	var questions []func()
	hosts := map[string]bool{}
	ask := func(host string, get func() *answer) {
		hosts[hostOf(host)] = true
		questions = append(questions, func() { get() })
	}
	for _, use := range uses {
		m, ok := r.Catalog.Model(use.ID)
		if !ok || !r.about(modelAddress(use.ID)) {
			continue
		}
		for _, q := range r.candidates(use, m) {
			if _, ok := r.get(r.Host, "files", quantName(q), ""); q.Repo != "" && !ok {
				ask(r.Network.endpoint(), func() *answer { return r.quantOf(ctx, q) })
			}
			for _, f := range q.Files {
				if _, ok := r.get(r.Host, "model", fileName(f), ""); ok || f.SHA256 != "" && r.Mode != Lock {
					continue
				}
				switch i := slices.IndexFunc(f.Sources, spec.IsOCI); {
				case f.Repo != "":
					ask(r.Network.endpoint(), func() *answer { return r.filesOf(ctx, f) })
				case i >= 0:
					ask(f.Sources[i], func() *answer { return r.artifactOf(ctx, f.Sources[i]) })
				}
			}
		}
	}
	if len(questions) == 0 {
		return
	}
	waiting := time.AfterFunc(waitingAt, func() {
		r.notify(Event{Kind: Waiting, Name: strings.Join(slices.Sorted(maps.Keys(hosts)), ", ")})
	})
	defer waiting.Stop()
	var all sync.WaitGroup
	slots := make(chan struct{}, 16)
	wrong := make([]error, len(questions))
	for i, q := range questions {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			defer fsys.Caught(&wrong[i])
			q()
		})
	}
	all.Wait()
	if err := errors.Join(wrong...); err != nil {
		panic(err) // an answer carries its error, so this is a bug
	}
}

// candidates are the quants of m to ask about first: the one that use names,
// or, to choose one, those of unknown size and the first, whose header serves
// for all.
func (r *Resolver) candidates(use spec.ModelUse, m spec.Model) []spec.Quant {
	name := use.Quant
	if name == "auto" {
		pin, ok := r.get(r.Host, "quant", m.ID, r.Spec.Host.Name)
		if !ok {
			return slices.DeleteFunc(slices.Clone(m.Quants), func(q spec.Quant) bool { return q.Repo == "" && q.Name != m.Quants[0].Name })
		}
		name = pin.Values["quant"]
	}
	return slices.DeleteFunc(slices.Clone(m.Quants), func(q spec.Quant) bool { return name != "" && q.Name != name })
}
