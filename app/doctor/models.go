package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/app/pin"
	"aisync.dev/aisync/app/stack"
	"aisync.dev/aisync/hosts"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/gguf"
	"aisync.dev/aisync/internal/shellquote"
	"aisync.dev/aisync/providers/store"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// checkModels compares the size and time of every file with the verified ones, and
// its header with the catalog. It reads no more of it: the check of contents does.
func checkModels(ctx context.Context, e *Env) Outcome {
	if why := e.brokenInput(ctx); why != nil {
		return found(why...)
	}
	inv, err := e.inventory()
	switch {
	case errors.Is(err, stack.ErrNoHost):
		return Outcome{}
	case err != nil:
		return found(fail(cmp.Or(advice.Of(err), "aisync models ls"), "%v", err))
	}
	checked, err := store.Verify(ctx, e.reader, inv.Folder, inv.Wanted(), store.VerifyOptions{})
	if err != nil {
		return found(fail("", "%v", err))
	}
	var out []Finding
	whole := map[string][]store.Checked{}
	moved := e.modelChanges()
	for _, c := range checked {
		if c.State != store.OK {
			out = append(out, e.fileFinding(c))
			continue
		}
		if why := moved[c.ID]; why != "" {
			// The bytes are in the store, and not under their name.
			out = append(out, fail("aisync apply --restore --target "+shellquote.Terminal("model:"+c.ID), "model %s (%s): %s", c.ID, e.places.Physical(c.Path), why))
			delete(moved, c.ID)
			continue
		}
		whole[c.ID] = append(whole[c.ID], c)
	}
	for _, use := range inv.View.Spec.Host.Models {
		if x, ok := inv.Pins.Chosen(use.ID); ok && len(whole[use.ID]) == len(x.Quant.Files) {
			out = append(out, e.checkHeader(x, whole[use.ID])...)
		}
	}
	return found(out...)
}

// modelChanges returns the models that an apply would change, and why.
func (e *Env) modelChanges() map[string]string {
	out := map[string]string{}
	if _, plan, err := e.plan(); err == nil { // else the check of drift says why
		for _, c := range plan.Changes {
			a := c.Target.Resource.Address
			if a.Kind() == "model" && c.Action != reconcile.None && c.Action != reconcile.Accept && c.Action != reconcile.Release {
				out[a.Name()] = cmp.Or(c.Before.Reason, c.Meaning())
			}
		}
	}
	return out
}

// fileFinding returns what is wrong with a file of a model, and what helps.
func (e *Env) fileFinding(c store.Checked) Finding {
	name := c.ID + " (" + e.places.Physical(c.Path) + ")"
	switch c.State {
	case store.Unpinned:
		return fail("aisync lock, with a network", "model %s is not pinned", c.ID)
	case store.Missing, store.Partial:
		return fail("aisync models pull "+shellquote.Terminal(c.ID)+", with a network", "model %s is %s", name, map[store.State]string{store.Missing: "missing", store.Partial: "incomplete"}[c.State])
	case store.Unverified:
		return fail("aisync apply", "model %s is there, and was never verified", name)
	}
	return fail("aisync apply --target "+shellquote.Terminal("model:"+c.ID)+" reads it, and says how to have it fetched again where it is wrong", "model %s is not what was verified: %v", name, c.Err)
}

// checkHeader compares the header in the files of a model with the catalog and the
// pin.
func (e *Env) checkHeader(x pin.Chosen, files []store.Checked) []Finding {
	var names []string
	for _, f := range files {
		names = append(names, e.places.Physical(f.Path))
	}
	header, err := pin.ReadHeader(names...)
	if unread := (*pin.Error)(nil); errors.As(err, &unread) {
		return []Finding{fail("aisync apply --target "+shellquote.Terminal("model:"+x.Use.ID)+" reads it, and says how to have it fetched again where it is wrong", "model %s: its header cannot be read: %v", x.Use.ID, err)}
	} else if err != nil {
		return []Finding{fail("name all files of "+x.Quant.Name+" in the catalog's entry, in order, then aisync apply", "model %s: %v", x.Use.ID, err)}
	}
	shape := header.Shape
	var out []Finding
	differs := func(what string, there, said any) {
		out = append(out, warn("correct the catalog's entry, or name another file", "model %s: its file says %s %v, and the catalog or its pin %v", x.Use.ID, what, there, said))
	}
	if known := x.Shape; known != nil {
		if shape.Arch != known.Arch || shape.Layers != known.Layers || shape.Vocabulary != known.Vocabulary {
			differs("architecture, layers and vocabulary", shapeText(shape), shapeText(*known))
		}
	}
	if said := x.Model.Chat; said != "" && shape.Chat != "" && shape.Chat != said && shape.Chat != gguf.ChatOther && shape.Chat != gguf.ChatPlain {
		differs("that its prompts have the form", shape.Chat, said)
	}
	if shape.Context > 0 && x.Model.Context > shape.Context {
		differs("a context of", fmt.Sprintf("%d tokens", shape.Context), x.Model.Context)
	}
	if type_, ok := fileTypes[strings.ToUpper(x.Quant.Name)]; ok && header.FileType != 0 && header.FileType != type_ {
		differs("type", header.FileType, fmt.Sprintf("%s, which is %d", x.Quant.Name, type_))
	}
	return out
}

// shapeText returns architecture, layers and vocabulary.
func shapeText(s spec.Shape) string { return fmt.Sprintf("%s/%d/%d", s.Arch, s.Layers, s.Vocabulary) }

// fileTypes are numbers of general.file_type: enum llama_ftype in
// include/llama.h of https://github.com/ggml-org/llama.cpp. Other names are
// mixtures that a maker named.
var fileTypes = map[string]int64{
	"F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q5_1": 9, "Q2_K": 10, "Q3_K_S": 11, "Q3_K_M": 12, "Q3_K_L": 13,
	"Q4_K_S": 14, "Q4_K_M": 15, "Q5_K_S": 16, "Q5_K_M": 17, "Q6_K": 18, "IQ4_NL": 25, "IQ4_XS": 30, "BF16": 32,
}

// checkMemory compares the memory that the enabled services take at once with the
// memory of the machine.
func checkMemory(ctx context.Context, e *Env) Outcome {
	if why := e.brokenInput(ctx); why != nil {
		return found(why...)
	}
	inv, err := e.inventory()
	switch {
	case errors.Is(err, stack.ErrNoHost):
		return Outcome{}
	case err != nil || e.factsErr != nil:
		return found(skip("not checked: the checks of spec and models say why"))
	}
	loads := slices.DeleteFunc(inv.Pins.ServiceLoads(), func(l hosts.Load) bool { return l.Weights == 0 || l.Ignore })
	if len(loads) == 0 {
		return Outcome{}
	}
	var names []string
	for _, l := range loads {
		names = append(names, l.Name)
	}
	f, err := inv.View.Facts() // with what the spec tells of the machine
	if err != nil {
		return found(skip("not checked: %v", err))
	}
	v := hosts.Fit(loads, f)
	var out []Finding
	switch v.Level {
	case hosts.No:
		out = append(out, fail("aisync models fit says what would make it fit", "%s at once: it %s", strings.Join(names, ", "), v.Reason()))
	case hosts.Tight, hosts.Unknown:
		out = append(out, warn("aisync models fit has the numbers", "%s at once: it %s", strings.Join(names, ", "), v.Reason()))
	}
	for _, note := range v.Notes {
		out = append(out, warn("aisync models fit shows where the models lie", "%s", note))
	}
	return found(append(out, e.checkDevices(ctx, v, loads, f)...)...)
}
