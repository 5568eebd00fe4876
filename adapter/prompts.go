package adapter

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"sync"

	"aisync.dev/aisync/adapter/loss"
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
	losses := make([]loss.File, len(files))
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
			read := func(src []byte) (text []byte, left []string) { return src, nil }
			if strings.HasSuffix(f.Src, ".prompt.md") {
				read = render.FromPromptFile
			}
			text, left := read(f.Text)
			made := words.Prompt(p.rt, to, name, text)
			made.Dropped = append(made.Dropped, left...)
			losses[i].Add(p.rt.ID, made)
			if made.Only != "" {
				continue
			}
			sum := sha256.Sum256(made.Text)
			b.leaf(fileAt(target), "", reconcile.Leaf{
				Body: madeOf(f, reconcile.Fingerprint("sha256:"+hex.EncodeToString(sum[:])), 0o644, func(src []byte) []byte {
					text, _ := read(src)
					return words.Prompt(p.rt, to, name, text).Text
				}),
				Origin: w.origin,
			}, w.label)
		}
	}
	if len(without) > 0 {
		b.note(false, w.origin, "the %s of %s are not for %s, which reads no folder of them in this scope", what, w.label, list(without))
	}
	for i, f := range files {
		losses[i].Name = f.Src
	}
	for _, n := range loss.Notes(w.label, losses) {
		b.note(n.Warning, w.origin, "%s", n.Text)
	}
}

// brings reports whether a bundle has target in the form of p's program.
func (p place) brings(part *bundle.Part, target string) bool {
	agents, others := p.ownAgents(part.Runtime(p.rt.ID).Others)
	return slices.ContainsFunc(agents, func(f bundle.File) bool { return path.Join(p.scope.Agents.Path, f.Rel) == target }) ||
		slices.ContainsFunc(others, func(f bundle.File) bool { return path.Join(p.scope.Dir, f.Rel) == target })
}
