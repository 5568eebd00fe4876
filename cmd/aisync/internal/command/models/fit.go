package models

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/cmd/aisync/internal/cli"
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

func modelsFitCommand(a *cli.App) *cobra.Command {
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
		Annotations: map[string]string{"effect": "read-only"},
		Args:        cli.MaxArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, p1 []string, p2 string) ([]string, cobra.ShellCompDirective) {
			return modelNames(a, cmd, p1, p2)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if tokens < 0 {
				return cli.Usagef("--context %d: want a number of tokens", tokens)
			}
			return modelsFit(cmd.Context(), a, cmp.Or(args...), tokens)
		},
	}
	cmd.Flags().Int64Var(&tokens, "context", 0, "plan for conversations of `N` tokens (default: what the service or the spec says, or 32768)")
	return cmd
}

func modelsFit(ctx context.Context, a *cli.App, id string, tokens int64) error {
	w, err := a.Loaded(ctx, stack.ScopeHost, stack.Look)
	if err != nil {
		return err
	}
	r := w.Resolver(pin.Ask)
	if err := chooseToFit(ctx, w, r, id); err != nil {
		return err
	}
	f, err := w.Facts()
	if err != nil {
		return err
	}
	doc := modelFitDoc{FormatVersion: cli.ViewVersion, Models: []modelFitsDoc{}}
	served := r.ServiceLoads()
	var absent int64
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
		absent += missing(w, x.Quant)
		verdict := hosts.Verdict{Level: hosts.Unknown, Loads: []hosts.Need{}, Advice: []hosts.Advice{}}
		if l.Weights > 0 {
			verdict = hosts.Fit([]hosts.Load{l}, f)
		}
		doc.Models = append(doc.Models, modelFitsDoc{name, x.Quant.Name, x.Reason, verdict})
	}
	doc.Together = together(r, id, tokens, f)
	doc.Disk = hosts.FitDisk(absent, w.Places.Physical(w.ModelStore()), f)
	if a.Flags.JSON {
		return a.WriteJSON(doc)
	}
	sayFit(a, doc)
	return nil
}

// chooseToFit chooses the models of the spec, or also the model id of the
// catalog, and reads their headers where they are not pinned.
func chooseToFit(ctx context.Context, w *stack.View, r *pin.Resolver, id string) error {
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
			return fmt.Errorf("model %q: %w", use.ID, stack.PinStep(err))
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
func missing(w *stack.View, q spec.Quant) int64 {
	var n int64
	for _, f := range q.Files {
		if _, err := w.Reader.Lstat(store.Blob(w.ModelStore(), f.SHA256)); f.SHA256 == "" || err != nil {
			n += f.Size
		}
	}
	return n
}

func sayFit(a *cli.App, doc modelFitDoc) {
	if len(doc.Models) == 0 {
		a.Printf("No models: the spec asks for none. To ask about one of the catalog: aisync models fit ID\n")
	}
	for _, m := range doc.Models {
		if len(m.Loads) == 0 {
			a.Printf("%s  %s  %s: its files are not known yet; aisync lock finds them when the hub can be reached\n", a.Paint().Bold(termtext.Safe(m.ID)), termtext.Safe(m.Quant), a.Paint().Yellow(string(m.Level)))
			continue
		}
		a.Printf("%s  %s  %s\n", a.Paint().Bold(termtext.Safe(m.ID)), termtext.Safe(m.Quant), verdict(a, m.Verdict))
		for _, n := range m.Loads {
			a.Printf("    %s\n", termtext.Safe(needText(n)))
		}
		sayAdvice(a, m.Verdict)
	}
	if v := doc.Together; v != nil {
		var names []string
		for _, n := range v.Loads {
			names = append(names, n.Name)
		}
		a.Printf("%s (%s)  %s\n", a.Paint().Bold("at once"), termtext.Safe(strings.Join(names, ", ")), verdict(a, *v))
		sayAdvice(a, *v)
	}
	if doc.Disk.Missing > 0 {
		a.Printf("disk  %s: to fetch, %s\n", doc.Disk.Level, termtext.Safe(doc.Disk.Reason()))
	}
}

func verdict(a *cli.App, v hosts.Verdict) string {
	level := string(v.Level)
	switch v.Level {
	case hosts.Fits:
		level = a.Paint().Green(level)
	case hosts.Tight, hosts.Unknown:
		level = a.Paint().Yellow(level)
	case hosts.No:
		level = a.Paint().Red(level)
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

func sayAdvice(a *cli.App, v hosts.Verdict) {
	for _, x := range v.Advice {
		a.Printf("    would make it fit: %s\n", termtext.Safe(x.Text))
	}
}
