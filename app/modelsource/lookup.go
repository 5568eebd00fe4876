package modelsource

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/fetch/hub"
	"aisync.dev/aisync/internal/nearest"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// usual is the quantization that ollama and llama.cpp take where none is named.
const usual = "Q4_K_M"

// Entry is a model for a catalog, and what a person should know of it.
type Entry struct {
	IDs    []string // that fit it, the shortest first
	Model  spec.Model
	Quant  string   // what a host's spec must say of it: "auto", or nothing
	Notes  []string // what it fetches, the choice of its quant, its license
	Pinned bool     // nothing is left to ask for: a lock needs no network

	Projector *spec.Model // what shows it pictures; nil: there is none
}

// Lookup makes entries. It asks the network for what a Name leaves open, except
// offline.
type Lookup struct {
	Network *pin.Network
	Facts   func() (facts.Facts, error)
	Home    string                        // of ~/ in a path
	Cwd     string                        // of a relative path
	Reading func(size int64, file string) // called before a file is read whole; may be nil
}

// Entry returns the entry for n, which is not of a catalog. quant is a further
// word about its quantization: a name, "auto" for all that the repository has, or
// "". The error wraps reconcile.ErrOffline where only the network can tell.
func (l Lookup) Entry(ctx context.Context, n Name, quant string) (Entry, error) {
	switch {
	case n.Kind != Hub && quant != "":
		return Entry{}, advice.New(fmt.Errorf("--quant %s: only a repository of Hugging Face has several quantizations", quant), "leave --quant out")
	case n.Kind == Hub && quant != "" && (n.Path != "" || n.Quant != "" && !strings.EqualFold(n.Quant, quant)):
		return Entry{}, advice.New(fmt.Errorf("--quant %s contradicts the name, which says %s", quant, cmp.Or(n.Quant, n.Path)), "leave one out")
	}
	n.Quant = cmp.Or(n.Quant, quant)
	switch n.Kind {
	case Hub:
		return l.hub(ctx, n)
	case Registry:
		return l.artifact(ctx, n)
	case URL:
		return l.address(ctx, n)
	default:
		return l.files(ctx, n)
	}
}

func (l Lookup) hub(ctx context.Context, n Name) (Entry, error) {
	r, err := l.Network.Repository(ctx, n.Repo, cmp.Or(n.Revision, "main"))
	if errors.Is(err, reconcile.ErrOffline) && n.Quant != "auto" {
		return unseen(n), nil
	}
	if err != nil {
		return Entry{}, err
	}
	if len(r.Variants) == 0 {
		return Entry{}, advice.New(fmt.Errorf("%s has no GGUF file", r.Name), "look for one that has: aisync models search "+path.Base(r.Name))
	}
	e := Entry{IDs: idsOf(r.Name), Model: spec.Model{License: r.License}}
	if r.Name != n.Repo {
		e.note("%s is called %s now", n.Repo, r.Name)
	}
	n.Repo = r.Name
	taken, why, err := l.choose(n, r)
	if err != nil {
		return Entry{}, err
	}
	for _, v := range taken {
		e.Model.Quants = append(e.Model.Quants, quantOf(n, v))
	}
	if n.Quant == "auto" {
		e.Quant = "auto"
	} else {
		e.note("fetches %s from %s at commit %.12s", listed(taken[0]), r.Name, r.Commit)
	}
	e.note("quant %s", why)
	if r.License != "" {
		e.note("license %s", r.License)
	}
	if len(r.Projectors) > 0 && n.Path == "" {
		e.Projector = projector(n, r)
		e.note("projector %s which shows it pictures; --no-mmproj leaves it out", listed(r.Projectors[0]))
	}
	if r.Gated {
		e.note("warning: %s is gated: accept its terms at %s, and set HF_TOKEN to a token of that account before it is fetched", r.Name, l.Network.Terms(r.Name))
	}
	return e, nil
}

// unseen is the entry for a repository that nothing can be asked of now.
func unseen(n Name) Entry {
	quant := strings.ToUpper(cmp.Or(n.Quant, hub.QuantOf(n.Path), usual))
	e := Entry{IDs: idsOf(n.Repo)}
	e.Model.Quants = []spec.Quant{{Name: quant, Repo: n.Repo, Revision: n.Revision}}
	if n.Quant == "" && n.Path == "" {
		e.note("quant %s: what ollama and llama.cpp take where none is named", quant)
	}
	e.note("warning: offline, so %s was not looked at; aisync lock pins it when the network is there", n.Repo)
	return e
}

// choose returns the variants of r that n asks for, and why it is those.
func (l Lookup) choose(n Name, r hub.Repository) ([]hub.Variant, string, error) {
	whole := slices.DeleteFunc(slices.Clone(r.Variants), func(v hub.Variant) bool { return len(v.Missing) > 0 || v.Quant == "" && len(r.Variants) > 1 })
	sort.SliceStable(whole, func(i, j int) bool { return whole[i].Size() < whole[j].Size() })
	whole = slices.CompactFunc(whole, func(a, b hub.Variant) bool { return a.Quant == b.Quant })
	asked := cmp.Or(n.Path, n.Quant)
	if asked == "auto" {
		if len(whole) == 0 {
			return nil, "", fmt.Errorf("%s has no quantization that is whole", r.Name)
		}
		return whole, "auto among " + quantList(whole) + ": the best that fits this machine, chosen when it is pinned", nil
	}
	if asked != "" {
		v, err := r.Find(asked)
		if err != nil {
			if errors.Is(err, hub.ErrNotFound) {
				err = advice.New(fmt.Errorf("%s has no %s; it has %s", r.Name, asked, quantList(whole)), "name one of them behind a colon"+nearest.Hint(strings.ToUpper(asked), names(whole)))
			}
			return nil, "", err
		}
		return []hub.Variant{v}, cmp.Or(v.Quant, "of "+path.Base(v.Files[0].Path)) + ", as asked", nil
	}
	if i := slices.IndexFunc(whole, func(v hub.Variant) bool { return v.Quant == usual }); i >= 0 {
		return whole[i : i+1], usual + ": what ollama and llama.cpp take where none is named; there is " + quantList(whole), nil
	}
	switch len(whole) {
	case 0:
		return nil, "", advice.New(fmt.Errorf("%s has no file whose quantization its name tells", r.Name), "name the file: "+n.Repo+"/"+r.Variants[0].Files[0].Path)
	case 1:
		return whole, cmp.Or(whole[0].Quant, "of "+path.Base(whole[0].Files[0].Path)) + ": the only one", nil
	}
	f, err := l.Facts()
	if err != nil {
		return nil, "", err
	}
	m := spec.Model{}
	for _, v := range whole {
		m.Quants = append(m.Quants, spec.Quant{Name: v.Quant, Files: []spec.ModelFile{{Size: v.Size()}}})
	}
	c := hosts.PickQuantFor(m, f, hosts.Use{})
	i := max(0, slices.IndexFunc(whole, func(v hub.Variant) bool { return v.Quant == c.Quant }))
	return whole[i : i+1], fmt.Sprintf("%s: %s; there is no %s, but %s", whole[i].Quant, c.Reason, usual, quantList(whole)), nil
}

// quantOf is v in a catalog: by its name where that finds it, else by its files.
func quantOf(n Name, v hub.Variant) spec.Quant {
	if n.Path == "" && v.Quant != "" {
		return spec.Quant{Name: v.Quant, Repo: n.Repo, Revision: n.Revision}
	}
	q := spec.Quant{Name: cmp.Or(v.Quant, "GGUF")}
	for _, f := range v.Files {
		q.Files = append(q.Files, spec.ModelFile{Path: f.Path, Size: f.Size, Repo: n.Repo, Revision: n.Revision})
	}
	return q
}

// projector is the entry of the best projector of r.
func projector(n Name, r hub.Repository) *spec.Model {
	best := r.Projectors[0]
	q := spec.Quant{Name: cmp.Or(best.Quant, "GGUF")}
	for _, f := range best.Files {
		q.Files = append(q.Files, spec.ModelFile{Path: f.Path, Size: f.Size, Repo: n.Repo, Revision: n.Revision})
	}
	return &spec.Model{License: r.License, Quants: []spec.Quant{q}}
}

// artifact asks a registry for the layers that are the model.
func (l Lookup) artifact(ctx context.Context, n Name) (Entry, error) {
	a, err := l.Network.Artifact(ctx, n.Source)
	if err != nil {
		return Entry{}, err
	}
	_, at, _ := strings.Cut(n.Source, "://")
	at, _, _ = strings.Cut(at, "#")
	at, _, _ = strings.Cut(at, "@")
	name, tag, _ := strings.Cut(path.Base(at), ":")
	if tag != "" && tag != "latest" {
		name += "-" + tag
	}
	owner := path.Base(path.Dir(at))
	if owner == ollamaNamespace {
		owner = "ollama"
	}
	e := Entry{IDs: []string{id(name), id(owner + "-" + name)}}
	q := spec.Quant{}
	for i, layer := range a.Layers {
		file := path.Base(layer.Title)
		if layer.Title == "" {
			file = id(name) + ".gguf"
		}
		if i == 0 {
			q.Name = cmp.Or(hub.QuantOf(file), hub.QuantOf(name+".gguf"), "GGUF")
		}
		q.Files = append(q.Files, spec.ModelFile{Path: file, Size: layer.Size, Sources: []string{n.Source}})
	}
	e.Model.Quants = []spec.Quant{q}
	e.note("fetches %s from %s at manifest %.19s", described(q), n.Source, a.Manifest)
	return e, nil
}

// address takes a file of a server, whose digest the name must tell.
func (l Lookup) address(ctx context.Context, n Name) (Entry, error) {
	if n.SHA256 == "" {
		return Entry{}, advice.New(fmt.Errorf("the sha256 of %s is not known, and a server does not tell it", n.Source),
			"write it behind the address: "+n.Source+"#sha256=HEX, from the page that offers the file; or fetch the file yourself and name it: aisync add model ./"+path.Base(n.Source))
	}
	size, err := l.Network.Size(ctx, n.Source)
	if err != nil {
		return Entry{}, err
	}
	file := path.Base(n.Source)
	stem := withoutQuant(file)
	q := spec.Quant{Name: cmp.Or(hub.QuantOf(file), "GGUF"), Files: []spec.ModelFile{{Path: file, Size: size, SHA256: n.SHA256, Sources: []string{n.Source}}}}
	e := Entry{IDs: []string{id(stem), id("web-" + stem)}, Pinned: true}
	e.Model.Quants = []spec.Quant{q}
	e.note("fetches %s from %s", described(q), n.Source)
	return e, nil
}

func (e *Entry) note(format string, args ...any) {
	e.Notes = append(e.Notes, fmt.Sprintf(format, args...))
}

// idsOf are IDs for a repository: its name, and with its owner.
func idsOf(repo string) []string {
	owner, name, _ := strings.Cut(repo, "/")
	for _, end := range []string{"-gguf", "_gguf", ".gguf"} {
		if len(name) > len(end) && strings.EqualFold(name[len(name)-len(end):], end) {
			name = name[:len(name)-len(end)]
		}
	}
	return []string{id(name), id(owner + "-" + name)}
}

// id makes an ID of a catalog from text.
func id(text string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(text))
	return cmp.Or(strings.Trim(name, ".-"), "model")
}

// withoutQuant is the name of a file without its extension, its number as a shard
// and its quantization.
func withoutQuant(file string) string {
	stem := strings.TrimSuffix(file, path.Ext(file))
	if i := strings.LastIndex(stem, "-of-"); i > 6 {
		stem = stem[:i-6]
	}
	if quant := hub.QuantOf(file); quant != "" {
		if i := strings.LastIndex(strings.ToUpper(stem), quant); i > 1 {
			stem = strings.TrimRight(stem[:i], "-._")
		}
	}
	return stem
}

func names(list []hub.Variant) []string {
	var out []string
	for _, v := range list {
		out = append(out, v.Quant)
	}
	return out
}

// quantList lists variants with their sizes.
func quantList(list []hub.Variant) string {
	var out []string
	for _, v := range list {
		out = append(out, v.Quant+" ("+quantity.Bytes(v.Size())+")")
	}
	return strings.Join(out, ", ")
}

// listed says which files v is.
func listed(v hub.Variant) string {
	q := spec.Quant{}
	for _, f := range v.Files {
		q.Files = append(q.Files, spec.ModelFile{Path: f.Path, Size: f.Size})
	}
	return described(q)
}

// described says which files q is, and how large.
func described(q spec.Quant) string {
	text := q.Files[0].Path
	if more := len(q.Files) - 1; more > 0 {
		text += " and " + quantity.Count(more, "further shard")
	}
	return text + ", " + quantity.Bytes(q.Size()) + ","
}
