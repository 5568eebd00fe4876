package main

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

	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/fetch/hub"
	"aisync.dev/aisync/internal/fetch/oci"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

const (
	hubPatience = 15 * time.Second // how long a hub may take to say what a model is
	sayAfter    = 3 * time.Second  // it is said that we wait for it
)

// answer is what a hub or a registry said of one model's files; whoever comes
// later waits for it.
type answer struct {
	once  sync.Once
	files []hub.Resolved
	oci   oci.Resolved
	err   error
}

// silence is what a host said that did not answer.
type silence struct{ host string }

func (s *silence) Error() string {
	return fmt.Sprintf("%s did not answer within %s", s.host, hubPatience)
}

// once returns the one answer to the question key, which get asks at host. Who
// let us wait in vain once is not asked again by this command.
func (p *pinner) once(ctx context.Context, host, key string, get func(context.Context, *answer)) *answer {
	p.mu.Lock()
	a := p.asked[key]
	if a == nil {
		a = new(answer)
		p.asked[key] = a
	}
	p.mu.Unlock()
	a.once.Do(func() {
		p.mu.Lock()
		a.err = p.silent[host]
		p.mu.Unlock()
		if a.err != nil {
			return
		}
		asking, cancel := context.WithTimeout(ctx, hubPatience)
		defer cancel()
		get(asking, a)
		var network net.Error
		if a.err != nil && ctx.Err() == nil && (asking.Err() != nil || errors.As(a.err, &network) && network.Timeout()) {
			a.err = &silence{hostOf(host)}
			p.mu.Lock()
			p.silent[host] = a.err
			p.mu.Unlock()
		}
	})
	return a
}

// endpoint is the hub that is asked.
func (p *pinner) endpoint() string { return hub.Endpoint(p.w.Env.Get) }

// hostOf is where a source or an endpoint lies, for people.
func hostOf(at string) string {
	if u, err := url.Parse(at); err == nil && u.Host != "" {
		return u.Host
	}
	return at
}

// filesOf asks the hub for f and its shards. All of a model come from one commit.
func (p *pinner) filesOf(ctx context.Context, f spec.ModelFile) *answer {
	first := f.Path
	if names, err := hub.Shards(f.Path); err == nil {
		first = names[0]
	}
	rev := cmp.Or(f.Commit, f.Revision, "main")
	return p.once(ctx, p.endpoint(), "file "+f.Repo+"@"+rev+"/"+first, func(ctx context.Context, a *answer) {
		a.files, a.err = p.w.hub(p.w.client()).Files(ctx, f.Repo, rev, first)
	})
}

// quantOf asks the hub for the files that q finds by its name.
func (p *pinner) quantOf(ctx context.Context, q spec.Quant) *answer {
	rev := cmp.Or(q.Revision, "main")
	return p.once(ctx, p.endpoint(), "quant "+q.Repo+"@"+rev+":"+q.Name, func(ctx context.Context, a *answer) {
		a.files, a.err = p.w.hub(p.w.client()).Quant(ctx, q.Repo, rev, q.Name)
	})
}

// artifactOf asks the registry for the artifact at source.
func (p *pinner) artifactOf(ctx context.Context, source string) *answer {
	return p.once(ctx, source, "artifact "+source, func(ctx context.Context, a *answer) {
		a.oci, a.err = p.w.registry(p.w.client()).Resolve(ctx, source)
	})
}

// ask asks what f is now, for its pin.
func (p *pinner) ask(ctx context.Context, f *spec.ModelFile) (map[string]string, error) {
	if f.Repo == "" {
		return p.askRegistry(ctx, f)
	}
	got, err := p.askHub(ctx, f)
	if err != nil {
		return nil, err
	}
	return map[string]string{"repo": f.Repo, "commit": got.Commit, "sha256": got.SHA256, "size": fmt.Sprint(got.Size)}, nil
}

// askHub asks the hub what f is now.
func (p *pinner) askHub(ctx context.Context, f *spec.ModelFile) (hub.Resolved, error) {
	a := p.filesOf(ctx, *f)
	if a.err != nil {
		return hub.Resolved{}, a.err
	}
	i := slices.IndexFunc(a.files, func(r hub.Resolved) bool { return r.Path == f.Path })
	if i < 0 {
		return hub.Resolved{}, fmt.Errorf("%s: %s: %w", f.Repo, f.Path, hub.ErrNotFound)
	}
	return a.files[i], nil
}

// askRegistry asks the first registry of f which layer f is, and its manifest.
func (p *pinner) askRegistry(ctx context.Context, f *spec.ModelFile) (map[string]string, error) {
	source := f.Sources[slices.IndexFunc(f.Sources, spec.IsOCI)]
	a := p.artifactOf(ctx, source)
	if a.err != nil {
		return nil, a.err
	}
	base := path.Base(f.Path)
	i := slices.IndexFunc(a.oci.Layers, func(l oci.Layer) bool { return path.Base(l.Title) == base })
	if i < 0 && len(a.oci.Layers) == 1 {
		i = 0 // whatever it is called there
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

// found names the files of a quant that its name finds in a repository: those
// that are pinned, or those that are there now. They are all of one commit.
// There are none where that is not known yet. again: they were found just now.
func (p *pinner) found(ctx context.Context, use spec.ModelUse, q spec.Quant) (files []spec.ModelFile, again bool, err error) {
	l, name := p.lockOf(false), atRevision(q.Repo, q.Revision)+":"+q.Name
	pin, ok := p.get(l, "files", name, "")
	if !ok {
		if p.looking() {
			files, _ := p.now(ctx, q) // without them it is said that they are not known
			return files, false, nil
		}
		if ask, err := p.mayAsk(use, name); err != nil || !ask {
			return nil, false, err
		}
		a := p.quantOf(ctx, q)
		if a.err != nil {
			return nil, false, p.unknown(use, a.err)
		}
		pin = reconcile.Pin{Kind: "files", Name: name, Values: map[string]string{"repo": q.Repo, "commit": a.files[0].Commit, "file": a.files[0].Path}}
		p.set(l, pin)
	}
	first := spec.ModelFile{Path: pin.Values["file"], Repo: q.Repo, Revision: q.Revision, Commit: pin.Values["commit"]}
	if first.Path == "" || first.Commit == "" {
		return nil, false, advice.Command(fmt.Errorf("%s: the pin of files %s is damaged", lockName, name), "aisync lock --update "+use.ID)
	}
	files, err = withShards([]spec.ModelFile{first})
	return files, p.isFresh("files", name), err
}

// now returns the files of q as they are, of which nothing is pinned.
func (p *pinner) now(ctx context.Context, q spec.Quant) ([]spec.ModelFile, error) {
	if q.Repo != "" {
		a := p.quantOf(ctx, q)
		var files []spec.ModelFile
		for _, r := range a.files {
			files = append(files, spec.ModelFile{Path: r.Path, Repo: q.Repo, Revision: q.Revision, Commit: r.Commit, Size: r.Size, SHA256: r.SHA256, Sources: []string{r.Source}})
		}
		return files, a.err
	}
	files, err := withShards(q.Files)
	for i := range files {
		if f := &files[i]; err == nil && f.SHA256 == "" {
			var values map[string]string
			if values, err = p.ask(ctx, f); err == nil {
				err = pinned(f, reconcile.Pin{Name: modelName(*f), Values: values})
			}
		}
	}
	return files, err
}

// sized reports whether the sizes of all quants of m are known, and asks for
// those that are not where it may.
func (p *pinner) sized(ctx context.Context, use spec.ModelUse, m *spec.Model) (bool, error) {
	m.Quants = slices.Clone(m.Quants)
	for i := range m.Quants {
		q := &m.Quants[i]
		if q.Repo == "" {
			continue
		}
		if ask, err := p.mayAsk(use, "quant: \"auto\""); err != nil || !ask && !p.looking() {
			return false, err
		}
		files, err := p.now(ctx, *q)
		if err != nil {
			return false, p.unknown(use, err)
		}
		q.Files = files
	}
	slices.SortStableFunc(m.Quants, func(a, b spec.Quant) int { return cmp.Compare(a.Size(), b.Size()) })
	return true, nil
}

// looking reports whether this command may ask and pins nothing.
func (p *pinner) looking() bool { return p.s == nil && p.resolve }

// ahead asks for all that the models uses will be asked for, at once: a hub
// that is silent costs one wait, however many models there are.
func (p *pinner) ahead(ctx context.Context, uses []spec.ModelUse) {
	if !p.resolve {
		return
	}
	var questions []func()
	hosts := map[string]bool{}
	ask := func(host string, get func() *answer) {
		hosts[hostOf(host)] = true
		questions = append(questions, func() { get() })
	}
	l := p.lockOf(false)
	for _, use := range uses {
		m, ok := p.w.Catalog.Model(use.ID)
		if !ok || !p.about(reconcile.Address("model:"+use.ID)) {
			continue
		}
		for _, q := range p.candidates(use, m) {
			if _, ok := p.get(l, "files", atRevision(q.Repo, q.Revision)+":"+q.Name, ""); q.Repo != "" && !ok {
				ask(p.endpoint(), func() *answer { return p.quantOf(ctx, q) })
			}
			for _, f := range q.Files {
				if _, ok := p.get(l, "model", modelName(f), ""); ok || f.SHA256 != "" && !p.strict {
					continue
				}
				switch i := slices.IndexFunc(f.Sources, spec.IsOCI); {
				case f.Repo != "":
					ask(p.endpoint(), func() *answer { return p.filesOf(ctx, f) })
				case i >= 0:
					ask(f.Sources[i], func() *answer { return p.artifactOf(ctx, f.Sources[i]) })
				}
			}
		}
	}
	if len(questions) == 0 {
		return
	}
	waiting := time.AfterFunc(sayAfter, func() {
		names := slices.Sorted(maps.Keys(hosts))
		p.w.Notify("aisync: waiting for %s to say what it has of the models, %s at most", safe(strings.Join(names, ", ")), hubPatience)
	})
	defer waiting.Stop()
	var all sync.WaitGroup
	slots := make(chan struct{}, 16)
	wrong := make([]error, len(questions))
	for i, q := range questions {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			wrong[i] = guarded(func() error { q(); return nil })()
		})
	}
	all.Wait()
	if err := errors.Join(wrong...); err != nil {
		panic(err) // a question answers for itself, so this is a fault of ours
	}
}

// candidates are the quants of m that must be asked about first: the one that
// use names, or, to choose one, those of unknown size and the first, whose
// header is as good as any.
func (p *pinner) candidates(use spec.ModelUse, m spec.Model) []spec.Quant {
	name := use.Quant
	if name == "auto" {
		pin, ok := p.get(p.lockOf(false), "quant", m.ID, p.w.Spec.Host.Name)
		if !ok {
			return slices.DeleteFunc(slices.Clone(m.Quants), func(q spec.Quant) bool { return q.Repo == "" && q.Name != m.Quants[0].Name })
		}
		name = pin.Values["quant"]
	}
	return slices.DeleteFunc(slices.Clone(m.Quants), func(q spec.Quant) bool { return name != "" && q.Name != name })
}
