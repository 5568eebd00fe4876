package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter"
	"aisync.dev/aisync/app/effects"
	"aisync.dev/aisync/catalog/manifest"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Effects returns what programs and git will obey in the project once p is
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
	in := effects.Project{Dir: w.Places.Project, Carried: effects.Carried(w.Env.List(), w.Places.Project), Checks: true, Hooked: w.hooksShared, Launches: Launches(project, w.Spec.Catalog.Runtimes, "")}
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
	undecided = effects.Undecided(all, owner, w.Store, TrustedSources(w.Spec.Host))
	w.judged = judged{p, in, all, undecided}
	return all, undecided
}

// judged are the effects of the plan that was looked at last.
type judged struct {
	plan           *reconcile.Plan
	in             effects.Project
	all, undecided []effects.Effect
}

// StillObeyed returns an error that wraps reconcile.ErrStale if p, whose effects
// were looked at before a person was asked, has others now: a pull, an editor or
// an agent may change a file while the question stands there.
func (w *View) StillObeyed(p *reconcile.Plan) error {
	was, _ := w.Effects(p)
	if w.judged.plan != p || effects.Digest(effects.Of(w.judged.in, w.ReadEnv(), p)) == effects.Digest(was) {
		return nil
	}
	return advice.Command(fmt.Errorf("what programs and git obey here %w; nothing was changed", reconcile.ErrStale), "aisync apply")
}

// TrustedSources are the pinned sources that a host trusts.
func TrustedSources(h *spec.Host) []string {
	var out []string
	if h != nil {
		for _, s := range h.TrustSources {
			out = append(out, adapter.PinnedSource(s.Source, s.Pin))
		}
	}
	return out
}

// Launches are the programs that the project's own sources would have "aisync
// launch" start: those among the project's runtimes, and the one that is named.
func Launches(p *spec.Project, runtimes []spec.Runtime, named string) []effects.Launch {
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

// Agree remembers a yes to list. The yes to all that comes from a source whose
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

// EffectsError says that effects wait for an answer: they are undecided.
type EffectsError string

func (e EffectsError) Error() string        { return string(e) + "; nothing was changed" }
func (e EffectsError) Is(target error) bool { return target == reconcile.ErrUndecided }
