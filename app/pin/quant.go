package pin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/fetch/hub"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// quant chooses the quantization of a model: by name, by pin, or by what fits.
func (r *Resolver) quant(ctx context.Context, use spec.ModelUse, m spec.Model) (spec.Quant, string, error) {
	byName := func(name string) (spec.Quant, bool) {
		i := slices.IndexFunc(m.Quants, func(q spec.Quant) bool { return q.Name == name })
		if i < 0 {
			return spec.Quant{}, false
		}
		q := m.Quants[i]
		if q.Repo != "" {
			q.Files = nil // they only served to tell its size
		}
		return q, true
	}
	switch {
	case use.Quant == "" && len(m.Quants) == 1:
		return m.Quants[0], "", nil
	case use.Quant != "auto" && use.Quant != "":
		q, ok := byName(use.Quant)
		if !ok {
			return q, "", fmt.Errorf("unknown quant %q; known: %s", use.Quant, quantNames(m))
		}
		return q, "", nil
	}
	host := r.Spec.Host.Name
	if pin, ok := r.get(r.Host, "quant", m.ID, host); ok && pin.Values["prefer"] == use.Prefer {
		q, ok := byName(pin.Values["quant"])
		if !ok {
			return q, "", &Error{Reason: Unfit, ID: m.ID, Err: fmt.Errorf("quant %q, pinned in %s, no longer exists", pin.Values["quant"], FileName)}
		}
		return q, pin.Values["reason"], nil
	}
	if r.Locked {
		return spec.Quant{}, "", notPinned("quant: \"auto\"", spec.Position{})
	}
	f, err := r.Facts()
	if err != nil {
		return spec.Quant{}, "", err
	}
	left, known, err := r.sized(ctx, use, &m)
	if err != nil || !known {
		return spec.Quant{Name: "auto"}, "the quant is chosen when it is pinned", err
	}
	shape := r.shapeToChoose(ctx, use, m)
	tokens, others := r.beside(use)
	c := hosts.PickQuantFor(m, f, hosts.Use{Shape: shape, Context: tokens, Others: others, Prefer: use.Prefer})
	q, ok := byName(c.Quant)
	if !ok {
		return q, "", fmt.Errorf("no quant can be chosen: %s", c.Reason)
	}
	c.Reason += left
	if r.Mode.pins() {
		values := map[string]string{"quant": c.Quant, "reason": c.Reason}
		if use.Prefer != "" {
			values["prefer"] = use.Prefer
		}
		if shape != nil {
			values["shape"] = shape.String()
		}
		r.put(r.Host, reconcile.Pin{Kind: "quant", Name: m.ID, Host: host, Values: values})
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

// sized reports whether the sizes of the quants of m are known, after asking for
// the missing ones if allowed. It takes quants out of m that their repository
// lacks, or has in part; left says which. If it has none, that is the error.
func (r *Resolver) sized(ctx context.Context, use spec.ModelUse, m *spec.Model) (left string, known bool, err error) {
	var quants []spec.Quant
	var lacks []error
	for _, q := range m.Quants {
		if q.Repo == "" {
			quants = append(quants, q)
			continue
		}
		if ask, err := r.mayPin(use, "quant: \"auto\""); err != nil || !ask && !r.asks() {
			return "", false, err
		}
		files, err := r.filesNow(ctx, q)
		switch {
		case errors.Is(err, hub.ErrMissingShard), errors.Is(err, hub.ErrNotFound):
			lacks = append(lacks, err)
			left += "; without " + q.Name + ", which " + q.Repo + " does not have whole"
		case err != nil:
			return "", false, r.unanswered(use, err)
		default:
			q.Files = files
			quants = append(quants, q)
		}
	}
	if len(quants) == 0 && len(lacks) > 0 {
		return "", false, r.unanswered(use, errors.Join(lacks...))
	}
	m.Quants = quants
	sort.SliceStable(quants, func(i, j int) bool { return quants[i].Size() < quants[j].Size() })
	return left, true, nil
}

// shapeToChoose reads from a source the header that a good choice needs; nil if
// that is not available now.
func (r *Resolver) shapeToChoose(ctx context.Context, use spec.ModelUse, m spec.Model) *spec.Shape {
	if !r.dials() || len(m.Quants) < 2 || !r.about(modelAddress(use.ID)) {
		return nil
	}
	q := m.Quants[0] // one shape serves all
	if q.Repo != "" {
		return r.readShape(ctx, q.Files)
	}
	files, err := r.filesNow(ctx, q)
	if err != nil {
		return nil
	}
	return r.readShape(ctx, files)
}

// beside is the context that a model is planned for, and the chosen models that
// the host's services serve beside it.
func (r *Resolver) beside(use spec.ModelUse) (int64, []hosts.Load) {
	var others []hosts.Load
	tokens := use.Context
	for _, l := range r.ServiceLoads() {
		if l.Model == use.ID {
			tokens = max(tokens, l.Context)
		} else if l.Weights > 0 {
			others = append(others, l)
		}
	}
	return tokens, others
}
