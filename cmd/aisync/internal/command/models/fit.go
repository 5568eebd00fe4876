package models

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/speeds"
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

	Measured *speeds.Record `json:"measured,omitempty"` // with these very settings
	hosts.Verdict
}

func modelsFitCommand(a *cli.App) *cobra.Command {
	var tokens int64
	cmd := &cobra.Command{
		Use:   "fit [ID]",
		Short: "check whether models fit this machine's memory, and what would help",
		Long: `Adds up the memory for serving a model (weights, context cache, compute buffers)
and compares it with the machine's total memory. Verdicts: fits; tight: less
than 15% is left; no; unknown. It tells which layers lie in graphics memory, and
estimates the tokens a second of an answer. Free memory is shown, but does not count. Without an ID it
reports each model of the spec, and all models that the enabled services serve
at once. ID may be any model of the catalog.

It reads the header of a local file, or without --offline a few megabytes from
the source; without a header it estimates from the size. It writes nothing and
exits 0 whatever it reports.`,
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
	cmd.Flags().Int64Var(&tokens, "context", 0, "plan for a context of `N` tokens (default: that of the service or the spec, or 32768)")
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
	measured, err := speeds.Load(speedsFile(w))
	if err != nil {
		return err
	}
	all := hosts.Fit(servedLoads(r), f)
	var absent int64
	for _, x := range r.AllChosen() {
		name := x.Use.ID
		if id != "" && name != id {
			continue
		}
		l := r.LoadOf(x)
		if tokens > 0 {
			l.Context = tokens
		}
		absent += missing(w, x.Quant)
		verdict := hosts.Verdict{Level: hosts.Unknown, Loads: []hosts.Need{}, Advice: []hosts.Advice{}, Notes: []string{}}
		if l.Weights > 0 {
			verdict = hosts.Fit([]hosts.Load{l}, f)
		}
		m := modelFitsDoc{ID: name, Quant: x.Quant.Name, Reason: x.Reason, Verdict: verdict}
		if tokens == 0 {
			m.Measured = measuredOf(measured, w.Spec.Host.Name, name, all)
		}
		doc.Models = append(doc.Models, m)
	}
	doc.Together = together(r, id, tokens, f)
	doc.Disk = hosts.FitDisk(absent, w.Places.Physical(w.ModelStore()), f)
	if a.Flags.JSON {
		return a.WriteJSON(doc)
	}
	sayFit(a, doc)
	return nil
}

// chooseToFit resolves the models of the spec, and the model id of the catalog, and
// reads the headers of unpinned ones.
func chooseToFit(ctx context.Context, w *stack.View, r *pin.Resolver, id string) error {
	if w.Spec.Host == nil {
		return advice.Command(fmt.Errorf("no host describes this machine, so there are no models to fit"), "aisync init")
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
			return fmt.Errorf("model %q: %w", use.ID, pin.Advise(err))
		}
		if id == "" || id == use.ID {
			r.Measure(ctx, use.ID)
		}
	}
	return nil
}

// together returns the verdict on all models that are served at once, including id;
// nil for fewer than two.
func together(r *pin.Resolver, id string, tokens int64, f facts.Facts) *hosts.Verdict {
	loads := servedLoads(r)
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

// missing returns how many bytes the store still takes for q.
func missing(w *stack.View, q spec.Quant) int64 {
	var n int64
	for _, f := range q.Files {
		if _, err := w.Reader.Lstat(store.Blob(w.ModelStore(), f.SHA256)); f.SHA256 == "" || err != nil {
			n += store.Space(w.Reader, store.Part(w.ModelStore(), f.SHA256), f.Size)
		}
	}
	return n
}

func sayFit(a *cli.App, doc modelFitDoc) {
	if len(doc.Models) == 0 {
		a.Printf("No models: the spec asks for none. To check one of the catalog: aisync models fit ID\n")
	}
	for _, m := range doc.Models {
		if len(m.Loads) == 0 {
			a.Printf("%s  %s  %s: its files are not known yet; run: aisync lock (needs the network)\n", a.Paint().Bold(termtext.Safe(m.ID)), termtext.Safe(m.Quant), a.Paint().Yellow(string(m.Level)))
			continue
		}
		a.Printf("%s  %s  %s\n", a.Paint().Bold(termtext.Safe(m.ID)), termtext.Safe(m.Quant), verdict(a, m.Verdict))
		for _, n := range m.Loads {
			a.Printf("%s\n%s\n", a.Hang("    ", termtext.Safe(needText(n))), a.Hang("    ", termtext.Safe(placeText(n))))
			sayBar(a, n, m.Verdict)
		}
		if text := measuredText(m.Measured); text != "" {
			a.Printf("%s\n", a.Hang("    ", termtext.Safe(text)))
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
	if n.Context == 0 { // a projector
		return fmt.Sprintf("weights %s, compute buffers %s", quantity.Memory(n.Weights), quantity.Memory(n.Compute))
	}
	text := fmt.Sprintf("weights %s, cache %s for %d tokens, compute buffers %s", quantity.Memory(n.Weights), quantity.Memory(n.KV+n.State), n.Context, quantity.Memory(n.Compute))
	if n.Projector > 0 {
		text += ", projector " + quantity.Memory(n.Projector)
	}
	if n.Estimated {
		text += " (estimated from the size: no header available)"
	}
	return text
}

// placeText says where a model lies while it is served, and how fast it may be.
func placeText(n hosts.Need) string {
	text := "on the processor"
	switch {
	case n.GPULayers == hosts.ServerDecides:
		text = "llama-server decides how many layers lie in graphics memory"
	case n.GPULayers == hosts.EveryLayer && n.CPUExperts == 0:
		text = "all layers in graphics memory"
	case n.GPULayers == hosts.EveryLayer:
		text = fmt.Sprintf("all layers in graphics memory but the experts of %d of %d", n.CPUExperts, n.Layers)
	case n.GPULayers > 0 && n.CPUExperts > 0:
		text = fmt.Sprintf("%d of %d layers in graphics memory, without the experts of %d", n.GPULayers, n.Layers+1, n.CPUExperts)
	case n.GPULayers > 0 && n.Layers == 0:
		text = quantity.Count(int(n.GPULayers), "layer") + " in graphics memory"
	case n.GPULayers > 0:
		text = fmt.Sprintf("%d of %d layers in graphics memory", n.GPULayers, n.Layers+1)
	}
	if n.Backend != "" && n.GPULayers != 0 {
		text += ", by " + hosts.Words([]string{n.Backend})
	}
	if n.Prompts > 0 {
		text += "; up to " + quantity.Memory(n.Prompts) + " of main memory for old conversations"
	}
	if n.Checkpoints > 0 {
		text += fmt.Sprintf("; up to %s of %s of each conversation", quantity.Count(int(n.Checkpoints), "checkpoint"), quantity.Memory(n.Checkpoint))
	}
	if n.Speed > 0 {
		text += fmt.Sprintf("; about %.0f tokens/s, an estimate from bandwidth and active weights", n.Speed)
	}
	return text
}

func sayAdvice(a *cli.App, v hosts.Verdict) {
	for _, note := range v.Notes {
		a.Printf("    note: %s\n", termtext.Safe(note))
	}
	for _, x := range v.Advice {
		a.Printf("    would make it fit: %s\n", termtext.Safe(x.Text))
	}
	if v.Level == hosts.No && len(v.Advice) == 0 {
		a.Printf("    no smaller quantization, cache or context makes it fit: take a smaller model; aisync models fit qwen3-8b judges one of the catalog\n")
	}
}
