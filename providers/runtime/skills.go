package runtime

import (
	"path"
	"slices"
	"strings"

	"aisync.dev/aisync/providers/bundle"
	"aisync.dev/aisync/providers/link"
	"aisync.dev/aisync/providers/runtime/render"
	"aisync.dev/aisync/reconcile"
)

// skillFolders chooses, among the folders of the runtimes, those from which
// each runtime loads the skills, as few as possible of them twice, from as few
// folders as possible. Ten runtimes make a thousand choices, all of which are
// looked at.
func skillFolders(places []place) []string {
	var all []string
	for _, p := range places {
		if p.scope.Skills != "" && !slices.Contains(all, p.scope.Skills) {
			all = append(all, p.scope.Skills)
		}
	}
	slices.Sort(all)
	var best []string
	least := -1
	for choice := range 1 << len(all) {
		var folders []string
		for i, f := range all {
			if choice&(1<<i) != 0 {
				folders = append(folders, f)
			}
		}
		cost := len(folders)
		for _, p := range places {
			switch n := len(read(p, folders)); {
			case n == 0 && p.scope.Skills != "":
				cost += 1_000_000
			case n > 1:
				cost += 1000 * (n - 1)
			}
		}
		if least < 0 || cost < least {
			best, least = folders, cost
		}
	}
	return best
}

// read returns those of folders from which the runtime of p loads skills.
func read(p place, folders []string) []string {
	var out []string
	for _, f := range folders {
		if f == p.scope.Skills || slices.Contains(p.scope.SkillsAlso, f) {
			out = append(out, f)
		}
	}
	return out
}

// skills installs whole skills, and beside them the folder of rules that some
// refer to. rules says whether the same bundle's rules are installed too.
func (b *builder) skills(places []place, label string, origin []reconcile.Position, skills []bundle.Skill, rules bool) {
	if len(skills) == 0 {
		return
	}
	folders := skillFolders(places)
	for _, s := range skills {
		b.problems(origin, label, s.Problems)
		for _, folder := range folders {
			for _, f := range s.Files {
				b.leaf(fileAt(path.Join(folder, s.Name, f.Rel)), "", reconcile.Leaf{Body: sourceBody(f), Origin: origin}, label)
			}
			for _, name := range s.Bridges() {
				b.bridges = append(b.bridges, bridge{folder, name, s.Name, rules, origin})
			}
		}
	}
	var names, none []string
	for _, s := range skills {
		names = append(names, s.Name)
	}
	b.nameSkills(places, skills, origin)
	for _, p := range places {
		switch from := read(p, folders); {
		case len(from) == 0:
			none = append(none, p.rt.ID)
		case len(from) > 1:
			b.note(true, joined(origin, p.origin), "%s finds the skills of %s (%s) in %s: other runtimes here need each of them", p.rt.ID, label, list(names), strings.Join(from, " and in "))
		}
	}
	if len(none) > 0 {
		b.note(false, origin, "the skills of %s (%s) are not for %s: there is no folder that it loads skills from", label, list(names), list(none))
	}
}

// nameSkills lists the skills for runtimes that may be driven by a program
// which knows no skills.
func (b *builder) nameSkills(places []place, skills []bundle.Skill, origin []reconcile.Position) {
	for _, p := range places {
		if !p.rt.Local || p.scope.RulesIndex == "" || p.scope.Skills == "" {
			continue
		}
		for _, s := range skills {
			target := path.Join(p.scope.Skills, s.Name, "SKILL.md")
			if b.targets[fileAt(target)] != nil {
				b.index[p.scope.RulesIndex] = append(b.index[p.scope.RulesIndex], indexEntry{"skill " + s.Name, target, "the skill " + s.Name + ", when it is asked for", origin})
			}
		}
	}
}

// bridge is the link that lets a skill's ../agent-rules/ resolve.
type bridge struct {
	folder, name, skill string
	rules               bool // the same bundle's rules are installed too
	origin              []reconcile.Position
}

// makeBridges makes the links, now that it is known where the rules lie.
func (b *builder) makeBridges(places []place) {
	for _, br := range b.bridges {
		target := ""
		for _, own := range []bool{true, false} { // the rules of the runtime whose folder this is, before any others
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
			b.note(true, br.origin, "skill %s refers to ../%s/, and no rules are installed that %s could lead to", br.skill, br.name, at)
			continue
		}
		b.leaf(reconcile.Address("link:"+at), "", reconcile.Leaf{Body: link.To(relative(br.folder, target)), Origin: br.origin}, br.skill)
	}
}

// keepRules puts the rules into a folder from which no program loads them, for
// those that a skill sends there. It returns the folder, "" where there is none.
func (b *builder) keepRules(places []place) string {
	i := slices.IndexFunc(places, func(p place) bool { return p.scope.RulesKept != "" })
	if i < 0 {
		return ""
	}
	folder := places[i].scope.RulesKept
	for _, r := range b.rules {
		if len(r.only) == 0 {
			b.leaf(fileAt(path.Join(folder, r.rel)), "", reconcile.Leaf{Body: r.body(render.Plain), Origin: r.origin}, r.label)
		}
	}
	return folder
}

// relative returns the way from a folder to another path of the same scope.
func relative(from, to string) string {
	a, c := strings.Split(from, "/"), strings.Split(to, "/")
	for len(a) > 0 && len(c) > 0 && a[0] == c[0] {
		a, c = a[1:], c[1:]
	}
	return path.Join(strings.Repeat("../", len(a)), path.Join(c...))
}
