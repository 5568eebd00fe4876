package gather

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"aisync.dev/aisync/internal/frontmatter"
)

// settleTexts gives each text its place in the bundle. A text stays its
// program's own, unless all programs of the spec have it already, or Share asks
// for one text for all.
func (g *gatherer) settleTexts() {
	texts := slices.Clone(g.texts)
	g.texts = slices.DeleteFunc(g.texts, func(t text) bool {
		return g.isLinked(t.what, t.from, func(to string) bool {
			return slices.ContainsFunc(texts, func(o text) bool { return o.from == to })
		})
	})
	for i, t := range g.texts {
		g.texts[i].content = g.without(t.from, t.content)
	}
	for _, t := range g.texts {
		if g.isAside(t.from) {
			continue
		}
		twins := slices.DeleteFunc(slices.Clone(g.texts), func(o text) bool {
			return o.what != t.what || o.rel != t.rel || g.Aside[o.from] != ""
		})
		first := twins[0]
		neutral := slices.ContainsFunc(twins, func(o text) bool { return o.runtime == "" })
		equal := !slices.ContainsFunc(twins, func(o text) bool { return !alike(first, o) })
		switch {
		case equal && (neutral || g.Share && whole(first) || g.allHave(twins)):
			g.putCommon(t, first)
		case t.runtime == "":
			g.putNeutral(t)
		default:
			g.settleOwn(t, !equal)
		}
	}
}

// putCommon gives t the bundle's place for every runtime; first is the first text
// with that value.
func (g *gatherer) putCommon(t, first text) {
	to := g.common(folderOf[t.what], t.rel)
	content, _ := neutralOf(first)
	switch {
	case t.from == first.from:
		if !g.put(to, content, 0o644) {
			g.keep(t.from, "the bundle has another "+t.what+" of that name")
			return
		}
		g.took(t.what, t.from, to, joinNotes(joinNotes(t.note, g.keepers(t.from)), g.losses(t, content)))
	case string(t.content) == string(first.content):
		g.took(t.what, t.from, to, "the same as "+first.from)
	default:
		g.took(t.what, t.from, to, "means the same as "+first.from+", in the form of "+t.runtime)
	}
}

// whole reports whether a text has a common form that leaves nothing of it out.
func whole(t text) bool {
	_, lost := neutralOf(t)
	return lost == ""
}

// putNeutral takes a text of a neutral source that differs from another one.
func (g *gatherer) putNeutral(t text) {
	to := g.common(folderOf[t.what], t.rel)
	if !g.put(to, t.content, 0o644) {
		g.keep(t.from, "the bundle has another "+t.what+" of that name")
		return
	}
	g.took(t.what, t.from, to, t.note)
}

// settleOwn takes a text for its program alone, byte for byte.
func (g *gatherer) settleOwn(t text, different bool) {
	to, why := g.ownPlace(t.what, t.runtime, t.from, t.content)
	if to == "" && g.Share && t.what == "rule" {
		to = g.own(t.runtime, "rules", t.rel)
	}
	switch {
	case to == "":
		g.keep(t.from, why)
	case !g.put(to, t.content, t.mode):
		g.keep(t.from, "the bundle has another "+t.what+" of that name for "+t.runtime)
	case different:
		g.took(t.what, t.from, to, "for "+t.runtime+" only: other programs have a different one with that name")
	default:
		note := ""
		if _, lost := neutralOf(t); g.Share && lost != "" {
			note = "for " + t.runtime + " only: " + lost
		}
		g.took(t.what, t.from, to, note)
	}
}

// allHave reports whether twins are one text that every program of the spec has,
// and that aisync would write again into the same files and no others.
func (g *gatherer) allHave(twins []text) bool {
	if len(twins) < 2 {
		return false
	}
	first, _ := neutralOf(twins[0])
	has := map[string]bool{}
	for _, t := range twins {
		if has[t.runtime] || !g.makes(t, first) {
			return false
		}
		has[t.runtime] = true
	}
	if rule, _ := frontmatter.ReadRule(first); twins[0].what == "rule" && rule.Kind != frontmatter.Scoped {
		return false // aisync puts a text that is always loaded into AGENTS.md
	}
	for _, id := range g.wanted() {
		s, ok := g.scope(id)
		switch {
		case !ok:
		case twins[0].what == "rule" && (!has[id] || s.RulesForm == "" || len(s.RulesAlso) > 0):
			return false
		case twins[0].what != "rule" && folderFor(s, twins[0].what) != nil && !has[id]:
			return false
		}
	}
	return true
}

// losses names what programs of the spec do not get of a shared command or
// subagent.
func (g *gatherer) losses(t text, content []byte) string {
	if t.what == "rule" {
		return ""
	}
	note := ""
	for _, id := range g.wanted() {
		rt, ok := catalogOf(id)
		s, _ := g.scope(id)
		f := folderFor(s, t.what)
		if !ok || f == nil || id == t.runtime {
			continue
		}
		made := wordsOf(t.what).Prompt(rt, f, path.Base(strings.TrimSuffix(t.rel, ".md")), content)
		var lost []string
		if made.Only != "" {
			lost = append(lost, "all of it: it is a mode of "+made.Only)
		}
		if len(made.Lost) > 0 {
			lost = append(lost, "its limits: "+strings.Join(made.Lost, ", "))
		}
		if made.Model != "" {
			lost = append(lost, "the model "+made.Model)
		}
		if lost = append(lost, made.Dropped...); len(lost) > 0 {
			note = joinNotes(note, id+" does not get "+strings.Join(lost, ", "))
		}
	}
	return note
}

// settleSkills gives each skill its place: its program's own folder of the
// bundle, if aisync writes it from there into the folder that it lies in.
func (g *gatherer) settleSkills() {
	skills := slices.Clone(g.skills)
	g.skills = slices.DeleteFunc(g.skills, func(s skill) bool {
		return g.isLinked("skill", s.from, func(to string) bool {
			return slices.ContainsFunc(skills, func(o skill) bool { return o.from == to })
		})
	})
	for _, s := range g.skills {
		for i, f := range s.files {
			if f.Path == "SKILL.md" {
				s.files[i].Text = g.without(s.from, f.Text)
			}
		}
	}
	for _, s := range g.skills {
		if g.isAside(s.from) {
			continue
		}
		twins := slices.DeleteFunc(slices.Clone(g.skills), func(o skill) bool { return o.name != s.name || g.Aside[o.from] != "" })
		first := twins[0]
		equal := !slices.ContainsFunc(twins, func(o skill) bool { return !sameFiles(first.files, o.files) })
		neutral := slices.ContainsFunc(twins, func(o skill) bool { return o.neutral })
		to, note := "", ""
		switch owner := g.skillOwner(s.runtime, path.Dir(s.from)); {
		case equal && (neutral || g.Share || g.allFind(twins)):
			if to = g.common("skills", s.name); s.from != first.from {
				note = "the same as " + first.from
			}
		case s.neutral:
			to = g.common("skills", s.name)
		case owner != "":
			if to = g.own(owner, "skills", s.name); len(twins) > 1 && !equal {
				note = "for " + owner + " only: other folders have a different one with that name"
			}
		case s.runtime == "":
			g.unclaimed(path.Dir(s.from))
			g.keep(s.from, "no program of this import reads it there; name one that does with --runtime")
			continue
		case !equal:
			g.keep(s.from, s.runtime+" goes on reading it there; other folders have a different one with that name")
			continue
		default:
			g.keep(s.from, s.runtime+" goes on reading it there; --share makes it a skill for every program")
			continue
		}
		for _, f := range s.files {
			g.put(path.Join(to, f.Path), f.Text, f.Mode)
		}
		g.took("skill", s.from, to, joinNotes(note, g.keepers(s.from)))
	}
}

// allFind reports whether twins lie in exactly the folders into which aisync
// would put one skill for all programs of the spec.
func (g *gatherer) allFind(twins []skill) bool {
	all := map[string]bool{}
	for _, id := range g.wanted() {
		if s, ok := g.scope(id); ok && s.Skills != "" {
			all[g.at(s.Skills)] = true
		}
	}
	needed := map[string]bool{} // folders without which some program finds no skill
	for _, id := range g.wanted() {
		s, _ := g.scope(id)
		if s.Skills != "" && !slices.ContainsFunc(s.SkillsAlso, func(also string) bool { return all[g.at(also)] }) {
			needed[g.at(s.Skills)] = true
		}
	}
	for _, id := range g.wanted() {
		s, _ := g.scope(id)
		if s.Skills != "" && !slices.ContainsFunc(append([]string{s.Skills}, s.SkillsAlso...), func(f string) bool { return needed[g.at(f)] }) {
			return false
		}
	}
	for _, s := range twins {
		if !needed[path.Dir(s.from)] {
			return false
		}
	}
	return len(twins) > 1 && len(twins) == len(needed)
}

// link is a text or a skill that a link leads to.
type link struct{ what, from, to string }

// settleLinks names the links, with the place of what they lead to.
func (g *gatherer) settleLinks() {
	for _, l := range g.links {
		if i := slices.IndexFunc(g.out.Taken, func(t Taken) bool { return t.From == l.to }); i >= 0 {
			g.took(l.what, l.from, g.out.Taken[i].To, "a link to "+l.to+", and stays one")
		} else {
			g.keep(l.from, "a link to "+l.to)
		}
	}
}

// isLinked reports whether from leads, by a link, to another thing that is read,
// and names it: both programs have one file, and the bundle has it once.
func (g *gatherer) isLinked(what, from string, known func(to string) bool) bool {
	to, err := g.root.resolve(from, true)
	if err != nil || to == from || !known(to) {
		return false
	}
	g.links = append(g.links, link{what, from, to})
	return true
}

// isAside reports whether from was to be left alone, and names it.
func (g *gatherer) isAside(from string) bool {
	why := g.Aside[from]
	if why != "" {
		g.keep(from, why)
	}
	return why != ""
}

func (g *gatherer) unclaimed(p string) {
	if !slices.Contains(g.out.Unclaimed, p) {
		g.out.Unclaimed = append(g.out.Unclaimed, p)
	}
}

// keepers names the runtimes that keep what lies where from would be written.
func (g *gatherer) keepers(from string) string {
	if len(g.Without[from]) == 0 {
		return ""
	}
	return "not for " + strings.Join(g.Without[from], ", ") + ", where another one lies already"
}

// without limits what is taken from a file to the runtimes that get it, by the
// field runtimes of its front matter.
func (g *gatherer) without(from string, content []byte) []byte {
	not := g.Without[from]
	if len(not) == 0 {
		return content
	}
	front, _, ok, err := frontmatter.Split(content)
	f, perr := frontmatter.Parse(front)
	if err != nil || perr != nil {
		return content
	}
	ids := f.List("runtimes")
	if len(ids) == 0 {
		ids = g.wanted()
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return slices.Contains(not, id) })
	if len(ids) == 0 {
		if g.Aside == nil {
			g.Aside = map[string]string{}
		}
		g.Aside[from] = "another one lies wherever aisync would write it, for " + strings.Join(not, ", ")
		return content
	}
	line := []byte("runtimes: [" + strings.Join(ids, ", ") + "]\n")
	if !ok {
		return slices.Concat([]byte("---\n"), line, []byte("---\n"), content)
	}
	first, rest, _ := bytes.Cut(content, []byte("\n"))
	rest = bytes.TrimPrefix(rest, runtimesLine.Find(rest[:len(front)]))
	return slices.Concat(first, []byte("\n"), line, rest)
}

// runtimesLine is that field at the start of front matter, where an import of a
// neutral source puts it.
var runtimesLine = regexp.MustCompile(`^runtimes:.*\n`)
