package adapter

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"sync"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/reconcile"
	"aisync.dev/aisync/schema/spec"
)

// The words of all known programs, whichever of them a spec names: a subagent
// may have the words of one that is not there.
var (
	commandWords = sync.OnceValue(func() render.Words { return render.CommandWords(catalog.Runtimes()) })
	agentWords   = sync.OnceValue(func() render.Words { return render.AgentWords(catalog.Runtimes()) })
)

// prompts puts commands or subagents where each program reads them. A program's
// own version, in its folder of the bundle, comes first.
func (b *builder) prompts(places []place, w bundleRequest, what string, files []bundle.File, words render.Words, folder func(spec.Scope) *spec.PromptFolder) {
	if len(files) == 0 {
		return
	}
	var without []string
	losses := make([]loss, len(files))
	for _, p := range places {
		to := folder(p.scope)
		if to == nil {
			without = append(without, p.rt.ID)
			continue
		}
		for i, f := range files {
			target := path.Join(to.Path, render.PromptName(to.Form, f.Rel))
			if !p.isFor(f.About.Runtimes) || p.brings(w.part, target) {
				continue
			}
			name := path.Base(strings.TrimSuffix(f.Rel, ".md"))
			made := words.Prompt(p.rt, to, name, f.Text)
			losses[i].add(p.rt.ID, made)
			if made.Only != "" {
				continue
			}
			sum := sha256.Sum256(made.Text)
			b.leaf(fileAt(target), "", reconcile.Leaf{
				Body: madeOf(f, reconcile.Fingerprint("sha256:"+hex.EncodeToString(sum[:])), 0o644, func(src []byte) []byte {
					return words.Prompt(p.rt, to, name, src).Text
				}),
				Origin: w.origin,
			}, w.label)
		}
	}
	if len(without) > 0 {
		b.note(false, w.origin, "the %s of %s are not for %s, which reads no folder of them in this scope", what, w.label, list(without))
	}
	for i, f := range files {
		losses[i].report(b, w, f)
	}
}

// brings reports whether a bundle has target in the form of p's program.
func (p place) brings(part *bundle.Part, target string) bool {
	agents, others := p.ownAgents(part.Runtime(p.rt.ID).Others)
	return slices.ContainsFunc(agents, func(f bundle.File) bool { return path.Join(p.scope.Agents.Path, f.Rel) == target }) ||
		slices.ContainsFunc(others, func(f bundle.File) bool { return path.Join(p.scope.Dir, f.Rel) == target })
}

// loss is what programs lose of one command or subagent.
type loss struct {
	holds                          []string // programs that lose no limit
	limits, models, fields, absent []lost
}

// lost is a loss that some programs share.
type lost struct{ what, limit, programs string }

func (l *loss) add(program string, made render.Prompt) {
	if len(made.Lost) > 0 {
		addLost(&l.limits, program, list(made.Lost), made.Limit)
	} else if made.Only == "" {
		l.holds = append(l.holds, program)
	}
	if made.Model != "" {
		addLost(&l.models, program, made.Model, "")
	}
	if len(made.Dropped) > 0 {
		addLost(&l.fields, program, list(made.Dropped), "")
	}
	if made.Only != "" {
		addLost(&l.absent, program, made.Only, "")
	}
}

func addLost(to *[]lost, program, what, limit string) {
	for i, l := range *to {
		if l.what == what && l.limit == limit {
			(*to)[i].programs += ", " + program
			return
		}
	}
	*to = append(*to, lost{what, limit, program})
}

// report names what is lost of f, and what to do about a limit that does not
// hold.
func (l loss) report(b *builder, w bundleRequest, f bundle.File) {
	for _, x := range l.limits {
		fix := "take it out of the bundle, or deny that to all of the program in permissions.json"
		if len(l.holds) > 0 {
			fix = "to leave them out, write runtimes: [" + list(l.holds) + "] into its front matter"
		}
		if x.limit == "" {
			b.note(true, w.origin, "%s cannot express %s in %s of %s; %s", x.programs, x.what, f.Src, w.label, fix)
			continue
		}
		b.note(true, w.origin, "%s cannot hold %s of %s to %q: it may use %s there; %s", x.programs, f.Src, w.label, x.limit, x.what, fix)
	}
	for _, x := range l.models {
		b.note(false, w.origin, "%s of %s asks for the model %s, which has no name with %s: it gets the model of the session there", f.Src, w.label, x.what, x.programs)
	}
	for _, x := range l.fields {
		b.note(false, w.origin, "%s of %s has fields that %s does not have, so they are left out there: %s", f.Src, w.label, strings.ReplaceAll(x.programs, ", ", " or "), x.what)
	}
	for _, x := range l.absent {
		b.note(false, w.origin, "%s of %s is a mode of %s and no subagent, so %s does not get it", f.Src, w.label, x.what, strings.ReplaceAll(x.programs, ", ", " or "))
	}
}
