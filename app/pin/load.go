package pin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/providers/service"
	"aisync.dev/aisync/schema/spec"
)

// Chosen is a model as chosen for this host.
type Chosen struct {
	Use    spec.ModelUse
	Model  spec.Model
	Quant  spec.Quant
	Reason string
	Shape  *spec.Shape // nil: its header is unknown
	Here   bool        // Shape is of files on this machine: no pin has it
}

// Load is the memory that serving x takes.
func (x Chosen) Load() hosts.Load {
	return hosts.Load{
		Name: x.Use.ID, Model: x.Use.ID, Quant: x.Quant.Name, Weights: x.Quant.Size(), Shape: x.Shape,
		Context: x.Use.Context, Quants: x.Model.Quants, Ignore: x.Use.Fit == "ignore",
	}
}

// LoadOf returns the memory that serving x takes as the first enabled service of
// the host serves it, which may be none.
func (r *Resolver) LoadOf(x Chosen) hosts.Load {
	for _, l := range r.ServiceLoads() {
		if l.Model == x.Use.ID {
			l.Name = x.Use.ID
			return l
		}
	}
	return x.Load()
}

// Chosen returns a model as Model chose it; ok is false before that.
func (r *Resolver) Chosen(id string) (x Chosen, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x, ok = r.chosen[id]
	return x, ok
}

// AllChosen returns the chosen models, by ID.
func (r *Resolver) AllChosen() []Chosen {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Chosen
	for _, id := range slices.Sorted(maps.Keys(r.chosen)) {
		out = append(out, r.chosen[id])
	}
	return out
}

// Measure reads the header of a chosen model without a pinned shape; of files
// that are not pinned, as they are at their source.
func (r *Resolver) Measure(ctx context.Context, id string) {
	x, ok := r.Chosen(id)
	if !ok || x.Shape != nil {
		return
	}
	files := x.Quant.Files
	if r.dials() && slices.ContainsFunc(files, func(f spec.ModelFile) bool { return f.SHA256 == "" }) {
		var err error
		if files, err = r.filesNow(ctx, spec.Quant{Files: files}); err != nil {
			return
		}
	}
	if x.Shape = r.readShape(ctx, files); x.Shape != nil {
		x.Quant.Files = files
		r.mu.Lock()
		defer r.mu.Unlock()
		r.chosen[id] = x
	}
}

// ServiceLoads are the models that the host's enabled services serve; one that
// was not chosen has no weights.
func (r *Resolver) ServiceLoads() []hosts.Load {
	var out []hosts.Load
	for _, s := range r.Spec.Host.Services {
		var mine [][]hosts.Load // each model, and its draft
		ids := service.ModelsOf(s)
		for _, id := range ids {
			if !s.Enabled || s.Kind == "external" {
				continue
			}
			l := hosts.Load{Model: id}
			if x, ok := r.Chosen(id); ok {
				l = x.Load()
			}
			l.Name = s.Name
			if len(ids) > 1 {
				l.Name += "/" + id
			}
			l.Context = cmp.Or(int64(s.Context), l.Context)
			l.Sequences = int64(s.Parallel)
			asked := service.AskedOf(s)
			l.Backend, l.GPULayers, l.CPUExperts, l.Cache, l.Values = s.Backend, asked.GPULayers, asked.CPUExperts, asked.Keys, asked.Values
			l.Prompts, l.Checkpoints, l.Batch = asked.PromptCache, asked.Checkpoints, asked.Batch
			if f, err := r.Facts(); err == nil {
				l.Build = service.Build(s, &f)
				if s.Kind != "ollama" {
					l.Remedy = service.Remedy(cmp.Or(s.Backend, f.Backends()[0]), &f)
				}
			}
			mine = append(mine, r.withDraft(s, l))
		}
		if s.Kind == "llama-swap" || s.Routes() { // not all of them are in memory at once
			slices.SortStableFunc(mine, func(a, b []hosts.Load) int { return cmp.Compare(b[0].Weights, a[0].Weights) })
			mine = mine[:min(len(mine), max(1, s.Loaded))]
		}
		out = append(out, slices.Concat(mine...)...)
	}
	return out
}

// withDraft is the load l of a service with what its server loads beside it: the
// projector, whose memory adds to that of l, and the draft, which is another load.
func (r *Resolver) withDraft(s spec.Service, l hosts.Load) []hosts.Load {
	use := r.Spec.Host.Model(l.Model)
	if s.Kind == "ollama" || l.Weights == 0 {
		return []hosts.Load{l}
	}
	if x, ok := r.Chosen(use.Projector); ok {
		l.Projector = x.Quant.Size()
		if x.Shape.Projects() {
			l.Projector += x.Shape.Picture
		}
	}
	x, ok := r.Chosen(use.Draft)
	if !ok {
		return []hosts.Load{l}
	}
	d := x.Load()
	none := int64(0)
	d.Name, d.Context, d.Sequences, d.Backend, d.Build, d.Prompts, d.Checkpoints = s.Name+"/"+use.Draft, l.Context, l.Sequences, l.Backend, l.Build, &none, &none
	return []hosts.Load{l, d}
}

// Note is a warning about something resolved.
type Note struct {
	Kind  NoteKind
	Pos   spec.Position // zero if it is about a lock
	Model string        // of TooLarge
	Text  string        // what is wrong; the caller adds what to do
}

// NoteKind is the subject of a Note.
type NoteKind int

const (
	OtherCatalog     NoteKind = iota // a lock pins another catalog than this aisync has
	TooLarge                         // a model does not fit this machine
	TooLargeTogether                 // the models of the enabled services do not fit at once
	Graphics                         // a graphics unit is unknown or idle, or a context is cut off
)

// fitNotes warns of models that do not fit this machine: each one alone, and
// those that the services serve at once. It dials nothing and reads no file.
func (r *Resolver) fitNotes() ([]Note, error) {
	if len(r.AllChosen()) == 0 {
		return nil, nil
	}
	f, err := r.Facts()
	if err != nil {
		return nil, err
	}
	var notes []Note
	told := func(pos spec.Position, texts []string) {
		for _, text := range texts {
			if !slices.ContainsFunc(notes, func(n Note) bool { return n.Text == text }) {
				notes = append(notes, Note{Graphics, pos, "", text})
			}
		}
	}
	loads := slices.DeleteFunc(r.ServiceLoads(), func(l hosts.Load) bool { return l.Weights == 0 })
	large := false
	for _, use := range r.Spec.Host.Models {
		x, ok := r.Chosen(use.ID)
		if !ok {
			continue
		}
		v := hosts.Fit([]hosts.Load{r.LoadOf(x)}, f)
		if v.Warn {
			large = true
			notes = append(notes, Note{TooLarge, use.Pos, use.ID, fmt.Sprintf("model %q at %s does not fit: it %s", use.ID, x.Quant.Name, v.Reason())})
		}
		if len(loads) == 0 && x.Quant.Size() > 0 {
			told(use.Pos, v.Notes)
		}
	}
	if len(loads) == 0 {
		return notes, nil
	}
	i := slices.IndexFunc(r.Spec.Host.Services, func(s spec.Service) bool {
		return s.Enabled && (loads[0].Name == s.Name || loads[0].Name == s.Name+"/"+loads[0].Model)
	})
	pos := r.Spec.Host.Services[i].Pos
	v := hosts.Fit(loads, f)
	if v.Warn && !large { // one alone is as its model
		notes = append(notes, Note{TooLargeTogether, pos, "", "the models of the enabled services do not fit at once: serving them " + v.Reason()})
	}
	told(pos, v.Notes)
	return notes, nil
}
