package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/hosts/facts"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/quantity"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/schema/spec"
)

// modelFitDoc is models fit --json; see docs/json.md.
type modelFitDoc struct {
	FormatVersion string            `json:"format_version"`
	Models        []modelFitsDoc    `json:"models"`
	Together      *hosts.Verdict    `json:"together,omitempty"` // what the enabled services serve, at once
	Disk          hosts.DiskVerdict `json:"disk"`
}

type modelFitsDoc struct {
	ID     string `json:"id"`
	Quant  string `json:"quant"`
	Reason string `json:"reason,omitempty"` // why this quant
	hosts.Verdict
}

func modelsFitCommand(a *app) *cobra.Command {
	var tokens int64
	cmd := &cobra.Command{
		Use:   "fit [ID]",
		Short: "tell whether models fit this machine's memory, and what would make them",
		Long: `Counts what serving a model takes: its weights, the cache of its conversation and
the buffers to compute in, and compares that with the memory that the machine has
in all. Verdicts: fits; tight: less than 15% are left; no. What is free just now
is shown and decides nothing. Without an ID it tells of each model of the spec,
and of all that the enabled services serve at once.

It reads the header of a file that is here, or a few megabytes from its source
unless --offline; where neither can be had it estimates from the size. It writes
nothing, and exits 0 whatever it reports. With an ID, that may be any model of
the catalog.`,
		Example: `  $ aisync models fit
  $ aisync models fit qwen3-coder-30b --context 131072`,
		Annotations:       map[string]string{"effect": "read-only"},
		Args:              maxArgs(1),
		ValidArgsFunction: a.modelNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if tokens < 0 {
				return usagef("--context %d: want a number of tokens", tokens)
			}
			return a.modelsFit(cmd.Context(), cmp.Or(args...), tokens)
		},
	}
	cmd.Flags().Int64Var(&tokens, "context", 0, "plan for conversations of `N` tokens (default: what the service or the spec says, or 32768)")
	return cmd
}

func (a *app) modelsFit(ctx context.Context, id string, tokens int64) error {
	w, err := a.loaded(ctx, ScopeHost, Look)
	if err != nil {
		return err
	}
	r := w.resolver(pin.Ask)
	if err := w.chooseToFit(ctx, r, id); err != nil {
		return err
	}
	f, err := w.Facts()
	if err != nil {
		return err
	}
	doc := modelFitDoc{FormatVersion: viewVersion, Models: []modelFitsDoc{}}
	served := r.ServiceLoads()
	var missing int64
	for _, x := range r.AllChosen() {
		name := x.Use.ID
		if id != "" && name != id {
			continue
		}
		l := x.Load()
		if i := slices.IndexFunc(served, func(s hosts.Load) bool { return s.Model == name }); i >= 0 {
			l.Context = served[i].Context
		}
		if tokens > 0 {
			l.Context = tokens
		}
		missing += w.missing(x.Quant)
		verdict := hosts.Verdict{Level: hosts.Unknown, Loads: []hosts.Need{}, Advice: []hosts.Advice{}}
		if l.Weights > 0 {
			verdict = hosts.Fit([]hosts.Load{l}, f)
		}
		doc.Models = append(doc.Models, modelFitsDoc{name, x.Quant.Name, x.Reason, verdict})
	}
	doc.Together = together(r, id, tokens, f)
	doc.Disk = hosts.FitDisk(missing, w.Places.Physical(w.modelStore()), f)
	if a.g.json {
		return a.writeJSON(doc)
	}
	a.sayFit(doc)
	return nil
}

// chooseToFit chooses the models of the spec, or also the model id of the
// catalog, and reads their headers where they are not pinned.
func (w *View) chooseToFit(ctx context.Context, r *pin.Resolver, id string) error {
	if w.Spec.Host == nil {
		return advice.Command(fmt.Errorf("no host is described here, so there is nothing to fit models to"), "aisync init")
	}
	uses := slices.Clone(w.Spec.Host.Models)
	if id != "" && !slices.ContainsFunc(uses, func(u spec.ModelUse) bool { return u.ID == id }) {
		uses = append(uses, spec.ModelUse{ID: id, Quant: "auto"})
	}
	r.Prefetch(ctx, slices.DeleteFunc(slices.Clone(uses), func(u spec.ModelUse) bool { return id != "" && u.ID != id }))
	for _, use := range uses {
		m, ok := w.Catalog.Model(use.ID)
		if !ok {
			return advice.New(fmt.Errorf("the catalog has no model %q", use.ID), "describe it under catalog in the host's spec")
		}
		if _, _, err := r.Model(ctx, use, m); err != nil {
			return fmt.Errorf("model %q: %w", use.ID, pinStep(err))
		}
		if id == "" || id == use.ID {
			r.Measure(ctx, use.ID)
		}
	}
	return nil
}

// together is the verdict on all that is served at once, with the model id
// among it; nil where that is one model or none.
func together(r *pin.Resolver, id string, tokens int64, f facts.Facts) *hosts.Verdict {
	loads := slices.DeleteFunc(r.ServiceLoads(), func(l hosts.Load) bool { return l.Weights == 0 })
	among := false
	for i := range loads {
		if id == "" || loads[i].Model == id {
			among = true
			if tokens > 0 {
				loads[i].Context = tokens
			}
		}
	}
	if !among && id != "" {
		x, _ := r.Chosen(id)
		l := x.Load()
		l.Context = max(l.Context, tokens)
		loads = append(loads, l)
	}
	if len(loads) < 2 {
		return nil
	}
	v := hosts.Fit(loads, f)
	return &v
}

// missing is how many bytes of q are not in the store.
func (w *View) missing(q spec.Quant) int64 {
	var n int64
	for _, f := range q.Files {
		if _, err := w.Reader.Lstat(store.Blob(w.modelStore(), f.SHA256)); f.SHA256 == "" || err != nil {
			n += f.Size
		}
	}
	return n
}

func (a *app) sayFit(doc modelFitDoc) {
	if len(doc.Models) == 0 {
		a.printf("No models: the spec asks for none. To ask about one of the catalog: aisync models fit ID\n")
	}
	for _, m := range doc.Models {
		if len(m.Loads) == 0 {
			a.printf("%s  %s  %s: its files are not known yet; aisync lock finds them when the hub can be reached\n", a.paint().bold(termtext.Safe(m.ID)), termtext.Safe(m.Quant), a.paint().yellow(string(m.Level)))
			continue
		}
		a.printf("%s  %s  %s\n", a.paint().bold(termtext.Safe(m.ID)), termtext.Safe(m.Quant), a.verdict(m.Verdict))
		for _, n := range m.Loads {
			a.printf("    %s\n", termtext.Safe(needText(n)))
		}
		a.sayAdvice(m.Verdict)
	}
	if v := doc.Together; v != nil {
		var names []string
		for _, n := range v.Loads {
			names = append(names, n.Name)
		}
		a.printf("%s (%s)  %s\n", a.paint().bold("at once"), termtext.Safe(strings.Join(names, ", ")), a.verdict(*v))
		a.sayAdvice(*v)
	}
	if doc.Disk.Missing > 0 {
		a.printf("disk  %s: to fetch, %s\n", doc.Disk.Level, termtext.Safe(doc.Disk.Reason()))
	}
}

func (a *app) verdict(v hosts.Verdict) string {
	level := string(v.Level)
	switch v.Level {
	case hosts.Fits:
		level = a.paint().green(level)
	case hosts.Tight, hosts.Unknown:
		level = a.paint().yellow(level)
	case hosts.No:
		level = a.paint().red(level)
	}
	return level + ": " + termtext.Safe(v.Reason())
}

func needText(n hosts.Need) string {
	text := fmt.Sprintf("weights %s, cache %s for %d tokens, to compute %s", quantity.Memory(n.Weights), quantity.Memory(n.KV+n.State), n.Context, quantity.Memory(n.Compute))
	if n.Estimated {
		text += " (estimated from the size: no header could be read)"
	}
	return text
}

func (a *app) sayAdvice(v hosts.Verdict) {
	for _, x := range v.Advice {
		a.printf("    would make it fit: %s\n", termtext.Safe(x.Text))
	}
}
