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
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// Effects returns what programs and git will obey in the project after p is
// applied, and what of that waits for the person's answer.
func (v *View) Effects(p *reconcile.Plan) (all, undecided []effects.Effect) {
	owner := reconcile.ProjectOwner(v.Places.Project)
	if v.Places.Project == "" || !v.Has(owner) || v.Spec == nil || v.Spec.Project == nil {
		return nil, nil
	}
	if v.effects.plan == p {
		return v.effects.all, v.effects.undecided
	}
	project := v.Spec.Project
	in := effects.Project{Dir: v.Places.Project, Carried: effects.Carried(v.Env.List(), v.Places.Project), Checks: true, Hooked: v.hooksShared, Launches: Launches(project, v.Spec.Catalog.Runtimes, "")}
	for _, rt := range v.Catalog.Runtimes() {
		if h := v.Spec.Host; project.Uses(rt.ID) || h != nil && slices.ContainsFunc(h.Runtimes, func(r spec.RuntimeUse) bool { return r.ID == rt.ID }) { // launch may start either
			in.Runtimes = append(in.Runtimes, rt)
		} else {
			in.Others = append(in.Others, rt)
		}
		for _, entry := range adapter.TrustEntries(project.Dir, rt) {
			in.Trusts = append(in.Trusts, effects.Trust{Runtime: rt.ID, Address: entry.Target, Key: entry.Leaves[0].Key})
		}
	}
	in.Trusts = append(in.Trusts, effects.OwnServers(v.Declared, project.Local, v.Catalog.Runtimes())...)
	all = effects.Of(in, v.ReadEnv(), p)
	undecided = effects.Undecided(all, owner, v.Store, TrustedSources(v.Spec.Host))
	v.effects = evaluatedEffects{p, in, all, undecided}
	return all, undecided
}

// evaluatedEffects are the effects of one plan.
type evaluatedEffects struct {
	plan           *reconcile.Plan
	in             effects.Project
	all, undecided []effects.Effect
}

// EffectsUnchanged returns an error that wraps reconcile.ErrStale if p now has
// other effects than those that Effects returned: a pull, an editor or an agent
// may change a file while the person is asked.
func (v *View) EffectsUnchanged(p *reconcile.Plan) error {
	was, _ := v.Effects(p)
	if v.effects.plan != p || effects.Digest(effects.Of(v.effects.in, v.ReadEnv(), p)) == effects.Digest(was) {
		return nil
	}
	return advice.Command(fmt.Errorf("what programs and git obey here %w; nothing was changed", reconcile.ErrStale), "aisync apply")
}

// TrustedSources returns the pinned sources that h trusts.
func TrustedSources(h *spec.Host) []string {
	var out []string
	if h != nil {
		for _, s := range h.TrustSources {
			out = append(out, bundle.PinnedSource(s.Source, s.Pin))
		}
	}
	return out
}

// Launches returns the programs that "aisync launch" would start because a source
// of the project says so: those of the project's runtimes, and the one called named.
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

// Agree records that the person agreed to list. Agreeing to all effects of a
// source whose pin moved counts in every project of a host that trusts the source.
func (s *Session) Agree(list []effects.Effect) error {
	if len(list) == 0 {
		return nil
	}
	var digests, sources []string
	for _, e := range list {
		digests = append(digests, e.Digest)
	}
	for _, source := range effects.Sources(list) {
		url := source[:strings.LastIndexByte(source, '@')]
		if h := s.Spec.Host; h != nil && slices.ContainsFunc(h.TrustSources, func(t spec.TrustedSource) bool { return t.Source == url }) {
			sources = append(sources, effects.SourceDigest(source))
		}
	}
	err := s.Store.Agree(s.FS, reconcile.ProjectOwner(s.Places.Project), digests)
	if err == nil && len(sources) > 0 {
		err = s.Store.Agree(s.FS, reconcile.HostOwner, sources)
	}
	return err
}

// EffectsError says that effects wait for an answer: they are undecided.
type EffectsError string

func (e EffectsError) Error() string        { return string(e) + "; nothing was changed" }
func (e EffectsError) Is(target error) bool { return target == reconcile.ErrUndecided }
