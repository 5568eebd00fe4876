package gather

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"sync"

	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/catalog"
	"aisync.dev/aisync/internal/frontmatter"
	"aisync.dev/aisync/schema/spec"
)

// catalogOf is the catalog entry of a program.
func catalogOf(id string) (spec.Runtime, bool) { return catalog.With(spec.Catalog{}).Runtime(id) }

// scope returns what the catalog says of a program in the scope that is read.
func (g *gatherer) scope(id string) (spec.Scope, bool) {
	rt, ok := catalogOf(id)
	if g.Home {
		return rt.User, ok
	}
	return rt.Project, ok
}

// at is a path of the catalog below the folder that is read.
func (g *gatherer) at(p string) string {
	if g.Home {
		return strings.TrimPrefix(p, "~/")
	}
	return p
}

// wanted are the runtimes that the spec will have, sorted.
func (g *gatherer) wanted() []string {
	ids := slices.Concat(g.out.Runtimes, g.Runtimes)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// ownPlace is the place in the bundle from which aisync writes from again, byte
// for byte, for its program alone; why says why there is none.
func (g *gatherer) ownPlace(what, runtime, from string, content []byte) (to, why string) {
	s, ok := g.scope(runtime)
	if !ok {
		return "", "not a program of the catalog"
	}
	if what == "rule" {
		return g.ownRule(s, runtime, from, content)
	}
	if s.Agents != nil && !strings.HasPrefix(s.Agents.Path, s.Dir+"/") {
		if rel, ok := strings.CutPrefix(from, g.at(s.Agents.Path)+"/"); ok {
			return g.own(runtime, "agents", rel), ""
		}
	}
	rel, below := strings.CutPrefix(from, g.at(s.Dir)+"/")
	if top, _, _ := strings.Cut(rel, "/"); !below || slices.Contains([]string{"rules", "hooks", "skills"}, top) {
		return "", runtime + " goes on reading it there; a bundle has no place for it"
	}
	return g.own(runtime, rel), ""
}

// ownRule is ownPlace for a rule, whose form the bundle does not keep.
func (g *gatherer) ownRule(s spec.Scope, runtime, from string, content []byte) (to, why string) {
	rel, below := strings.CutPrefix(from, g.at(s.Rules)+"/")
	base, ok := withSuffix(rel, render.RuleName(s.RulesForm, ".md"))
	switch {
	case s.Rules == "" || !below || !ok:
		return "", runtime + " goes on reading it there; --share makes it a rule for every program"
	case s.RulesRef != nil && !g.refers(s):
		return "", runtime + " does not read it: no instructions in " + g.at(s.Settings.Path) + " name " + g.at(s.Rules)
	case !fitsKind(s.RulesForm, content):
		return "", runtime + " goes on reading it there; by its front matter aisync would load it at other times"
	case !bytes.Equal(render.RuleFile(s.RulesForm, content), content):
		return "", "aisync would write its front matter another way; --share makes it a rule for every program"
	}
	return g.own(runtime, "rules", base+".md"), ""
}

// fitsKind reports whether a program with rules of that form loads a rule when its
// author's front matter says.
func fitsKind(form string, content []byte) bool {
	r, _ := frontmatter.ReadRule(content)
	switch form {
	case render.Plain:
		return r.Kind == frontmatter.Always
	case render.Paths:
		return r.Kind == frontmatter.Always || r.Kind == frontmatter.Scoped
	}
	return true
}

// refers reports whether a program's settings name its folder of rules as aisync
// would.
func (g *gatherer) refers(s spec.Scope) bool {
	want := strings.Trim(string(s.RulesRef.JSON), `"`)
	for _, name := range append([]string{s.Settings.Path}, s.Settings.Also...) {
		if !g.isFile(g.at(name)) {
			continue
		}
		content, _, _ := g.readAny(g.at(name))
		o := object{}
		if readJSON(content, &o) == nil && slices.Contains(textsOf(o["instructions"]), want) {
			return true
		}
	}
	return false
}

// skillOwner returns the program for which a bundle's skills are put into dir;
// "" if there is none among those that the spec will have.
func (g *gatherer) skillOwner(runtime, dir string) string {
	for _, id := range append([]string{runtime}, g.wanted()...) {
		if s, ok := g.scope(id); ok && s.Skills != "" && g.at(s.Skills) == dir {
			return id
		}
	}
	return ""
}

// Readers returns the programs of the catalog that a project's file or folder at
// p is for among others: AGENTS.md, or a folder of skills. Those with subagents,
// which are used most, come first.
func Readers(p string) []string {
	var ids, more []string
	for _, rt := range catalog.Runtimes() {
		s := rt.Project
		switch {
		case rt.Local || s.Skills != p && (s.RulesBlock != p || !slices.Contains(s.Instructions, p)):
		case s.Agents != nil:
			ids = append(ids, rt.ID)
		default:
			more = append(more, rt.ID)
		}
	}
	return append(ids, more...)
}

// folderFor is where a program keeps what; nil if it has none.
func folderFor(s spec.Scope, what string) *spec.PromptFolder {
	if what == "agent" {
		return s.Agents
	}
	return s.Commands
}

var (
	commandWords = sync.OnceValue(func() render.Words { return render.CommandWords(catalog.Runtimes()) })
	agentWords   = sync.OnceValue(func() render.Words { return render.AgentWords(catalog.Runtimes()) })
)

// wordsOf are the words of commands or subagents.
func wordsOf(what string) render.Words {
	if what == "agent" {
		return agentWords()
	}
	return commandWords()
}

// makes reports whether aisync writes t again, byte for byte, for its program
// out of a common text.
func (g *gatherer) makes(t text, common []byte) bool {
	s, ok := g.scope(t.runtime)
	if !ok {
		return false
	}
	if t.what == "rule" {
		return path.Join(g.at(s.Rules), render.RuleName(s.RulesForm, t.rel)) == t.from && bytes.Equal(render.RuleFile(s.RulesForm, common), t.content)
	}
	f := folderFor(s, t.what)
	if f == nil || path.Join(g.at(f.Path), render.PromptName(f.Form, t.rel)) != t.from {
		return false
	}
	rt, _ := catalogOf(t.runtime)
	made := wordsOf(t.what).Prompt(rt, f, path.Base(strings.TrimSuffix(t.rel, ".md")), common)
	return made.Only == "" && bytes.Equal(made.Text, t.content)
}
