package adapter

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
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
	b.reportLosses(w, files, losses)
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

// shared is a loss that some files of a bundle share.
type shared struct {
	lost
	fix   string
	files []string
}

// share adds x, a loss of file, to the loss like it. The limits of several files differ
// mostly: their words go.
func share(to []shared, x lost, fix, file string) []shared {
	if x.limit != "" {
		x.limit = strconv.Quote(x.limit)
	}
	for i, s := range to {
		if s.what == x.what && s.programs == x.programs && s.fix == fix && (s.limit == "") == (x.limit == "") {
			if s.limit != x.limit {
				to[i].limit = "their tools"
			}
			to[i].files = append(s.files, file)
			return to
		}
	}
	return append(to, shared{x, fix, []string{file}})
}

// form is the word for one file, or that for several.
func (s shared) form(one, several string) string {
	if len(s.files) == 1 {
		return one
	}
	return several
}

// named names the files.
func (s shared) named() string {
	const most = 3
	n := len(s.files)
	if n > most {
		return fmt.Sprintf("%s and %d more", list(s.files[:most-1]), n-most+1)
	}
	return strings.TrimPrefix(list(s.files[:n-1])+" and "+s.files[n-1], " and ")
}

// reportLosses names what is lost of files, and what to do about a limit that does not
// hold.
func (b *builder) reportLosses(w bundleRequest, files []bundle.File, losses []loss) {
	var limits, models, fields, absent []shared
	for i, l := range losses {
		fix := "take it out of the bundle, or deny that to all of the program in permissions.json"
		if len(l.holds) > 0 {
			fix = "to leave them out, write runtimes: [" + list(l.holds) + "] into %s front matter"
		}
		for _, x := range l.limits {
			limits = share(limits, x, fix, files[i].Src)
		}
		for _, x := range l.models {
			models = share(models, x, "", files[i].Src)
		}
		for _, x := range l.fields {
			fields = share(fields, x, "", files[i].Src)
		}
		for _, x := range l.absent {
			absent = share(absent, x, "", files[i].Src)
		}
	}
	for _, s := range limits {
		fix := strings.Replace(s.fix, "%s", s.form("its", "their"), 1)
		if s.limit == "" {
			b.note(true, w.origin, "%s cannot express %s in %s of %s; %s", s.programs, s.what, s.named(), w.label, fix)
			continue
		}
		b.note(true, w.origin, "%s cannot hold %s of %s to %s: %s may use %s there; %s", s.programs, s.named(), w.label, s.limit, s.form("it", "they"), s.what, fix)
	}
	for _, s := range models {
		b.note(false, w.origin, "%s of %s %s for the model %s, which has no name with %s: %s the model of the session there",
			s.named(), w.label, s.form("asks", "ask"), s.what, s.programs, s.form("it gets", "they get"))
	}
	for _, s := range fields {
		b.note(false, w.origin, "%s of %s %s fields that %s does not have, so they are left out there: %s", s.named(), w.label, s.form("has", "have"), strings.ReplaceAll(s.programs, ", ", " or "), s.what)
	}
	for _, s := range absent {
		b.note(false, w.origin, "%s of %s %s of %s and no subagent, so %s does not get %s", s.named(), w.label, s.form("is a mode", "are modes"), s.what, strings.ReplaceAll(s.programs, ", ", " or "), s.form("it", "them"))
	}
}
