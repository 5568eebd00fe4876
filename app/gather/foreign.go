package gather

import (
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/catalog"
)

// foreigners are the origins of programs that the catalog does not have, and
// their names.
var foreigners = map[Origin]string{"windsurf": "Windsurf", "cline": "Cline", "roo": "Roo Code", "kiro": "Kiro"}

// foreignRules are the files and folders of their rules.
// https://docs.windsurf.com/windsurf/cascade/memories,
// https://docs.cline.bot/features/cline-rules,
// https://docs.roocode.com/features/custom-instructions,
// https://kiro.dev/docs/steering
var foreignRules = map[Origin][]string{
	"windsurf": {".windsurfrules", ".windsurf/rules"},
	"cline":    {".clinerules"},
	"roo":      {".roorules", ".roo/rules"},
	"kiro":     {".kiro/steering"},
}

// foreign makes rules for every program of what one has that the catalog lacks.
func (g *gatherer) foreign(o Origin) {
	known := map[string]bool{}
	for _, place := range foreignRules[o] {
		known[place] = true
		if g.isFile(place) {
			g.foreignRule(o, place, strings.TrimPrefix(place, "."))
			continue
		}
		for _, rel := range g.walk(place) {
			base, ok := withSuffix(rel, ".md", ".txt")
			if !ok {
				g.keep(path.Join(place, rel), "not a rule by its name")
				continue
			}
			g.foreignRule(o, path.Join(place, rel), base)
		}
	}
	for _, place := range places[o] {
		if _, err := g.root.Lstat(place); err != nil || known[place] {
			continue
		}
		if g.isFile(place) {
			g.keep(place, "of "+foreigners[o]+", which aisync does not write for")
		}
		for _, e := range g.entries(place) {
			if at := path.Join(place, e.Name()); !known[at] {
				g.keep(at, "of "+foreigners[o]+", which aisync does not write for")
			}
		}
	}
}

func (g *gatherer) foreignRule(o Origin, from, base string) {
	content, mode, ok := g.readText(from)
	if !ok {
		return
	}
	if slices.ContainsFunc(g.texts, func(t text) bool { return t.what == "rule" && t.rel == base+".md" }) {
		base = string(o) + "-" + base
	}
	g.texts = append(g.texts, text{what: "rule", from: from, rel: base + ".md", content: content, mode: mode, note: foreigners[o] + " goes on reading " + from})
}

// maxSearched is how many entries of folders nested looks at.
const maxSearched = 50000

// nested names the instruction files below the folders of a project. Programs
// read them where they lie.
func (g *gatherer) nested() {
	if g.Home {
		g.homeNotes()
		return
	}
	left := maxSearched
	var in func(dir string)
	in = func(dir string) {
		list := g.entries(dir)
		if left -= len(list); left < 0 {
			return
		}
		for _, e := range list {
			at := path.Join(dir, e.Name())
			switch {
			case e.IsDir() && dir != "." && slices.Contains([]string{".claude", ".cursor", ".opencode", ".agents", ".gemini", ".ruler", ".rulesync"}, e.Name()):
				g.keep(at, "of a folder below: programs go on reading it with what lies there")
			case e.IsDir():
				if e.Name()[0] != '.' && !slices.Contains([]string{"node_modules", "vendor", "target", "dist"}, e.Name()) {
					in(at)
				}
			case dir != "." && slices.Contains([]string{"CLAUDE.md", "AGENTS.md", "GEMINI.md"}, e.Name()):
				g.keep(at, "your notes: programs go on reading them with what lies there")
			}
		}
	}
	in(".")
}

// homeNotes names the instruction files of the programs that are read.
func (g *gatherer) homeNotes() {
	for _, rt := range catalog.Runtimes() {
		for _, name := range rt.User.Instructions {
			at := strings.TrimPrefix(name, "~/")
			content, _, ok := g.readAny(at)
			if rt.Local || !ok || personal(content) == nil || slices.ContainsFunc(g.out.Kept, func(k Kept) bool { return k.Path == at }) {
				continue
			}
			g.keep(at, "your notes: "+rt.ID+" goes on reading them; aisync takes no text out of them")
		}
	}
}

// notes names an instruction file. A shared import takes it as the first content
// of such a file elsewhere; here it is the person's, and never written over.
func (g *gatherer) notes(name, runtime string) {
	if g.Ours != nil && g.Ours(name, "") {
		return // a link that aisync made
	}
	if g.isLink(name) {
		g.keep(name, "a link; the program goes on following it")
		g.runtime(runtime)
		return
	}
	content, mode, ok := g.readAny(name)
	if !ok {
		return
	}
	content = personal(content)
	switch {
	case content == nil:
		return // all of it is aisync's
	case g.Share && !g.clean(name, content):
	case !g.Share || !g.readable(name, content):
		g.keep(name, "your notes: programs go on reading them; aisync takes no text out of them")
	case g.put(g.common(name), content, mode):
		g.took("instructions", name, g.common(name), "")
	}
	g.runtime(runtime)
}

// settleReaders finds the instruction file that several programs read and that
// none of those found is for.
func (g *gatherer) settleReaders() {
	if g.Home || !g.isFile("AGENTS.md") || slices.Contains(g.From, "rulesync") || slices.Contains(g.From, "ruler") {
		return
	}
	for _, id := range g.wanted() {
		if s, ok := g.scope(id); ok && s.RulesBlock == "AGENTS.md" {
			return
		}
	}
	g.unclaimed("AGENTS.md")
}
