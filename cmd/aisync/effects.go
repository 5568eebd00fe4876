package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/catalog/manifest"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/termtext"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// effectsOf returns what programs and git will obey in the project once p is
// applied, and what of that waits for an answer.
func (w *View) Effects(p *reconcile.Plan) (all, undecided []effects.Effect) {
	owner := reconcile.ProjectOwner(w.Places.Project)
	if w.Places.Project == "" || !w.Has(owner) || w.Spec == nil || w.Spec.Project == nil {
		return nil, nil
	}
	if w.judged.plan == p {
		return w.judged.all, w.judged.undecided
	}
	project := w.Spec.Project
	in := effects.Project{Dir: w.Places.Project, Carried: effects.Carried(w.Env.List(), w.Places.Project), Checks: true, Hooked: w.hooksShared, Launches: launches(project, w.Spec.Catalog.Runtimes, "")}
	for _, rt := range w.Catalog.Runtimes() {
		ours := slices.ContainsFunc(project.Runtimes, func(n spec.Named) bool { return n.Value == rt.ID })
		if h := w.Spec.Host; ours || h != nil && slices.ContainsFunc(h.Runtimes, func(r spec.RuntimeUse) bool { return r.ID == rt.ID }) { // launch may start either
			in.Runtimes = append(in.Runtimes, rt)
		} else {
			in.Others = append(in.Others, rt)
		}
		for _, entry := range adapter.TrustEntries(project.Dir, rt) {
			in.Trusts = append(in.Trusts, effects.Trust{Runtime: rt.ID, Address: entry.Target, Key: entry.Leaves[0].Key})
		}
	}
	all = effects.Of(in, w.ReadEnv(), p)
	undecided = effects.Undecided(all, owner, w.Store, trustedSources(w.Spec.Host))
	w.judged = judged{p, in, all, undecided}
	return all, undecided
}

// judged are the effects of the plan that was looked at last.
type judged struct {
	plan           *reconcile.Plan
	in             effects.Project
	all, undecided []effects.Effect
}

// stillObeyed returns an error that wraps reconcile.ErrStale if p, whose effects
// were looked at before a person was asked, has others now: a pull, an editor or
// an agent may change a file while the question stands there.
func (w *View) StillObeyed(p *reconcile.Plan) error {
	was, _ := w.Effects(p)
	if w.judged.plan != p || effects.Digest(effects.Of(w.judged.in, w.ReadEnv(), p)) == effects.Digest(was) {
		return nil
	}
	return advice.Command(fmt.Errorf("what programs and git obey here %w; nothing was changed", reconcile.ErrStale), "aisync apply")
}

// trustedSources are the pinned sources that a host trusts.
func trustedSources(h *spec.Host) []string {
	var out []string
	if h != nil {
		for _, s := range h.TrustSources {
			out = append(out, adapter.PinnedSource(s.Source, s.Pin))
		}
	}
	return out
}

// launches are the programs that the project's own sources would have "aisync
// launch" start: those among the project's runtimes, and the one that is named.
func launches(p *spec.Project, runtimes []spec.Runtime, named string) []effects.Launch {
	var out []effects.Launch
	for _, r := range runtimes {
		used := r.ID == named || slices.ContainsFunc(p.Runtimes, func(n spec.Named) bool { return n.Value == r.ID })
		ours := slices.ContainsFunc(p.Sources, func(s spec.Source) bool { return s.Name == r.Source })
		if !used || !ours || r.Command == "" {
			continue
		}
		sum := sha256.Sum256(manifest.Of(r).Format())
		out = append(out, effects.Launch{
			Runtime: r.ID, Command: strings.Join(append([]string{r.Command}, r.Launch.Args...), " "),
			Digest: hex.EncodeToString(sum[:]), Origin: []reconcile.Position{reconcile.Position(r.Pos)},
		})
	}
	return out
}

// agree remembers a yes to list. The yes to all that comes from a source whose
// pin moved counts in every project of a host that trusts that source.
func (w *Session) Agree(list []effects.Effect) error {
	if len(list) == 0 {
		return nil
	}
	var digests, sources []string
	for _, e := range list {
		digests = append(digests, e.Digest)
	}
	for _, s := range effects.Sources(list) {
		url := s[:strings.LastIndexByte(s, '@')]
		if h := w.Spec.Host; h != nil && slices.ContainsFunc(h.TrustSources, func(t spec.TrustedSource) bool { return t.Source == url }) {
			sources = append(sources, effects.SourceDigest(s))
		}
	}
	err := w.Store.Agree(w.FS, reconcile.ProjectOwner(w.Places.Project), digests)
	if err == nil && len(sources) > 0 {
		err = w.Store.Agree(w.FS, reconcile.HostOwner, sources)
	}
	return err
}

// decideEffects asks about the effects of p that wait for an answer. It
// returns the plan to carry out, which leaves out what is still undecided
// where the rest is wanted, and what the person said yes to.
func (a *app) decideEffects(ctx context.Context, w *View, p *reconcile.Plan, ask Request, f *applyFlags) (*reconcile.Plan, []effects.Effect, error) {
	all, undecided := w.Effects(p)
	if f.trust {
		return p, all, nil // also to what came with the project's files, and needs no change
	}
	if len(undecided) == 0 {
		return p, nil, nil
	}
	if a.g.json { // the plan, with the list, was not shown
		a.planText(w, "aisync plan", diffNone).effects(a.err, undecided)
	}
	rest := func() (*reconcile.Plan, []effects.Effect, error) {
		if err := w.StillObeyed(p); err != nil {
			return nil, nil, err
		}
		ask.Hold, f.keepGoing, f.waiting = effects.Hold(all, undecided), true, len(undecided)
		p, err := w.Plan(ctx, ask)
		if err == nil {
			w.Effects(p) // as they are now
		}
		return p, nil, err
	}
	if f.keepGoing {
		return rest()
	}
	if !a.terminal() {
		return nil, nil, advice.Command(effectsError(waits(len(undecided))+" for your yes (listed above)"), "aisync apply --trust, when you have read them; --keep-going does the rest")
	}
	for {
		answer, err := a.choose(waits(len(undecided))+" for your yes (see above).", "yes", "without them", "show all", "no")
		switch {
		case err != nil:
			return nil, nil, err
		case answer == "yes":
			return p, undecided, nil
		case answer == "without them":
			return rest()
		case answer == "show all":
			t := a.planText(w, "aisync plan", diffNone)
			t.unchanged = true
			t.effects(a.err, undecided)
			continue
		}
		return nil, nil, effectsError("you said no")
	}
}

// typed looks at the effects of the project before its spec is edited, and
// returns what remembers a yes to those that the edit brings and that are no
// more than server: the person has just typed it. What else the spec or a bundle
// makes of it is not among them, nor is anything where the project cannot be
// planned now.
func (a *app) typed(ctx context.Context, server effects.Server) func() error {
	look := func() (*View, []effects.Effect) {
		w, err := a.loaded(ctx, ScopeProject, Open)
		if err != nil {
			return nil, nil
		}
		p, err := w.Plan(ctx, Request{Scope: ScopeProject})
		if err != nil {
			return nil, nil
		}
		all, _ := w.Effects(p)
		return w, all
	}
	before, had := look()
	return func() error {
		after, list := look()
		if before == nil || after == nil {
			return nil
		}
		list = slices.DeleteFunc(slices.Clone(list), func(e effects.Effect) bool {
			return !server.Is(e) || slices.ContainsFunc(had, func(o effects.Effect) bool { return o.Digest == e.Digest })
		})
		if len(list) == 0 {
			return nil
		}
		return after.Agree(ctx, "aisync add", reconcile.ProjectOwner(after.Places.Project), list)
	}
}

// effectsError says that effects wait for an answer: they are undecided.
type effectsError string

func (e effectsError) Error() string        { return string(e) + "; nothing was changed" }
func (e effectsError) Is(target error) bool { return target == reconcile.ErrUndecided }

// foldAt is how many effects that loosen one program a plan lists. What runs or
// sends is listed whole: harm could hide behind what is harmless.
const foldAt = 8

// effects lists what waits for an answer, by program, the gravest first.
func (t planText) effects(w io.Writer, list []effects.Effect) {
	if len(list) == 0 {
		return
	}
	most := foldAt
	if t.unchanged {
		most = len(list)
	}
	fmt.Fprintln(w, t.paint.bold("Waits for your yes: what programs and git obey here (aisync apply asks)"))
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].Program == list[0].Program && list[n].Class == list[0].Class {
			n++
		}
		first := list[0]
		fmt.Fprintf(w, "  %s %s\n", t.paint.bold(termtext.Safe(first.Program)), t.paint.yellow(first.Class.Title()))
		shown, more := list[:n], ""
		if first.Class == effects.Loosens {
			shown, more = effects.Fold(shown, most)
		}
		for _, e := range shown {
			where := ", in " + e.File
			if strings.Contains(e.Text, e.File) {
				where = ""
			}
			fmt.Fprintf(w, "    %s%s%s\n", termtext.Safe(e.Text), t.paint.dim(termtext.Safe(where)), t.paint.dim(from(e.Origin)))
		}
		if more != "" {
			fmt.Fprintf(w, "    %s\n", t.paint.dim(more+"; all of them: "+t.command+" --verbose"))
		}
		list = list[n:]
	}
	fmt.Fprintln(w)
}
