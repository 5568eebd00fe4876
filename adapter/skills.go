package adapter

import (
	"maps"
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/adapter/cover"
	"aisync.dev/aisync/adapter/render"
	"aisync.dev/aisync/internal/bundle"
	"aisync.dev/aisync/providers/file"
	"aisync.dev/aisync/providers/link"
	"aisync.dev/aisync/reconcile"
)

// skillConsumer says from where the program of p loads skills. Skills with the same
// name count as one, so finding one twice does no harm.
func skillConsumer(p place, wants bool) cover.Consumer {
	s := cover.Consumer{Once: true, Wants: wants && p.scope.Skills != "", Loads: p.scope.SkillsAlso}
	if p.scope.Skills != "" {
		s.Loads = append([]string{p.scope.Skills}, s.Loads...)
	}
	return s
}

// skillFolders chooses as few folders as possible from which each runtime of a
// skill loads it.
func skillFolders(places []place, isFor func(place) bool) []string {
	price := map[string]int{}
	var consumers []cover.Consumer
	for _, p := range places {
		s := skillConsumer(p, isFor(p))
		if consumers = append(consumers, s); s.Wants {
			price[p.scope.Skills] = 1
		}
	}
	return cover.Choose(price, consumers)
}

// skills installs whole skills, with the folder of rules that some refer to.
// rules says whether the bundle's rules are installed too.
func (b *builder) skills(places []place, label string, origin []reconcile.Position, skills []bundle.Skill, rules bool) {
	folders := map[string][]string{} // by the runtimes of a skill
	none := map[string][]string{}    // skills that a runtime cannot load, by its id
	for _, s := range skills {
		b.problems(origin, label, s.Problems)
		isFor := func(p place) bool { return len(s.Runtimes) == 0 || slices.Contains(s.Runtimes, p.rt.ID) }
		chosen, known := folders[list(s.Runtimes)]
		if !known {
			chosen = skillFolders(places, isFor)
			folders[list(s.Runtimes)] = chosen
		}
		for _, folder := range chosen {
			for _, f := range s.Files {
				b.leaf(fileAt(path.Join(folder, s.Name, f.Rel)), "", reconcile.Leaf{Body: file.Spanning(sourceBody(f), 2+strings.Count(f.Rel, "/")), Origin: origin}, label)
			}
			for _, name := range s.Bridges() {
				b.bridges = append(b.bridges, bridge{folder, name, s.Name, rules, origin})
			}
		}
		for _, p := range places {
			switch found := skillConsumer(p, true).Finds(chosen); {
			case isFor(p) && len(found) == 0:
				none[p.rt.ID] = append(none[p.rt.ID], s.Name)
			case !isFor(p) && len(found) > 0:
				b.note(false, origin, "the skill %s of %s is for %s; %s finds it too, in %s", s.Name, label, list(s.Runtimes), p.rt.ID, list(found))
			}
		}
	}
	b.nameSkills(places, skills, origin)
	b.noSkills(label, origin, none)
}

// noSkills reports, once for all runtimes that miss the same skills, that they do.
func (b *builder) noSkills(label string, origin []reconcile.Position, none map[string][]string) {
	without := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(none)) {
		without[list(none[id])] = append(without[list(none[id])], id)
	}
	for _, names := range slices.Sorted(maps.Keys(without)) {
		b.note(false, origin, "the skills of %s (%s) are not for %s, which loads no folder of skills", label, names, list(without[names]))
	}
}

// nameSkills lists the skills for runtimes whose driver may know no skills.
func (b *builder) nameSkills(places []place, skills []bundle.Skill, origin []reconcile.Position) {
	for _, p := range places {
		if !p.rt.Local || p.scope.RulesBlock == "" || p.scope.Skills == "" {
			continue
		}
		for _, s := range skills {
			target := path.Join(p.scope.Skills, s.Name, "SKILL.md")
			if b.targets[fileAt(target)] != nil {
				b.index[p.scope.RulesBlock] = append(b.index[p.scope.RulesBlock], indexEntry{"skill " + s.Name, target, "the skill " + s.Name + ", when it is asked for", origin})
			}
		}
	}
}

// bridge is the link that makes a skill's ../agent-rules/ resolve.
type bridge struct {
	folder, name, skill string
	rules               bool // the bundle's rules are installed too
	origin              []reconcile.Position
}

// makeBridges makes the links, once the places of the rules are known.
func (b *builder) makeBridges(places []place) {
	for _, br := range b.bridges {
		target := ""
		for _, own := range []bool{true, false} { // first the rules of the folder's runtime, then any
			for _, p := range places {
				if target == "" && own == (p.scope.Skills == br.folder) {
					target = b.folders[p.rt.ID]
				}
			}
		}
		if target == "" && br.rules {
			target = b.keepRules(places)
		}
		at := path.Join(br.folder, br.name)
		if target == "" || !br.rules {
			b.note(true, br.origin, "skill %s refers to ../%s/, but no rules are installed for %s to link to", br.skill, br.name, at)
			continue
		}
		b.leaf(reconcile.Address("link:"+at), "", reconcile.Leaf{Body: link.To(render.Relative(br.folder, target)), Origin: br.origin}, br.skill)
	}
}

// keepRules puts the rules that skills refer to into a folder that no program
// loads. It returns the folder, "" if there is none.
func (b *builder) keepRules(places []place) string {
	i := slices.IndexFunc(places, func(p place) bool { return p.scope.RulesKept != "" })
	if i < 0 {
		return ""
	}
	folder := places[i].scope.RulesKept
	for _, r := range b.rules {
		if len(r.only) == 0 && len(r.folders) == 0 {
			b.leaf(fileAt(path.Join(folder, r.rel)), "", reconcile.Leaf{Body: r.body(render.Plain), Origin: r.origin}, r.label)
		}
	}
	return folder
}
