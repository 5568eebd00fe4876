package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/providers/model"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// stock is what the host's spec wants of models, and what is known of them.
type stock struct {
	w    *stack.View
	pins *pin.Resolver
	held []store.Held
}

// stockedOnce returns a function that looks once. The stock is nil where no
// host is described.
func stockedOnce(ctx context.Context, p *stack.Parts) func() (*stock, error) {
	return sync.OnceValues(func() (*stock, error) {
		for _, err := range []error{p.SpecErr, p.LocksErr, p.StoreErr} {
			if err != nil {
				return nil, err
			}
		}
		w := p.View
		if w.Spec.Host == nil {
			return nil, nil
		}
		r := w.Resolver(pin.Look)
		d, err := w.ModelDecls(ctx, r)
		if err != nil {
			return nil, err
		}
		records, err := w.Store.OfKinds("model", "view")
		if err != nil {
			return nil, err
		}
		held := model.Held(d.Declarations, records)
		return &stock{w, r, slices.DeleteFunc(held, func(h store.Held) bool { return !h.Wanted })}, nil
	})
}

// checkModels looks at the stat of every file and reads every header. The bytes
// are for the check of contents.
func checkModels(ctx context.Context, p *Env) []Finding {
	if why := p.unreadable(ctx); why != nil {
		return why
	}
	s, err := p.stocked()
	if err != nil {
		return []Finding{fail(cmp.Or(advice.Of(err), "aisync models ls"), "%v", err)}
	}
	if s == nil || len(s.held) == 0 {
		return nil
	}
	checked, err := store.Verify(ctx, p.disk, s.w.ModelStore(), s.held, store.VerifyOptions{})
	if err != nil {
		return []Finding{fail("", "%v", err)}
	}
	var out []Finding
	whole := map[string][]store.Checked{}
	moved := p.modelChanges()
	for _, c := range checked {
		if c.State != store.OK {
			out = append(out, p.notOK(c))
			continue
		}
		if why := moved[c.ID]; why != "" {
			// The bytes are in the store, and not under their name.
			out = append(out, fail("aisync apply --restore --target "+shellquote.Terminal("model:"+c.ID), "model %s (%s): %s", c.ID, p.places.Physical(c.Path), why))
			delete(moved, c.ID)
			continue
		}
		whole[c.ID] = append(whole[c.ID], c)
	}
	for _, use := range s.w.Spec.Host.Models {
		if x, ok := s.pins.Chosen(use.ID); ok && len(whole[use.ID]) == len(x.Quant.Files) {
			out = append(out, p.header(x, whole[use.ID])...)
		}
	}
	return out
}

// modelChanges are the models that an apply would touch, and why.
func (p *Env) modelChanges() map[string]string {
	out := map[string]string{}
	if _, plan, err := p.planned(); err == nil { // else the check of drift says why
		for _, c := range plan.Changes {
			a := c.Target.Resource.Address
			if a.Kind() == "model" && c.Action != reconcile.None && c.Action != reconcile.Accept && c.Action != reconcile.Release {
				out[a.Name()] = cmp.Or(c.Before.Reason, c.Meaning())
			}
		}
	}
	return out
}

// notOK says what is wrong with a file of a model.
func (p *Env) notOK(c store.Checked) Finding {
	name := c.ID + " (" + p.places.Physical(c.Path) + ")"
	switch c.State {
	case store.Unpinned:
		return fail("aisync lock, with a network", "model %s: nobody knows yet what it shall be: it is not pinned", c.ID)
	case store.Missing, store.Partial:
		return fail("aisync models pull "+shellquote.Terminal(c.ID)+", with a network", "model %s is %s", name, map[store.State]string{store.Missing: "not there", store.Partial: "there in part only"}[c.State])
	case store.Unverified:
		return fail("aisync apply", "model %s is there, and nobody has verified it", name)
	}
	return fail("aisync apply --target "+shellquote.Terminal("model:"+c.ID)+" reads it, and says how to have it fetched again where it is wrong", "model %s is not what was verified: %v", name, c.Err)
}

// header compares what the files of a model say of themselves with what the
// catalog and the pins say.
func (p *Env) header(x pin.Chosen, files []store.Checked) []Finding {
	var names []string
	for _, f := range files {
		names = append(names, p.places.Physical(f.Path))
	}
	header, err := pin.ReadHeader(names...)
	if e := (*pin.Error)(nil); errors.As(err, &e) {
		return []Finding{fail("aisync apply --target "+shellquote.Terminal("model:"+x.Use.ID)+" reads it, and says how to have it fetched again where it is wrong", "model %s: its header cannot be read: %v", x.Use.ID, err)}
	} else if err != nil {
		return []Finding{fail("", "model %s: %v", x.Use.ID, err)}
	}
	shape := header.Shape
	var out []Finding
	differs := func(what string, there, said any) {
		out = append(out, warn("correct the catalog's entry, or name another file", "model %s: its file says %s %v, and the catalog or its pin %v", x.Use.ID, what, there, said))
	}
	if known := x.Shape; known != nil {
		if shape.Arch != known.Arch || shape.Layers != known.Layers || shape.Vocabulary != known.Vocabulary {
			differs("architecture, layers and vocabulary", triple(shape), triple(*known))
		}
	}
	if shape.Context > 0 && x.Model.Context > shape.Context {
		differs("a context of", fmt.Sprintf("%d tokens", shape.Context), x.Model.Context)
	}
	if type_, ok := fileTypes[strings.ToUpper(x.Quant.Name)]; ok && header.FileType != 0 && header.FileType != type_ {
		differs("type", header.FileType, fmt.Sprintf("%s, which is %d", x.Quant.Name, type_))
	}
	return out
}

func triple(s spec.Shape) string { return fmt.Sprintf("%s/%d/%d", s.Arch, s.Layers, s.Vocabulary) }

// fileTypes are numbers of general.file_type: enum llama_ftype in
// include/llama.h of https://github.com/ggml-org/llama.cpp. Names that are not
// here are mixtures of their makers' own.
var fileTypes = map[string]int64{
	"F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q5_1": 9, "Q2_K": 10, "Q3_K_S": 11, "Q3_K_M": 12, "Q3_K_L": 13,
	"Q4_K_S": 14, "Q4_K_M": 15, "Q5_K_S": 16, "Q5_K_M": 17, "Q6_K": 18, "IQ4_NL": 25, "IQ4_XS": 30, "BF16": 32,
}

// checkMemory compares what the enabled services take at once with the machine.
func checkMemory(ctx context.Context, p *Env) []Finding {
	if why := p.unreadable(ctx); why != nil {
		return why
	}
	s, err := p.stocked()
	if err != nil || p.facts == nil {
		return []Finding{skip("not checked: the checks of spec and models say why")}
	}
	if s == nil {
		return nil // no host, no service
	}
	loads := slices.DeleteFunc(s.pins.ServiceLoads(), func(l hosts.Load) bool { return l.Weights == 0 || l.Ignore })
	if len(loads) == 0 {
		return nil
	}
	var names []string
	for _, l := range loads {
		names = append(names, l.Name)
	}
	fix := "aisync models fit says what would make it fit"
	switch v := hosts.Fit(loads, *p.facts); v.Level {
	case hosts.No:
		return []Finding{fail(fix, "%s at once: it %s", strings.Join(names, ", "), v.Reason())}
	case hosts.Tight:
		return []Finding{warn(fix, "%s at once: it %s", strings.Join(names, ", "), v.Reason())}
	}
	return nil
}
