package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// quant chooses the quantization of a model: by name, by pin, or by what fits.
func (p *pinner) quant(ctx context.Context, use spec.ModelUse, m spec.Model) (spec.Quant, string, error) {
	byName := func(name string) (spec.Quant, bool) {
		i := slices.IndexFunc(m.Quants, func(q spec.Quant) bool { return q.Name == name })
		if i < 0 {
			return spec.Quant{}, false
		}
		q := m.Quants[i]
		if q.Repo != "" {
			q.Files = nil // they only told its size
		}
		return q, true
	}
	switch {
	case use.Quant == "" && len(m.Quants) == 1:
		return m.Quants[0], "", nil
	case use.Quant != "auto" && use.Quant != "":
		q, ok := byName(use.Quant)
		if !ok {
			return q, "", fmt.Errorf("it has no quant %q; it has %s", use.Quant, quantNames(m))
		}
		return q, "", nil
	}
	l := p.lockOf(false)
	host := p.w.Spec.Host.Name
	if pin, ok := p.get(l, "quant", m.ID, host); ok {
		q, ok := byName(pin.Values["quant"])
		if !ok {
			return q, "", advice.Command(fmt.Errorf("it has no quant %q, which %s pins", pin.Values["quant"], lockName), "aisync lock --update "+m.ID)
		}
		return q, pin.Values["reason"], nil
	}
	if p.w.Locked {
		return spec.Quant{}, "", p.unpinned("quant: \"auto\"", spec.Position{})
	}
	f, err := p.w.Facts()
	if err != nil {
		return spec.Quant{}, "", err
	}
	if known, err := p.sized(ctx, use, &m); err != nil || !known {
		return spec.Quant{Name: "auto"}, "which quant fits is decided when it is pinned", err
	}
	shape := p.shapeToChoose(ctx, use, m)
	context, others := p.beside(use)
	c := hosts.PickQuantFor(m, f, hosts.Use{Shape: shape, Context: context, Others: others})
	q, ok := byName(c.Quant)
	if !ok {
		return q, "", fmt.Errorf("it has no quant that could be chosen: %s", c.Reason)
	}
	if p.s != nil {
		values := map[string]string{"quant": c.Quant, "reason": c.Reason}
		if shape != nil {
			values["shape"] = shape.String()
		}
		p.set(l, reconcile.Pin{Kind: "quant", Name: m.ID, Host: host, Values: values})
	}
	return q, c.Reason, nil
}

func quantNames(m spec.Model) string {
	var names []string
	for _, q := range m.Quants {
		names = append(names, q.Name)
	}
	return strings.Join(names, ", ")
}

// shapeToChoose reads from a source what a quantization cannot be chosen well
// without; nil where that cannot be had now.
func (p *pinner) shapeToChoose(ctx context.Context, use spec.ModelUse, m spec.Model) *spec.Shape {
	if !p.resolve || len(m.Quants) < 2 || !p.about(reconcile.Address("model:"+use.ID)) {
		return nil
	}
	q := m.Quants[0] // one shape serves all
	if q.Repo != "" {
		return p.w.shape(ctx, q.Files, true)
	}
	files, err := p.now(ctx, q)
	if err != nil {
		return nil
	}
	return p.w.shape(ctx, files, true)
}

// beside is for how many tokens a model is planned, and what the host's
// services serve beside it, as far as that is chosen.
func (p *pinner) beside(use spec.ModelUse) (int64, []hosts.Load) {
	var others []hosts.Load
	context := use.Context
	for _, l := range p.serviceLoads() {
		if l.Model == use.ID {
			context = max(context, l.Context)
		} else if l.Weights > 0 {
			others = append(others, l)
		}
	}
	return context, others
}
